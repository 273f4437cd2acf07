/* np.fft.rfft and irfft of float64, with NumPy's bits: pocketfft's real transforms (rfftp in
   pocketfft_hdronly.h), as NumPy has them, for lengths whose prime factors are 2, 3 and 5.

   Copyright (C) 2010-2022 Max-Planck-Society
   Copyright (C) 2019-2020 Peter Bell
   Authors: Martin Reinecke, Peter Bell.  All rights reserved.

   Redistribution and use in source and binary forms, with or without modification, are permitted
   provided that the following conditions are met:

   * Redistributions of source code must retain the above copyright notice, this list of conditions
     and the following disclaimer.
   * Redistributions in binary form must reproduce the above copyright notice, this list of
     conditions and the following disclaimer in the documentation and/or other materials provided
     with the distribution.
   * Neither the name of the copyright holder nor the names of its contributors may be used to
     endorse or promote products derived from this software without specific prior written
     permission.

   THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR
   IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND
   FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
   CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
   DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE,
   DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER
   IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT
   OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE. */
double cos(double);
double sin(double);

/* gcc 12 vectorises a sum beside a difference of products as if they might be rounded once
   (its bug 106902), whatever -ffp-contract says. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-tree-vectorize")
#endif

enum { MOST_FACTORS = 48 };

typedef struct {
    int64_t n, count;
    int64_t factor[MOST_FACTORS];
    const double *twiddle[MOST_FACTORS];
} Transform;

/* ---- factors and twiddles ---- */

static void
fft_factors(Transform *t)
{
    int64_t rest = t->n;
    for (; rest % 4 == 0; rest /= 4) t->factor[t->count++] = 4;
    if (rest % 2 == 0) { /* it is at the front */
        rest /= 2;
        t->factor[t->count] = t->count > 0 ? t->factor[0] : 2;
        t->factor[0] = 2;
        t->count++;
    }
    for (int64_t divisor = 3; divisor <= 5; divisor += 2)
        for (; rest % divisor == 0; rest /= divisor) t->factor[t->count++] = divisor;
}

typedef struct {
    double r, i;
} Turn;

/* exp(2 i pi x / n), by the octant. */
static Turn
turn_in(int64_t x, int64_t n, double angle)
{
    int below = 8 * x >= 4 * n;
    int64_t at = below ? 8 * n - 8 * x : 8 * x;
    int second = at >= 2 * n;
    if (second) at -= 2 * n;
    double near = (double)(at < n ? at : 2 * n - at) * angle;
    double c = at < n ? cos(near) : sin(near), s = at < n ? sin(near) : cos(near);
    Turn turn = {second ? -s : c, second ? c : s};
    if (below) turn.i = -turn.i;
    return turn;
}

/* All are products of two of some square roots of n. */
typedef struct {
    int64_t n, mask;
    int shift;
    Turn *low, *high;
} Turns;

static int64_t
turns_shift(int64_t n)
{
    int64_t shift = 1;
    while (((int64_t)1 << 2 * shift) < (n + 2) / 2) shift++;
    return shift;
}

/* How many numbers of room they take. */
static int64_t
turns_room(int64_t n)
{
    int64_t low = (int64_t)1 << turns_shift(n);
    return 2 * (low + ((n + 2) / 2 + low - 1) / low);
}

static void
turns_make(Turns *turns, int64_t n, double *room)
{
    double angle = (double)(0.25L * 3.141592653589793238462643383279502884197L / (double)n);
    turns->n = n;
    turns->shift = (int)turns_shift(n);
    turns->mask = ((int64_t)1 << turns->shift) - 1;
    turns->low = (Turn *)room;
    turns->high = turns->low + turns->mask + 1;
    turns->low[0] = turns->high[0] = (Turn){1, 0};
    for (int64_t i = 1; i <= turns->mask; i++) turns->low[i] = turn_in(i, n, angle);
    for (int64_t i = 1; i < ((n + 2) / 2 + turns->mask) / (turns->mask + 1); i++)
        turns->high[i] = turn_in(i * (turns->mask + 1), n, angle);
}

