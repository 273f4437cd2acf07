/* The options of one compiled function, by the rows of config.def.  Made by runtime/config.c and
   passed down; interned and immortal, so that equal options are one address. */
#ifndef PYCOMPILE_CONFIG_H
#define PYCOMPILE_CONFIG_H

#include "base.h"

enum { MAX_THREADS = 256 };
enum { DYNAMIC_NEVER, DYNAMIC_VARIED, DYNAMIC_AT_ONCE }; /* dynamic */

typedef struct Config {
#define OPTION_BOOL(name) bool name;
#define OPTION_INT(name) int64_t name;
#define OPTION_STRING(name) const char *name;
#define OPTION_CHOICE(name) const char *name;
#define OPTION(name, type, ...) OPTION_##type(name)
#include "config.def"
    PyObject *backend_call; /* owned; a Python backend, or NULL */
    bool backend_lengths;   /* does it take graphs with lengths that are symbols? */
    bool backend_draws;     /* is it told of random numbers that are drawn between graphs? */
    PyObject *dims;         /* owned; declared lengths, see capture/core/dims.c, or NULL */
} Config;

#endif
