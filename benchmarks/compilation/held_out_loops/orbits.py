"""The orbit of a star with a planet, fitted to radial velocities: Kepler's equation for each observation.

Source: C. D. Murray, A. C. M. Correia, Keplerian orbits and dynamics of exoplanets, in: S. Seager (ed.), Exoplanets
(2010), equations 27, 42 and 65.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

from ..c_code import c_function
from ..program import Program


def eccentric_anomaly(M, e):
    E = M + e * math.sin(M)
    change = 1.0
    while abs(change) > 1e-12:
        change = (E - e * math.sin(E) - M) / (1.0 - e * math.cos(E))
        E -= change
    return E


def kepler(times, velocities, period, passage, e, omega, amplitude, offset):
    """The sum of squared errors of the star's velocity."""
    total = 0.0
    for t, measured in zip(times, velocities):
        M = 2.0 * math.pi * (t - passage) / period % (2.0 * math.pi)
        E = eccentric_anomaly(M, e)
        nu = 2.0 * math.atan2(math.sqrt(1.0 + e) * math.sin(E / 2.0), math.sqrt(1.0 - e) * math.cos(E / 2.0))
        velocity = amplitude * (math.cos(nu + omega) + e * math.cos(omega)) + offset
        total += (velocity - measured) ** 2
    return total


def kepler_inputs(n):
    rng = np.random.default_rng(36)
    times = np.sort(rng.uniform(0.0, 1000.0, n))
    return times, 30.0 * rng.normal(size=n), 87.3, 11.0, 0.4, 0.8, 25.0, 2.0


# Newton's method for a block of observations until all have converged; the anomaly's derivatives are those of Kepler's
# equation, as the last step of Newton's method has them.  Sines and cosines stand in loops of their own: together the
# compiler makes calls of sincos, which has no vector form.
KEPLER = r"""
#include <math.h>
#define N 256
double kepler(long n, const double *restrict times, const double *restrict measured, double period, double passage,
              double e, double omega, double amplitude, double offset, double *d) {
    double value = 0, turn = 2 * M_PI, rate = turn / period, root = sqrt(1 - e * e), cw = cos(omega), sw = sin(omega);
    double dM = 0, dMt = 0, de = 0, dw = 0, da = 0, d0 = 0, M[N], E[N], s[N], c[N];
    for (long o = 0; o < n; o += N) {
        int m = n - o < N ? n - o : N;
        for (int i = 0; i < m; i++) { double a = rate * (times[o + i] - passage); M[i] = a - turn * floor(a / turn); }
        for (int i = 0; i < m; i++) E[i] = M[i] + e * sin(M[i]);
        for (double worst = 1; worst > 1e-12;) {
            worst = 0;
            for (int i = 0; i < m; i++) s[i] = sin(E[i]);
            for (int i = 0; i < m; i++) c[i] = cos(E[i]);
            for (int i = 0; i < m; i++) {
                double change = (E[i] - e * s[i] - M[i]) / (1 - e * c[i]), size = fabs(change);
                E[i] -= change;
                /* the sine and cosine of the new anomaly, where the change is small */
                double half = 0.5 * change * change, old = s[i];
                s[i] = old * (1 - half) - c[i] * change;
                c[i] = c[i] * (1 - half) + old * change;
                worst = size > worst ? size : worst;
            }
            if (worst < 1e-7) break; /* the next change is below 1e-14, and s and c are right to 1e-21 */
        }
        for (int i = 0; i < m; i++) {
            double q = 1 / (1 - e * c[i]), x = (c[i] - e) * q, y = root * s[i] * q; /* cos nu, sin nu */
            double along = x * cw - y * sw, across = x * sw + y * cw; /* cos, sin of nu + omega */
            double r = amplitude * (along + e * cw) + offset - measured[o + i], g = 2 * r;
            /* nu' = root q by E, and sin nu / (1 - e^2) by e at a fixed E; E' = q by M, and sin E q by e */
            double gn = -g * amplitude * across, gM = gn * root * q * q;
            value += r * r;
            dM += gM;
            dMt += gM * (times[o + i] - passage);
            de += gM * s[i] + gn * y / (root * root) + g * amplitude * cw;
            dw -= g * amplitude * (across + e * sw);
            da += g * (along + e * cw);
            d0 += g;
        }
    }
    d[0] = -dMt * rate / period; d[1] = -dM * rate; d[2] = de; d[3] = dw; d[4] = da; d[5] = d0;
    return value;
}
"""
_kepler = c_function(KEPLER, "kepler", ctypes.c_double)


def kepler_hand(times, velocities, *elements):
    d = np.empty(6)
    return _kepler(len(times), times, velocities, *elements, d), tuple(d)


def kepler_jax(times, velocities, period, passage, e, omega, amplitude, offset):
    """All observations at once; only the last step of Newton's method is differentiated, which is exact at the root."""
    import jax.numpy as jnp
    from jax import lax

    def newton(E, M, e):
        return E - (E - e * jnp.sin(E) - M) / (1.0 - e * jnp.cos(E))

    M = 2.0 * math.pi * (times - passage) / period % (2.0 * math.pi)
    fixed_M, fixed_e = lax.stop_gradient((M, e))

    def step(state):
        E, _ = state
        new = newton(E, fixed_M, fixed_e)
        return new, jnp.max(jnp.abs(new - E))

    E, _ = lax.while_loop(lambda s: s[1] > 1e-7, step, (fixed_M + fixed_e * jnp.sin(fixed_M), 1.0))
    E = newton(lax.stop_gradient(E), M, e)
    q = 1.0 / (1.0 - e * jnp.cos(E))
    cosine, sine = (jnp.cos(E) - e) * q, jnp.sqrt(1.0 - e**2) * jnp.sin(E) * q
    along = cosine * jnp.cos(omega) - sine * jnp.sin(omega)
    return jnp.sum((amplitude * (along + e * jnp.cos(omega)) + offset - velocities) ** 2)


PROGRAMS = (Program("kepler", kepler, kepler_inputs, 100_000, 15, (2, 3, 4, 5, 6, 7), kepler_hand, kepler_jax),)