static Turn
turn_at(const Turns *turns, int64_t at)
{
    int back = 2 * at > turns->n;
    if (back) at = turns->n - at;
    Turn a = turns->low[at & turns->mask], b = turns->high[at >> turns->shift];
    Turn turn = {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r};
    if (back) turn.i = -turn.i;
    return turn;
}

static void
fft_twiddles(Transform *t, double *to, double *room)
{
    Turns turns;
    turns_make(&turns, t->n, room);
    int64_t l1 = 1;
    for (int64_t k = 0; k < t->count - 1; l1 *= t->factor[k++]) { /* the last one needs none */
        int64_t ip = t->factor[k], ido = t->n / (l1 * ip);
        t->twiddle[k] = to;
        for (int64_t j = 1; j < ip; j++)
            for (int64_t i = 1; i <= (ido - 1) / 2; i++) {
                Turn turn = turn_at(&turns, j * l1 * i);
                to[(j - 1) * (ido - 1) + 2 * i - 2] = turn.r;
                to[(j - 1) * (ido - 1) + 2 * i - 1] = turn.i;
            }
        to += (ip - 1) * (ido - 1);
    }
}

/* ---- the passes: names are pocketfft's ---- */

#define PM(a, b, c, d)                                                                             \
    do {                                                                                           \
        const double sum = (c) + (d), less = (c) - (d);                                            \
        a = sum;                                                                                   \
        b = less;                                                                                  \
    } while (0)
/* a + ib = conj(c + id) * (e + if) */
#define MULPM(a, b, c, d, e, f)                                                                    \
    do {                                                                                           \
        const double re = (c) * (e) + (d) * (f), im = (c) * (f) - (d) * (e);                       \
        a = re;                                                                                    \
        b = im;                                                                                    \
    } while (0)
#define REARRANGE(rx, ix, ry, iy)                                                                  \
    do {                                                                                           \
        const double t1 = rx + ry, t2 = ry - rx, t3 = ix + iy, t4 = ix - iy;                       \
        rx = t1, ix = t3, ry = t4, iy = t2;                                                        \
    } while (0)
#define WA(x, i) wa[(i) + (x) * (ido - 1)]
#define PASS(name)                                                                                 \
    static void name(int64_t ido, int64_t l1, const double *restrict cc, double *restrict ch,      \
                     const double *restrict wa)
#define EACH(k) for (int64_t k = 0; k < l1; k++)
#define PAIRS(i, ic) for (int64_t i = 2, ic = ido - 2; i < ido; i += 2, ic -= 2)
static const double taui = 0.8660254037844386467637231707529362;
static const double tr11 = 0.3090169943749474241022934171828191;
static const double ti11 = 0.9510565162951535721164393333793821;
static const double tr12 = -0.8090169943749474241022934171828191;
static const double ti12 = 0.5877852522924731291687059546390728;

