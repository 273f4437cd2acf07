/* The folder's functions for Python: each file has its own table. */
#include "../passes/passes.h"
#include "cache.h"

static int
simplify(Graph *graph)
{
    return run_passes(graph, NULL, NULL);
}

int
runtime_module(PyObject *module)
{
    PyMethodDef *const tables[] = {
        config_methods,       log_methods,     toolchain_methods,  cache_methods,
        code_methods,         threads_methods, divided_methods,    function_methods,
        test_methods,         program_methods, hints_methods,      cache_folder_methods,
        cache_record_methods, compile_methods, spare_methods,      sample_methods,
        background_methods,   cuda_methods,    cuda_graph_methods, region_methods,
        live_methods,         account_methods, prices_methods,     stance_methods,
        cache_import_methods, trace_methods,   cpu_methods,
    };
    if (config_init() < 0 || log_init() < 0 || threads_init() < 0 || function_init(module) < 0)
        return -1;
    static const StepElision elision = {array_elided_operand, array_call_elides};
    step_elision(&elision);
    findings_kept_by(&findings_note_keeper);
    derivatives_simplify_by(simplify);
    for (int i = 0; i < COUNT_OF(tables); i++)
        if (PyModule_AddFunctions(module, tables[i]) < 0) return -1;
    return 0;
}
