/* The extension module: the method table and the module's initialisation, nothing else.  Each
   folder adds what Python sees of it. */
#include "base.h"

/* TEMPORARY while the folders are being built side by side: weak, so that a missing one links. */
#define FOLDER(name) int name(PyObject *module) __attribute__((weak));
FOLDER(python_module)
FOLDER(arrays_module)
FOLDER(graph_module)
FOLDER(passes_module)
FOLDER(capture_module)
FOLDER(lower_module)
FOLDER(codegen_module)
FOLDER(runtime_module)

static int (*const folders[])(PyObject *) = {
    python_module,  arrays_module, graph_module,   passes_module,
    capture_module, lower_module,  codegen_module, runtime_module,
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pycompile._C",
    .m_doc = "pycompile's compiler and runtime.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__C(void);

PyMODINIT_FUNC
PyInit__C(void)
{
    PyObject *module = PyModule_Create(&module_def);
    for (int i = 0; module != NULL && i < COUNT_OF(folders); i++)
        if (folders[i] != NULL && folders[i](module) < 0) Py_CLEAR(module);
    return module;
}
