/* How functions of vectors are compiled in the extension module, where they are compared with the
   libraries' loops and called by kernels, whose bits depend on it: once for each width, for
   machines that may not be this one.  Included behind the headers that define them; all that
   follows in the file is compiled so. */
#ifndef PYCOMPILE_ARRAYS_VECTOR_LOOPS_H
#define PYCOMPILE_ARRAYS_VECTOR_LOOPS_H

#define of_pycompile_exp_table libm_exp_table

/* A product and a sum are two operations, but where the text says otherwise. */
#pragma GCC optimize("fp-contract=off")
#pragma GCC diagnostic ignored "-Wpedantic"

#define TARGET_64 __attribute__((noinline, target("avx512f,avx512dq,avx512bw,avx512vl,fma,avx2")))
#define TARGET_32 __attribute__((noinline, target("fma,avx2")))
#define V64(name) name##_64
#define V32(name) name##_32

#endif
