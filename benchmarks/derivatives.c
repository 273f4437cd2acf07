/* Gradients of three programs of derivative_programs.py with their adjoints written by hand: each
   gives the value.  An array comes as its elements and then its size; no two arrays share memory,
   and `work` has room. */

#include <string.h>

double
smoothed(const double *restrict x, long n, double a, double *restrict gradient, double *restrict y)
{
    double sum, g = 0.0;
    y[0] = x[0];
    sum = y[0] * y[0];
    for (long i = 1; i < n; i++) {
        y[i] = a * x[i] + (1.0 - a) * y[i - 1];
        sum += y[i] * y[i];
    }
    for (long i = n - 1; i > 0; i--) {
        g += 2.0 * y[i];
        gradient[i] = a * g;
        g *= 1.0 - a;
    }
    gradient[0] = g + 2.0 * y[0];
    return sum;
}

double
lotka_volterra(const double *restrict p, long np, long n, double *restrict gradient,
               double *restrict work)
{
    double *xs = work, *ys = work + n, x = 1.0, y = 1.0, h = 0.001;
    double gx = 1.0, gy = 1.0, g[4] = {0};
    for (long i = 0; i < n; i++) {
        xs[i] = x;
        ys[i] = y;
        double dx = p[0] * x - p[1] * x * y, dy = p[2] * x * y - p[3] * y;
        x += h * dx;
        y += h * dy;
    }
    for (long i = n - 1; i >= 0; i--) {
        double u = xs[i], v = ys[i], gdx = h * gx, gdy = h * gy;
        g[0] += gdx * u;
        g[1] -= gdx * u * v;
        g[2] += gdy * u * v;
        g[3] -= gdy * v;
        gx += gdx * (p[0] - p[1] * v) + gdy * p[2] * v;
        gy += gdy * (p[2] * u - p[3]) - gdx * p[1] * u;
    }
    memcpy(gradient, g, sizeof g);
    (void)np;
    return x + y;
}

double
tridiagonal(const double *restrict diagonal, long n, const double *restrict right, long m,
            double *restrict gradient, double *restrict work)
{
    double *c = work, *d = c + n, *x = d + n, *gc = x + n, *gd = gc + n, sum = 0.0, g = 0.0;
    c[0] = 1.0 / diagonal[0];
    d[0] = right[0] / diagonal[0];
    for (long i = 1; i < n; i++) {
        double w = diagonal[i] - c[i - 1];
        c[i] = 1.0 / w;
        d[i] = (right[i] - d[i - 1]) / w;
    }
    x[n - 1] = d[n - 1];
    for (long i = n - 2; i >= 0; i--) x[i] = d[i] - c[i] * x[i + 1];
    for (long i = 0; i < n; i++) sum += x[i] * x[i];
    for (long i = 0; i < n - 1; i++) {
        g += 2.0 * x[i];
        gd[i] = g;
        gc[i] = -g * x[i + 1];
        g *= -c[i];
    }
    gd[n - 1] = g + 2.0 * x[n - 1];
    double of_c = 0.0, of_d = gd[n - 1];
    for (long i = n - 1; i > 0; i--) {
        double gw = -of_c * c[i] * c[i] - of_d * d[i] * c[i];
        gradient[i] = gw;
        of_c = gc[i - 1] - gw;
        of_d = gd[i - 1] - of_d * c[i];
    }
    gradient[0] = -of_c * c[0] * c[0] - of_d * d[0] * c[0];
    (void)m;
    return sum;
}
