/* Programs of loop_programs.py as a C programmer would write them, with the same bits.  An array
   comes as its elements and then its sizes, one for each axis; no two arrays share memory. */

#include <math.h>
#include <stdbool.h>

static long
smaller(long a, long b)
{
    return a < b ? a : b;
}

void
gauss_seidel(double *restrict u, long n, long m, const double *restrict f, long fn, long fm)
{
    for (long i = 1; i < n - 1; i++) {
        double *at = u + i * m;
        for (long j = 1; j < m - 1; j++) {
            at[j] = 0.25 * (at[j - m] + at[j + m] + at[j - 1] + at[j + 1] - f[i * fm + j]);
        }
    }
}

void
edit_distance(const long *restrict a, long n, const long *restrict b, long m, long *restrict t,
              long rows, long columns)
{
    for (long i = 0; i <= n; i++) t[i * columns] = i;
    for (long j = 0; j <= m; j++) t[j] = j;
    for (long i = 1; i <= n; i++) {
        long *row = t + i * columns;
        const long *above = row - columns;
        for (long j = 1; j <= m; j++) {
            long moved = smaller(above[j], row[j - 1]) + 1;
            row[j] = smaller(moved, above[j - 1] + (a[i - 1] != b[j - 1]));
        }
    }
}

void
knapsack(const long *restrict weight, long items, const long *restrict value, long values,
         long *restrict t, long rows, long columns)
{
    for (long i = 1; i <= items; i++) {
        const long *above = t + (i - 1) * columns;
        long *row = t + i * columns;
        for (long c = 0; c < columns; c++) {
            long best = above[c];
            if (weight[i - 1] <= c) {
                long taken = above[c - weight[i - 1]] + value[i - 1];
                if (taken > best) best = taken;
            }
            row[c] = best;
        }
    }
}

void
sparse_product(const long *restrict start, long starts, const long *restrict column, long columns,
               const double *restrict value, long values, const double *restrict x, long m,
               double *restrict y, long n)
{
    for (long i = 0; i < n; i++) {
        double s = 0;
        for (long k = start[i]; k < start[i + 1]; k++) s += value[k] * x[column[k]];
        y[i] = s;
    }
}

void
sieve(bool *flags, long n)
{
    for (long i = 2; i < n; i++) {
        if (flags[i]) {
            for (long k = i * i; k < n; k += i) flags[k] = false;
        }
    }
}

void
histogram(const double *restrict x, long n, long *restrict counts, long bins, double low,
          double width)
{
    for (long i = 0; i < n; i++) {
        long k = (long)((x[i] - low) / width);
        if (k >= 0 && k < bins) counts[k]++;
    }
}

void
nbody(const double *restrict p, long n, long pc, double *restrict v, long vn, long vc,
      const double *restrict m, long bodies, double dt)
{
    for (long i = 0; i < n; i++) {
        double vx = v[3 * i], vy = v[3 * i + 1], vz = v[3 * i + 2];
        for (long j = 0; j < n; j++) {
            if (i == j) continue;
            double dx = p[3 * j] - p[3 * i];
            double dy = p[3 * j + 1] - p[3 * i + 1];
            double dz = p[3 * j + 2] - p[3 * i + 2];
            double d = dx * dx + dy * dy + dz * dz + 0.01;
            double w = m[j] / (d * sqrt(d)) * dt;
            vx += dx * w;
            vy += dy * w;
            vz += dz * w;
        }
        v[3 * i] = vx;
        v[3 * i + 1] = vy;
        v[3 * i + 2] = vz;
    }
}

void
life(const long *restrict now, long n, long m, long *restrict then, long tn, long tm)
{
    for (long i = 1; i < n - 1; i++) {
        for (long j = 1; j < m - 1; j++) {
            const long *at = now + i * m + j;
            long around =
                at[-m - 1] + at[-m] + at[-m + 1] + at[-1] + at[1] + at[m - 1] + at[m] + at[m + 1];
            then[i * m + j] = around == 3 ? at[0] == 0 || at[0] == 1 : around == 2 && at[0] == 1;
        }
    }
}

