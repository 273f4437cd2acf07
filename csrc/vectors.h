/* Instructions of x86-64 on vectors of floats, of which the elementary functions are made that
   kernels have in registers: NAME_32 on vectors of 32 bytes, with AVX2 and FMA alone, and NAME_64
   on vectors of 64 bytes, with AVX-512.

   They are macros, since the functions are compiled twice: into the extension module, and as text
   into kernels.  T is the vector type, B of signed integers of as many bits, and S the type of
   floats that are converted to a T of doubles. */
#ifndef PYCOMPILE_VECTORS_H
#define PYCOMPILE_VECTORS_H

/* What the runtime sets in a kernel's file, which each part of a parted file has. */
#define WEAK "__attribute__((weak)) "

#define ALL(x) ((T){} + (x))
/* The predicates of comparisons are those of codegen/machine.c, quiet: 3 unordered, 0 equal,
   17 less, 18 less or equal, 29 greater or equal, 22 not less or equal, 25 not greater or equal,
   30 greater. */

/* ---- of both ---- */

/* By unsigned words of 16 bits: a - b, but not below 0, and the lower one. */
#define WORDS_LESS(a, b)                                                                           \
    ({                                                                                             \
        B less;                                                                                    \
        __asm__("vpsubusw %2, %1, %0" : "=v"(less) : "v"(a), "v"(b));                              \
        less;                                                                                      \
    })
#define LOWER_WORDS(a, b)                                                                          \
    ({                                                                                             \
        B lower;                                                                                   \
        __asm__("vpminuw %2, %1, %0" : "=v"(lower) : "v"(a), "v"(b));                              \
        lower;                                                                                     \
    })

/* The 16 bytes at each of two addresses. */
#define HALVES(low, high)                                                                          \
    ({                                                                                             \
        T halves;                                                                                  \
        __asm__("vmovups %1, %x0\n\tvinsertf128 $1, %2, %0, %0"                                    \
                : "=x"(halves)                                                                     \
                : "m"(*(const char (*)[16])(low)), "m"(*(const char (*)[16])(high)));              \
        halves;                                                                                    \
    })
#define MERGED(instruction, a, b)                                                                  \
    ({                                                                                             \
        T merged;                                                                                  \
        __asm__(instruction " %2, %1, %0" : "=x"(merged) : "x"(a), "x"(b));                        \
        merged;                                                                                    \
    })
/* Of pairs, those of the even lanes in p, those of the odd lanes in q: all that are first, and all
   that are second. */
#define SWAP_PAIRS(p, q)                                                                           \
    {                                                                                              \
        T even = p;                                                                                \
        p = MERGED("vunpcklpd", even, q);                                                          \
        q = MERGED("vunpckhpd", even, q);                                                          \
    }
/* The flags as they were before, and again after, what is computed between. */
#define FLAGS_KEPT(a)                                                                              \
    unsigned kept;                                                                                 \
    __asm__ volatile("stmxcsr %0" : "=m"(kept), "+v"(a));
#define FLAGS_AGAIN(r) __asm__ volatile("ldmxcsr %1" : "+v"(r) : "m"(kept));

/* ---- float32 ---- */

#define FMA_64(a, b, c) (T) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#define FMA_32(a, b, c) (T) __builtin_ia32_vfmaddps256(a, b, c)
/* Lanes where the comparison holds. */
#define MASK_64(a, b, predicate) (unsigned)__builtin_ia32_cmpps512_mask(a, b, predicate, -1, 4)
#define MASK_32(a, b, predicate) (B) __builtin_ia32_cmpps256(a, b, predicate)
/* Are there such lanes? */
#define SOME_64(mask) ((mask) != 0)
#define SOME_32(mask) (__builtin_ia32_movmskps256((T)(mask)) != 0)
/* Lanes of the mask are those of `b`, others those of `a`. */
#define BLEND_64(mask, a, b)                                                                       \
    ({                                                                                             \
        T blend;                                                                                   \
        __asm__("vblendmps %2, %1, %0%{%3%}"                                                       \
                : "=v"(blend)                                                                      \
                : "v"(a), "v"(b), "Yk"((unsigned short)(mask)));                                   \
        blend;                                                                                     \
    })
