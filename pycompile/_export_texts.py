"""Texts that `pycompile.export` fills in (header, public functions, files for builds); names that C has."""

import ctypes
import ctypes.util
import re

KEYWORDS = frozenset(
    """alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const
    constexpr continue decltype default delete do double else enum errno explicit export extern false
    float for friend goto if import inline int long main module mutable namespace new noexcept not
    nullptr operator or private protected public register requires restrict return short signed sizeof
    static stderr stdin stdout struct switch template this throw true try typedef typeid typename
    typeof union unsigned using virtual void volatile wchar_t while xor""".split()
)


def is_in_libc(name: str) -> bool:
    """Would programs call the library's function where they mean this one?"""
    files = filter(None, map(ctypes.util.find_library, "cm"))
    return any(hasattr(ctypes.CDLL(file), name) for file in files)


def filled(text: str, **values: str) -> str:
    """The text with each @NAME@ replaced."""
    return re.sub(r"@(\w+)@", lambda found: values[found[1]], text)


def comment(text: str) -> str:
    """As it can be within a comment of C."""
    return " ".join(text.replace("*/", "* /").replace("/*", "/ *").split())


def pkg_config_path(text: str) -> str:
    """As a value of a .pc file."""
    return re.sub(r"([\s\"'\\#])", r"\\\1", text).replace("$", "$$")


# In a file of its own: whatever the names are, the library's own do not clash with them.
PUBLIC_HEAD = """#include <stddef.h>
@DLPACK@
#define PUBLIC __attribute__((visibility("default")))
typedef struct ExportedFunction ExportedFunction;
int exported_shapes(const ExportedFunction *f, const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);
const char *exported_error(void);
void exported_set_threads(int count);
void exported_set_allocator(void *(*take)(size_t, void *), void (*give)(void *, void *), void *context);
"""

PUBLIC_FUNCTION = """
extern const ExportedFunction @OWN@_function;
int @OWN@_call(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);

PUBLIC int
@NAME@(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    return @OWN@_call(in, nin, out, nout);
}

PUBLIC int
@NAME@_shapes(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout)
{
    return exported_shapes(&@OWN@_function, in, nin, out, nout);
}
"""

PUBLIC_REST = """
PUBLIC const char *
@NAME@_error(void)
{
    return exported_error();
}

PUBLIC int
@NAME@_abi(void)
{
    return @VERSION@;
}

PUBLIC void
@NAME@_set_threads(int count)
{
    exported_set_threads(count);
}

PUBLIC void
@NAME@_set_allocator(void *(*take)(size_t, void *), void (*give)(void *, void *), void *context)
{
    exported_set_allocator(take, give, context);
}
"""

HEAD = """#ifndef @UPPER@_H
#define @UPPER@_H

#include <stddef.h>

@DLPACK@
#ifdef __cplusplus
extern "C" {
#endif

#define @UPPER@_ABI @VERSION@ /* @NAME@_abi() of a library that this header describes */

enum {
    @UPPER@_OK = 0,
    @UPPER@_WARNED = 1,  /* done; NumPy would have warned, as @NAME@_error() says */
    @UPPER@_WRONG = -1,  /* of another count, dtype, shape, layout or place: nothing has changed */
    @UPPER@_MEMORY = -2, /* there was none: no argument has changed */
    @UPPER@_RAISED = -3  /* the program raises an exception: no argument has changed */
};

"""

DECLARED = """int @NAME@(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);
/* Sets ndim, dtype and shape of the results, of which `shape` has room for all axes.  Where the
   call tells a length, this is the most that it can be; the call then sets it. */
int @NAME@_shapes(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);

"""

TAIL = """/* What the calling thread's last status means. */
const char *@NAME@_error(void);
int @NAME@_abi(void);
/* How many threads a call may use, 1 by default.  Not while calls are under way. */
void @NAME@_set_threads(int count);
/* Blocks are aligned to 64 bytes.  Not while calls are under way; NULL: the C library's. */
void @NAME@_set_allocator(void *(*take)(size_t bytes, void *context),
                        void (*give)(void *block, void *context), void *context);

#ifdef __cplusplus
}
#endif
#endif
"""

PKG_CONFIG = """prefix=@WHERE@

Name: @NAME@
Description: functions exported by pycompile
Version: 1
Cflags: -I${prefix}
Libs: -L${prefix} -l@NAME@ -Wl,-rpath,${prefix}
"""

CMAKE = """if(TARGET @NAME@::@NAME@)
    return()
endif()
add_library(@NAME@::@NAME@ SHARED IMPORTED)
set_target_properties(@NAME@::@NAME@ PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/lib@NAME@.so"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}")
"""