void
convolution(const double *restrict x, long xn, long xm, const double *restrict kernel, long kn,
            long km, double *restrict out, long n, long m)
{
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < m; j++) {
            double s = 0;
            for (long a = 0; a < kn; a++) {
                for (long b = 0; b < km; b++) s += kernel[a * km + b] * x[(i + a) * xm + j + b];
            }
            out[i * m + j] = s;
        }
    }
}

long
checksum(const long *x, long n)
{
    long h = 0;
    for (long i = 0; i < n; i++) h = (h * 31 + x[i]) % 1000003;
    return h;
}

void
filter_iir(const double *restrict x, long n, double *restrict y, long yn, double a, double b)
{
    for (long i = 2; i < n; i++) y[i] = b * x[i] + a * y[i - 1] - 0.2 * y[i - 2];
}

void
wave(double *restrict u, long n, double *restrict old, long on, double *restrict new, long nn,
     long steps)
{
    for (long step = 0; step < steps; step++) {
        for (long i = 1; i < n - 1; i++) {
            new[i] = 2 * u[i] - old[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
        }
        for (long i = 1; i < n - 1; i++) {
            old[i] = u[i];
            u[i] = new[i];
        }
    }
}

void
lu_pivot(double *restrict a, long n, long m, long *restrict p, long pn)
{
    for (long k = 0; k < n; k++) {
        double *pivot = a + k * n;
        long at = k;
        for (long i = k + 1; i < n; i++) {
            if (fabs(a[i * n + k]) > fabs(a[at * n + k])) at = i;
        }
        if (at != k) {
            long whole = p[k];
            p[k] = p[at];
            p[at] = whole;
            for (long j = 0; j < n; j++) {
                double element = pivot[j];
                pivot[j] = a[at * n + j];
                a[at * n + j] = element;
            }
        }
        for (long i = k + 1; i < n; i++) {
            double *row = a + i * n;
            row[k] /= pivot[k];
            for (long j = k + 1; j < n; j++) row[j] -= row[k] * pivot[j];
        }
    }
}

void
popcount(const long *restrict x, long n, long *restrict out, long on)
{
    for (long i = 0; i < n; i++) {
        long count = 0;
        for (long v = x[i]; v != 0; v &= v - 1) count++;
        out[i] = count;
    }
}

long
local_alignment(const long *restrict a, long n, const long *restrict b, long m, int *restrict score,
                long rows, long columns, long gap)
{
    int best = 0;
    for (long i = 1; i <= n; i++) {
        for (long j = 1; j <= m; j++) {
            int hit = a[i - 1] == b[j - 1] ? 2 : -1, s = 0, sum;
            if (__builtin_add_overflow(score[(i - 1) * columns + j - 1], hit, &sum)) return -1;
            if (sum > s) s = sum;
            if (__builtin_add_overflow(score[(i - 1) * columns + j], (int)gap, &sum)) return -1;
            if (sum > s) s = sum;
            if (__builtin_add_overflow(score[i * columns + j - 1], (int)gap, &sum)) return -1;
            if (sum > s) s = sum;
            score[i * columns + j] = s;
            if (s > best) best = s;
        }
    }
    return best;
}

long
crc_8(const unsigned char *restrict data, long n, long poly)
{
    unsigned char crc = 0;
    for (long i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (unsigned char)(crc & 1 ? crc >> 1 ^ poly : crc >> 1);
    }
    return crc;
}

unsigned long
fnv_64(const unsigned char *restrict data, long n)
{
    unsigned long h = 0xcbf29ce484222325ul;
    for (long i = 0; i < n; i++) h = (h ^ data[i]) * 0x100000001b3ul;
    return h;
}

void
split_mix(double *restrict out, long n, unsigned long state)
{
    for (long i = 0; i < n; i++) {
        state += 0x9e3779b97f4a7c15ul;
        unsigned long z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ul;
        z = (z ^ z >> 27) * 0x94d049bb133111ebul;
        out[i] = (double)((z ^ z >> 31) >> 11) / 0x1p53;
    }
}

void
filter_by_object(const double *restrict x, long n, double *restrict out, long on)
{
    double z1 = 0, z2 = 0;
    for (long i = 0; i < n; i++) {
        double y = 0.2 * x[i] + z1;
        z1 = 0.4 * x[i] + 0.4 * y + z2;
        z2 = 0.2 * x[i] - 0.2 * y;
        out[i] = y;
    }
}