#define CC(a, b, c) cc[(a) + ido * ((b) + l1 * (c))]
#define CH(a, b, c) ch[(a) + ido * ((b) + IP * (c))]
#define IP 2
PASS(radf2)
{
    EACH (k) PM(CH(0, 0, k), CH(ido - 1, 1, k), CC(0, k, 0), CC(0, k, 1));
    if (ido % 2 == 0)
        EACH (k) {
            CH(0, 1, k) = -CC(ido - 1, k, 1);
            CH(ido - 1, 0, k) = CC(ido - 1, k, 0);
        }
    if (ido <= 2) return;
    EACH (k)
        PAIRS (i, ic) {
            double tr2, ti2;
            MULPM(tr2, ti2, WA(0, i - 2), WA(0, i - 1), CC(i - 1, k, 1), CC(i, k, 1));
            PM(CH(i - 1, 0, k), CH(ic - 1, 1, k), CC(i - 1, k, 0), tr2);
            PM(CH(i, 0, k), CH(ic, 1, k), ti2, CC(i, k, 0));
        }
}
#undef IP
#define IP 3
PASS(radf3)
{
    EACH (k) {
        double cr2 = CC(0, k, 1) + CC(0, k, 2);
        CH(0, 0, k) = CC(0, k, 0) + cr2;
        CH(0, 2, k) = taui * (CC(0, k, 2) - CC(0, k, 1));
        CH(ido - 1, 1, k) = CC(0, k, 0) + -0.5 * cr2;
    }
    if (ido == 1) return;
    EACH (k)
        PAIRS (i, ic) {
            double di2, di3, dr2, dr3;
            MULPM(dr2, di2, WA(0, i - 2), WA(0, i - 1), CC(i - 1, k, 1), CC(i, k, 1));
            MULPM(dr3, di3, WA(1, i - 2), WA(1, i - 1), CC(i - 1, k, 2), CC(i, k, 2));
            REARRANGE(dr2, di2, dr3, di3);
            CH(i - 1, 0, k) = CC(i - 1, k, 0) + dr2;
            CH(i, 0, k) = CC(i, k, 0) + di2;
            double tr2 = CC(i - 1, k, 0) + -0.5 * dr2, ti2 = CC(i, k, 0) + -0.5 * di2;
            double tr3 = taui * dr3, ti3 = taui * di3;
            PM(CH(i - 1, 2, k), CH(ic - 1, 1, k), tr2, tr3);
            PM(CH(i, 2, k), CH(ic, 1, k), ti3, ti2);
        }
}
#undef IP
#define IP 4
PASS(radf4)
{
    static const double hsqt2 = 0.707106781186547524400844362104849;
    EACH (k) {
        double tr1, tr2;
        PM(tr1, CH(0, 2, k), CC(0, k, 3), CC(0, k, 1));
        PM(tr2, CH(ido - 1, 1, k), CC(0, k, 0), CC(0, k, 2));
        PM(CH(0, 0, k), CH(ido - 1, 3, k), tr2, tr1);
    }
    if (ido % 2 == 0)
        EACH (k) {
            double ti1 = -hsqt2 * (CC(ido - 1, k, 1) + CC(ido - 1, k, 3));
            double tr1 = hsqt2 * (CC(ido - 1, k, 1) - CC(ido - 1, k, 3));
            PM(CH(ido - 1, 0, k), CH(ido - 1, 2, k), CC(ido - 1, k, 0), tr1);
            PM(CH(0, 3, k), CH(0, 1, k), ti1, CC(ido - 1, k, 2));
        }
    if (ido <= 2) return;
    EACH (k)
        PAIRS (i, ic) {
            double ci2, ci3, ci4, cr2, cr3, cr4, ti1, ti2, ti3, ti4, tr1, tr2, tr3, tr4;
            MULPM(cr2, ci2, WA(0, i - 2), WA(0, i - 1), CC(i - 1, k, 1), CC(i, k, 1));
            MULPM(cr3, ci3, WA(1, i - 2), WA(1, i - 1), CC(i - 1, k, 2), CC(i, k, 2));
            MULPM(cr4, ci4, WA(2, i - 2), WA(2, i - 1), CC(i - 1, k, 3), CC(i, k, 3));
            PM(tr1, tr4, cr4, cr2);
            PM(ti1, ti4, ci2, ci4);
            PM(tr2, tr3, CC(i - 1, k, 0), cr3);
            PM(ti2, ti3, CC(i, k, 0), ci3);
            PM(CH(i - 1, 0, k), CH(ic - 1, 3, k), tr2, tr1);
            PM(CH(i, 0, k), CH(ic, 3, k), ti1, ti2);
            PM(CH(i - 1, 2, k), CH(ic - 1, 1, k), tr3, ti4);
            PM(CH(i, 2, k), CH(ic, 1, k), tr4, ti3);
        }
}
#undef IP
#define IP 5
PASS(radf5)
{
    EACH (k) {
        double cr2, cr3, ci4, ci5;
        PM(cr2, ci5, CC(0, k, 4), CC(0, k, 1));
        PM(cr3, ci4, CC(0, k, 3), CC(0, k, 2));
        CH(0, 0, k) = CC(0, k, 0) + cr2 + cr3;
        CH(ido - 1, 1, k) = CC(0, k, 0) + tr11 * cr2 + tr12 * cr3;
        CH(0, 2, k) = ti11 * ci5 + ti12 * ci4;
        CH(ido - 1, 3, k) = CC(0, k, 0) + tr12 * cr2 + tr11 * cr3;
        CH(0, 4, k) = ti12 * ci5 - ti11 * ci4;
    }
    if (ido == 1) return;
    EACH (k)
        PAIRS (i, ic) {
            double di2, di3, di4, di5, dr2, dr3, dr4, dr5;
            MULPM(dr2, di2, WA(0, i - 2), WA(0, i - 1), CC(i - 1, k, 1), CC(i, k, 1));
            MULPM(dr3, di3, WA(1, i - 2), WA(1, i - 1), CC(i - 1, k, 2), CC(i, k, 2));
            MULPM(dr4, di4, WA(2, i - 2), WA(2, i - 1), CC(i - 1, k, 3), CC(i, k, 3));
            MULPM(dr5, di5, WA(3, i - 2), WA(3, i - 1), CC(i - 1, k, 4), CC(i, k, 4));
            REARRANGE(dr2, di2, dr5, di5);
            REARRANGE(dr3, di3, dr4, di4);
            CH(i - 1, 0, k) = CC(i - 1, k, 0) + dr2 + dr3;
            CH(i, 0, k) = CC(i, k, 0) + di2 + di3;
            double tr2 = CC(i - 1, k, 0) + tr11 * dr2 + tr12 * dr3;
            double ti2 = CC(i, k, 0) + tr11 * di2 + tr12 * di3;
            double tr3 = CC(i - 1, k, 0) + tr12 * dr2 + tr11 * dr3;
            double ti3 = CC(i, k, 0) + tr12 * di2 + tr11 * di3;
            double tr5 = ti11 * dr5 + ti12 * dr4, ti5 = ti11 * di5 + ti12 * di4;
            double tr4 = ti12 * dr5 - ti11 * dr4, ti4 = ti12 * di5 - ti11 * di4;
            PM(CH(i - 1, 2, k), CH(ic - 1, 1, k), tr2, tr5);
            PM(CH(i, 2, k), CH(ic, 1, k), ti5, ti2);
            PM(CH(i - 1, 4, k), CH(ic - 1, 3, k), tr3, tr4);
            PM(CH(i, 4, k), CH(ic, 3, k), ti4, ti3);
        }
}
#undef IP
#undef CC
#undef CH
#define CC(a, b, c) cc[(a) + ido * ((b) + IP * (c))]
#define CH(a, b, c) ch[(a) + ido * ((b) + l1 * (c))]
#define IP 2
PASS(radb2)
{
    EACH (k) PM(CH(0, k, 0), CH(0, k, 1), CC(0, 0, k), CC(ido - 1, 1, k));
    if (ido % 2 == 0)
        EACH (k) {
            CH(ido - 1, k, 0) = 2 * CC(ido - 1, 0, k);
            CH(ido - 1, k, 1) = -2 * CC(0, 1, k);
        }
    if (ido <= 2) return;
    EACH (k)
        PAIRS (i, ic) {
            double ti2, tr2;
            PM(CH(i - 1, k, 0), tr2, CC(i - 1, 0, k), CC(ic - 1, 1, k));
            PM(ti2, CH(i, k, 0), CC(i, 0, k), CC(ic, 1, k));
            MULPM(CH(i, k, 1), CH(i - 1, k, 1), WA(0, i - 2), WA(0, i - 1), ti2, tr2);
        }
}
#undef IP
#define IP 3
PASS(radb3)
{
    EACH (k) {
        double tr2 = 2 * CC(ido - 1, 1, k), cr2 = CC(0, 0, k) + -0.5 * tr2;
        CH(0, k, 0) = CC(0, 0, k) + tr2;
        double ci3 = 2 * taui * CC(0, 2, k);
        PM(CH(0, k, 2), CH(0, k, 1), cr2, ci3);
    }
    if (ido == 1) return;
    EACH (k)
        PAIRS (i, ic) {
            double tr2 = CC(i - 1, 2, k) + CC(ic - 1, 1, k), ti2 = CC(i, 2, k) - CC(ic, 1, k);
            double cr2 = CC(i - 1, 0, k) + -0.5 * tr2, ci2 = CC(i, 0, k) + -0.5 * ti2;
            CH(i - 1, k, 0) = CC(i - 1, 0, k) + tr2;
            CH(i, k, 0) = CC(i, 0, k) + ti2;
            double cr3 = taui * (CC(i - 1, 2, k) - CC(ic - 1, 1, k));
            double ci3 = taui * (CC(i, 2, k) + CC(ic, 1, k));
            double di2, di3, dr2, dr3;
            PM(dr3, dr2, cr2, ci3);
            PM(di2, di3, ci2, cr3);
            MULPM(CH(i, k, 1), CH(i - 1, k, 1), WA(0, i - 2), WA(0, i - 1), di2, dr2);
            MULPM(CH(i, k, 2), CH(i - 1, k, 2), WA(1, i - 2), WA(1, i - 1), di3, dr3);
        }
}
#undef IP
#define IP 4
PASS(radb4)
{
    static const double sqrt2 = 1.414213562373095048801688724209698;
    EACH (k) {
        double tr1, tr2;
        PM(tr2, tr1, CC(0, 0, k), CC(ido - 1, 3, k));
        double tr3 = 2 * CC(ido - 1, 1, k), tr4 = 2 * CC(0, 2, k);
        PM(CH(0, k, 0), CH(0, k, 2), tr2, tr3);
        PM(CH(0, k, 3), CH(0, k, 1), tr1, tr4);
    }
    if (ido % 2 == 0)
        EACH (k) {
            double tr1, tr2, ti1, ti2;
            PM(ti1, ti2, CC(0, 3, k), CC(0, 1, k));
            PM(tr2, tr1, CC(ido - 1, 0, k), CC(ido - 1, 2, k));
            CH(ido - 1, k, 0) = tr2 + tr2;
            CH(ido - 1, k, 1) = sqrt2 * (tr1 - ti1);
            CH(ido - 1, k, 2) = ti2 + ti2;
            CH(ido - 1, k, 3) = -sqrt2 * (tr1 + ti1);
        }
    if (ido <= 2) return;
    EACH (k)
        PAIRS (i, ic) {
            double ci2, ci3, ci4, cr2, cr3, cr4, ti1, ti2, ti3, ti4, tr1, tr2, tr3, tr4;
            PM(tr2, tr1, CC(i - 1, 0, k), CC(ic - 1, 3, k));
            PM(ti1, ti2, CC(i, 0, k), CC(ic, 3, k));
            PM(tr4, ti3, CC(i, 2, k), CC(ic, 1, k));
            PM(tr3, ti4, CC(i - 1, 2, k), CC(ic - 1, 1, k));
            PM(CH(i - 1, k, 0), cr3, tr2, tr3);
            PM(CH(i, k, 0), ci3, ti2, ti3);
            PM(cr4, cr2, tr1, tr4);
            PM(ci2, ci4, ti1, ti4);
            MULPM(CH(i, k, 1), CH(i - 1, k, 1), WA(0, i - 2), WA(0, i - 1), ci2, cr2);
            MULPM(CH(i, k, 2), CH(i - 1, k, 2), WA(1, i - 2), WA(1, i - 1), ci3, cr3);
            MULPM(CH(i, k, 3), CH(i - 1, k, 3), WA(2, i - 2), WA(2, i - 1), ci4, cr4);
        }
}
#undef IP
#define IP 5
PASS(radb5)
{
    EACH (k) {
        double ti5 = CC(0, 2, k) + CC(0, 2, k), ti4 = CC(0, 4, k) + CC(0, 4, k);
        double tr2 = CC(ido - 1, 1, k) + CC(ido - 1, 1, k);
        double tr3 = CC(ido - 1, 3, k) + CC(ido - 1, 3, k);
        CH(0, k, 0) = CC(0, 0, k) + tr2 + tr3;
        double cr2 = CC(0, 0, k) + tr11 * tr2 + tr12 * tr3;
        double cr3 = CC(0, 0, k) + tr12 * tr2 + tr11 * tr3;
        double ci4, ci5;
        MULPM(ci5, ci4, ti5, ti4, ti11, ti12);
        PM(CH(0, k, 4), CH(0, k, 1), cr2, ci5);
        PM(CH(0, k, 3), CH(0, k, 2), cr3, ci4);
    }
    if (ido == 1) return;
    EACH (k)
        PAIRS (i, ic) {
            double tr2, tr3, tr4, tr5, ti2, ti3, ti4, ti5;
            PM(tr2, tr5, CC(i - 1, 2, k), CC(ic - 1, 1, k));
            PM(ti5, ti2, CC(i, 2, k), CC(ic, 1, k));
            PM(tr3, tr4, CC(i - 1, 4, k), CC(ic - 1, 3, k));
            PM(ti4, ti3, CC(i, 4, k), CC(ic, 3, k));
            CH(i - 1, k, 0) = CC(i - 1, 0, k) + tr2 + tr3;
            CH(i, k, 0) = CC(i, 0, k) + ti2 + ti3;
            double cr2 = CC(i - 1, 0, k) + tr11 * tr2 + tr12 * tr3;
            double ci2 = CC(i, 0, k) + tr11 * ti2 + tr12 * ti3;
            double cr3 = CC(i - 1, 0, k) + tr12 * tr2 + tr11 * tr3;
            double ci3 = CC(i, 0, k) + tr12 * ti2 + tr11 * ti3;
            double ci4, ci5, cr5, cr4, dr2, dr3, dr4, dr5, di2, di3, di4, di5;
            MULPM(cr5, cr4, tr5, tr4, ti11, ti12);
            MULPM(ci5, ci4, ti5, ti4, ti11, ti12);
            PM(dr4, dr3, cr3, ci4);
            PM(di3, di4, ci3, cr4);
            PM(dr5, dr2, cr2, ci5);
            PM(di2, di5, ci2, cr5);
            MULPM(CH(i, k, 1), CH(i - 1, k, 1), WA(0, i - 2), WA(0, i - 1), di2, dr2);
            MULPM(CH(i, k, 2), CH(i - 1, k, 2), WA(1, i - 2), WA(1, i - 1), di3, dr3);
            MULPM(CH(i, k, 3), CH(i - 1, k, 3), WA(2, i - 2), WA(2, i - 1), di4, dr4);
            MULPM(CH(i, k, 4), CH(i - 1, k, 4), WA(3, i - 2), WA(3, i - 1), di5, dr5);
        }
}
#undef IP
#undef CC
#undef CH

