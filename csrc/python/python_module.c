/* What Python sees of python/: nothing for users, hooks for the tests. */
#include "python.h"

int
python_module(PyObject *module)
{
    (void)module;
    if (hook_init() < 0 || watch_init() < 0) return -1;
    return 0;
}