#define BLEND_32(mask, a, b) (T) __builtin_ia32_blendvps256(a, b, (T)(mask))
/* a * 2**k where that is a normal number, and where it may be none, for |k| < 252. */
#define SCALED_64(a, k) (T) __builtin_ia32_scalefps512_mask(a, k, a, -1, 4)
#define SCALED_32(a, k) (T)((B)(a) + (__builtin_convertvector(k, B) << 23))
#define LOWERED_64(a, k) SCALED_64(a, k)
#define LOWERED_32(a, k)                                                                           \
    ({                                                                                             \
        T most = BLEND_32(MASK_32(k, ALL(-125.0f), 17), k, ALL(-125.0f));                          \
        SCALED_32(a, most) * SCALED_32(ALL(1.0f), k - most);                                       \
    })
/* The e and m of a normal number m * 2**e, m from 0.5 to 1. */
#define EXPONENT_64(a) (T) __builtin_ia32_getexpps512_mask(a, a, -1, 4) + 1.0f
#define EXPONENT_32(a) __builtin_convertvector(((B)(a) >> 23) - 126, T)
#define MANTISSA_64(a) (T) __builtin_ia32_getmantps512_mask(a, 2, a, -1, 4)
#define MANTISSA_32(a) (T)(((B)(a) & 0x7fffff) | 0x3f000000)

/* ---- float64 ---- */

#define FUSED_64(a, b, c) (T) __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4)
#define FUSED_32(a, b, c) (T) __builtin_ia32_vfmaddpd256(a, b, c)
#define LARGER_64(a, b) (T) __builtin_ia32_maxpd512_mask(a, b, a, -1, 4)
#define LARGER_32(a, b) (T) __builtin_ia32_maxpd256(a, b)
/* Lanes where the comparison holds, whether there are any, and `b` there, `a` elsewhere. */
#define LANES_64(a, b, predicate)                                                                  \
    (unsigned char)__builtin_ia32_cmppd512_mask(a, b, predicate, -1, 4)
#define LANES_32(a, b, predicate) (T) __builtin_ia32_cmppd256(a, b, predicate)
#define ANY_64(lanes) (lanes) != 0
#define ANY_32(lanes) __builtin_ia32_movmskpd256(lanes) != 0
/* Such lanes as bits of a number. */
#define BITS_64(lanes) (lanes)
#define BITS_32(lanes) __builtin_ia32_movmskpd256(lanes)
#define PICK_64(lanes, a, b)                                                                       \
    ({                                                                                             \
        T pick;                                                                                    \
        __asm__("vblendmpd %2, %1, %0%{%3%}" : "=v"(pick) : "v"(a), "v"(b), "Yk"(lanes));          \
        pick;                                                                                      \
    })
#define PICK_32(lanes, a, b) (T) __builtin_ia32_blendvpd256(a, b, lanes)
/* table[index] and table[index + 1] */
#define LOOK_UP_64(table, index)                                                                   \
    ({                                                                                             \
        T look = {};                                                                               \
        unsigned char every;                                                                       \
        __asm__("kxnorb %1, %1, %1\n\tvgatherqpd (%2,%3,8), %0%{%1%}"                              \
                : "+&v"(look), "=&Yk"(every)                                                       \
                : "r"(table), "v"(index));                                                         \
        look;                                                                                      \
    })
#define LOOK_UP_TWO_64(table, index, p, q)                                                         \
    T p = LOOK_UP_64(table, index), q = LOOK_UP_64(table + 1, index);
#define LOOK_UP_TWO_32(table, index, p, q)                                                         \
    T p = HALVES(table + index[0], table + index[2]);                                              \
    T q = HALVES(table + index[1], table + index[3]);                                              \
    SWAP_PAIRS(p, q)