typedef void (*Pass)(int64_t ido, int64_t l1, const double *restrict cc, double *restrict ch,
                     const double *restrict wa);

/* In place, times `by`; `other` has room for as many. */
static void
fft_run(const Transform *t, double *c, double *other, double by, int forward)
{
    static const Pass passes[2][6] = {{0, 0, radb2, radb3, radb4, radb5},
                                      {0, 0, radf2, radf3, radf4, radf5}};
    double *from = c, *to = other;
    int64_t l1 = forward ? t->n : 1;
    for (int64_t i = 0; i < t->count; i++) {
        int64_t k = forward ? t->count - 1 - i : i, ip = t->factor[k];
        int64_t ido = forward ? t->n / l1 : t->n / (ip * l1);
        if (forward) l1 /= ip;
        passes[forward][ip](ido, l1, from, to, t->twiddle[k]);
        if (!forward) l1 *= ip;
        double *last = from;
        from = to;
        to = last;
    }
    if (from != c) memcpy(c, from, (size_t)t->n * sizeof(double));
    for (int64_t i = 0; i < t->n && by != 1; i++) c[i] *= by;
}

/* ---- the calls ---- */

/* R0, R1, I1, … of a line: what is not there is zero. */
static void
fft_line_real(const Transform *t, double *c, double *other, const char *from, int64_t step,
              int64_t count, char *to, int64_t to_step)
{
    int64_t n = t->n;
    for (int64_t i = 0; i < n; i++) c[i] = i < count ? *(const double *)(from + i * step) : 0;
    fft_run(t, c, other, 1, 1);
    for (int64_t i = 0; i <= n / 2; i++) {
        double *out = (double *)(to + i * to_step);
        out[0] = i == 0 ? c[0] : c[2 * i - 1];
        out[1] = i == 0 || 2 * i == n ? 0 : c[2 * i];
    }
}

