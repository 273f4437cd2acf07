/* Each file's methods on the extension module; module_runtime.c adds them all. */
#ifndef PYCOMPILE_HOOKS_H
#define PYCOMPILE_HOOKS_H

#include "runtime.h"

extern PyMethodDef config_methods[], log_methods[], toolchain_methods[], cache_methods[],
    cache_folder_methods[], cache_record_methods[], code_methods[], threads_methods[],
    divided_methods[], function_methods[], test_methods[], program_methods[], hints_methods[],
    compile_methods[], spare_methods[], sample_methods[], background_methods[], cuda_methods[],
    cuda_graph_methods[], region_methods[], live_methods[], account_methods[], prices_methods[],
    stance_methods[], cache_import_methods[], trace_methods[], cpu_methods[];

/* Read the environment; -1 with the error set. */
int config_init(void);
int log_init(void);
int threads_init(void);
/* Adds the type. */
int function_init(PyObject *module);

#endif
