/* The extension module: its definition and initialisation, nothing else.  Each folder adds its own
   functions; those of lower/ are in codegen/. */
#include "capture/capture.h"
#include "codegen/codegen.h"
#include "passes/passes.h"
#include "runtime/runtime.h"

/* The order matters: python/ and arrays/ set up what the others use. */
static int (*const folders[])(PyObject *) = {
    python_module,  arrays_module,  graph_module,   passes_module,
    capture_module, codegen_module, runtime_module,
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pycompile._C",
    .m_doc = "pycompile's compiler and runtime.",
    .m_size = 0, /* so that another interpreter runs the initialisation, which refuses it */
};

PyMODINIT_FUNC PyInit__C(void);

PyMODINIT_FUNC
PyInit__C(void)
{
    static PyObject *made; /* returned again after the module was removed from sys.modules */
    if (made != NULL && PyInterpreterState_Get() == PyInterpreterState_Main())
        return Py_NewRef(made);
    PyObject *module = PyModule_Create(&module_def);
    if (module != NULL && environment_init() < 0) Py_CLEAR(module);
    for (int i = 0; module != NULL && i < COUNT_OF(folders); i++)
        if (folders[i](module) < 0) Py_CLEAR(module);
    if (made == NULL) made = Py_XNewRef(module);
    return module;
}