/* Is a magnitude `limit` or more, NaN, or of fewer bits than `least` and not 0?  Asked of the bits,
   since a comparison of signalling NaNs raises a flag. */
#define OUTSIDE_64(a, least, limit)                                                                \
    ({                                                                                             \
        B bits = (B)a & 0x7fffffffffffffff;                                                        \
        T top = ALL(limit);                                                                        \
        __builtin_ia32_ucmpq512_mask(bits - least, (B)top - least, 5, -1) &                        \
            __builtin_ia32_ucmpq512_mask(bits, (B){}, 4, -1);                                      \
    })
#define OUTSIDE_32(a, least, limit)                                                                \
    ({                                                                                             \
        B bits = (B)a & 0x7fffffffffffffff;                                                        \
        T top = ALL(limit);                                                                        \
        __builtin_ia32_movmskpd256((T)((bits >= (B)top) | ((bits < least) & (bits != 0))));        \
    })
/* Is a number negative or not from `least` to below `limit`, by the bits of these? */
#define NOT_WITHIN_64(a, least, limit)                                                             \
    __builtin_ia32_ucmpq512_mask((B)a - least, (B){} + (limit - least), 5, -1)
#define NOT_WITHIN_32(a, least, limit)                                                             \
    __builtin_ia32_movmskpd256((T)(((B)a < least) | ((B)a >= limit)))
/* The lower and the upper half of floats as doubles, and doubles as floats. */
#define LOWER_64(a)                                                                                \
    ({                                                                                             \
        T lower;                                                                                   \
        __asm__("vcvtps2pd %t1, %g0" : "=v"(lower) : "v"(a));                                      \
        lower;                                                                                     \
    })
#define LOWER_32(a)                                                                                \
    ({                                                                                             \
        T lower;                                                                                   \
        __asm__("vcvtps2pd %x1, %t0" : "=x"(lower) : "x"(a));                                      \
        lower;                                                                                     \
    })
#define UPPER_64(a)                                                                                \
    ({                                                                                             \
        T upper;                                                                                   \
        __asm__("vextractf64x4 $1, %g1, %t0\n\tvcvtps2pd %t0, %g0" : "=v"(upper) : "v"(a));        \
        upper;                                                                                     \
    })
#define UPPER_32(a)                                                                                \
    ({                                                                                             \
        T upper;                                                                                   \
        __asm__("vextractf128 $1, %t1, %x0\n\tvcvtps2pd %x0, %t0" : "=x"(upper) : "x"(a));         \
        upper;                                                                                     \
    })
#define NARROWED_64(a)                                                                             \
    ({                                                                                             \
        S narrowed;                                                                                \
        __asm__("vcvtpd2ps %g1, %t0" : "=v"(narrowed) : "v"(a));                                   \
        narrowed;                                                                                  \
    })
#define NARROWED_32(a)                                                                             \
    ({                                                                                             \
        S narrowed;                                                                                \
        __asm__("vcvtpd2ps %t1, %x0" : "=x"(narrowed) : "x"(a));                                   \
        narrowed;                                                                                  \
    })
#define JOINED_64(a, b)                                                                            \
    ({                                                                                             \
        S joined, other;                                                                           \
        __asm__("vcvtpd2ps %g2, %t0\n\tvcvtpd2ps %g3, %t1\n\tvinsertf64x4 $1, %t1, %g0, %g0"       \
                : "=&v"(joined), "=&v"(other)                                                      \
                : "v"(a), "v"(b));                                                                 \
        joined;                                                                                    \
    })
#define JOINED_32(a, b)                                                                            \
    ({                                                                                             \
        S joined, other;                                                                           \
        __asm__("vcvtpd2ps %t2, %x0\n\tvcvtpd2ps %t3, %x1\n\tvinsertf128 $1, %x1, %t0, %t0"        \
                : "=&x"(joined), "=&x"(other)                                                      \
                : "x"(a), "x"(b));                                                                 \
        joined;                                                                                    \
    })

#endif