static void
fft_line_back(const Transform *t, double *c, double *other, const char *from, int64_t step,
              int64_t count, char *to, int64_t to_step)
{
    int64_t n = t->n;
    c[0] = *(const double *)from;
    for (int64_t i = 1; i <= n / 2; i++) {
        const double *in = (const double *)(from + i * step);
        c[2 * i - 1] = i < count ? in[0] : 0;
        if (2 * i < n) c[2 * i] = i < count ? in[1] : 0;
    }
    fft_run(t, c, other, 1 / (double)n, 0);
    for (int64_t i = 0; i < n; i++) *(double *)(to + i * to_step) = c[i];
}

static int
fft_call(Run *run, const ExportedCall *call, int forward)
{
    const ExportedOperand *a = &call->array, *r = &call->result;
    Transform t = {.n = call->number};
    int64_t step[MOST_AXES], to_step[MOST_AXES], length[MOST_AXES], at[MOST_AXES] = {0}, lines = 1;
    int last = a->rank - 1;
    char *frame = run->frame;
    double *room = (double *)run_allocate(run, (3 * t.n + turns_room(t.n)) * 8);
    if (room == NULL) return -1;
    fft_factors(&t);
    fft_twiddles(&t, room + 2 * t.n, room + 3 * t.n);
    for (int i = 0; i <= last; i++) {
        length[i] = run_size(run, a->length[i]);
        step[i] = run_size(run, a->stride[i]);
        to_step[i] = run_size(run, r->stride[i]);
        if (i < last) lines *= length[i];
    }
    const char *from = run_place(run, a->place);
    char *to = run->data[call->to];
    for (; lines > 0; lines--) {
        (forward ? fft_line_real : fft_line_back)(&t, room, room + t.n, from, step[last],
                                                  length[last], to, to_step[last]);
        for (int i = last; i-- > 0;) { /* the next line */
            from += step[i], to += to_step[i];
            if (++at[i] < length[i]) break;
            from -= length[i] * step[i], to -= length[i] * to_step[i];
            at[i] = 0;
        }
    }
    run_give_back(run, frame);
    return 0;
}

static __attribute__((unused)) int
call_rfft(Run *run, const ExportedCall *call)
{
    return fft_call(run, call, 1);
}

static __attribute__((unused)) int
call_irfft(Run *run, const ExportedCall *call)
{
    return fft_call(run, call, 0);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
