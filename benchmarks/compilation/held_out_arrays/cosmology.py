"""Dark energy from supernovae: distances by an integral over the expansion, fitted with the full covariance.

Source: D. W. Hogg, Distance measures in cosmology, arXiv:astro-ph/9905116 (1999), equations 14 to 25; a flat universe.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv

from ..c_code import c_function
from ..program import Program

FARTHEST = 2.5


def supernovae(points, redshifts, magnitudes, inverse_covariance, parameters):
    """Half of chi squared; parameters: the fraction of matter, the dark energy's equation of state, a magnitude."""
    matter, state, offset = parameters
    z = np.linspace(0.0, FARTHEST, points)
    rate = np.sqrt(matter * (1.0 + z) ** 3 + (1.0 - matter) * (1.0 + z) ** (3.0 * (1.0 + state)))
    steps = 0.5 * (1.0 / rate[1:] + 1.0 / rate[:-1]) * np.diff(z)
    distance = np.concatenate([[0.0], np.cumsum(steps)])
    modulus = 5.0 * np.log10((1.0 + redshifts) * np.interp(redshifts, z, distance))
    r = magnitudes - modulus - offset
    return 0.5 * r @ inverse_covariance @ r


def supernovae_inputs(size):
    """Points of the integral, and supernovae; the covariance is diagonal but for a part of low rank."""
    points, count = size
    rng = np.random.default_rng(60)
    redshifts = rng.uniform(0.01, 2.3, count)
    magnitudes = 5.0 * np.log10(redshifts * (1.0 + 0.5 * redshifts)) + 0.1 * rng.normal(size=count)
    common = 0.05 * rng.normal(size=(count, 8))
    inverse = np.linalg.inv(0.01 * np.eye(count) + common @ common.T)
    return points, redshifts, magnitudes, 0.5 * (inverse + inverse.T), np.array([0.3, -0.9, 0.1])


# The covariance is symmetric: half of its inverse is read, once.  The integral's transpose is a sum from the far end.
COSMOLOGY = r"""
#include <math.h>
void distances(long points, double farthest, double matter, double exponent, double *restrict inverse, double *restrict power,
               double *restrict distance) {
    double h = farthest / (points - 1), sum = 0;
    for (int i = 0; i < points; i++) power[i] = exp(exponent * log(1 + h * i));
    for (int i = 0; i < points; i++) {
        double x = 1 + h * i;
        inverse[i] = 1 / sqrt(matter * x * x * x + (1 - matter) * power[i]);
    }
    distance[0] = 0;
    for (long i = 1; i < points; i++) distance[i] = sum += 0.5 * h * (inverse[i] + inverse[i - 1]);
}
/* at: where in the table; r: the residuals, and d_i / d r_i in scale */
void residuals(long count, double per_step, double offset, const double *restrict redshifts, const double *restrict magnitudes,
               const double *restrict distance, double *restrict at, double *restrict r, double *restrict scale) {
    double tenth = 5 / M_LN10;
    for (long i = 0; i < count; i++) {
        double x = redshifts[i] * per_step;
        int k = (int)x;
        at[i] = x;
        scale[i] = distance[k] + (x - k) * (distance[k + 1] - distance[k]);
    }
    for (long i = 0; i < count; i++) {
        r[i] = magnitudes[i] - offset - tenth * log((1 + redshifts[i]) * scale[i]);
        scale[i] = -tenth / scale[i];
    }
}
/* g: the cotangents of the residuals; due: zero, with room for one for each point; d: for the parameters */
void gradient(long count, long points, double farthest, double matter, const double *restrict g, const double *restrict scale,
              const double *restrict at, const double *restrict inverse, const double *restrict power, double *restrict due,
              double *restrict d) {
    double h = farthest / (points - 1), sum = 0, dm = 0, ds = 0, offset = 0;
    for (long i = 0; i < count; i++) {
        int k = (int)at[i];
        double share = at[i] - k, e = g[i] * scale[i];
        due[k] += e - share * e;
        due[k + 1] += share * e;
        offset -= g[i];
    }
    /* what each 1 / rate is due: half a step for the sums from here on, and from the next point on */
    for (long i = points - 1; i > 0; i--) { double more = due[i]; due[i] = 0.5 * h * (2 * sum + more); sum += more; }
    due[0] = 0.5 * h * sum;
    for (int i = 0; i < points; i++) {
        double x = 1 + h * i, e = -0.5 * due[i] * inverse[i] * inverse[i] * inverse[i];
        dm += e * (x * x * x - power[i]);
        ds += e * (1 - matter) * power[i] * 3 * log(x);
    }
    d[0] = dm; d[1] = ds; d[2] = offset;
}
"""
_distances, _residuals, _gradient = (c_function(COSMOLOGY, name) for name in ("distances", "residuals", "gradient"))


def supernovae_hand(points, redshifts, magnitudes, inverse_covariance, parameters):
    matter, state, offset = map(float, parameters)
    inverse, power, distance = np.empty(points), np.empty(points), np.empty(points)
    at, r, scale = np.empty_like(redshifts), np.empty_like(redshifts), np.empty_like(redshifts)
    _distances(points, FARTHEST, matter, 3.0 * (1.0 + state), inverse, power, distance)
    _residuals(len(r), (points - 1) / FARTHEST, offset, redshifts, magnitudes, distance, at, r, scale)
    g = dsymv(1.0, inverse_covariance.T, r)
    d = np.empty(3)
    _gradient(len(r), points, FARTHEST, matter, g, scale, at, inverse, power, np.zeros(points), d)
    return 0.5 * (r @ g), (d,)


def supernovae_jax(points, redshifts, magnitudes, inverse_covariance, parameters):
    import jax.numpy as jnp

    matter, state, offset = parameters
    z = np.linspace(0.0, FARTHEST, points)
    rate = jnp.sqrt(matter * (1.0 + z) ** 3 + (1.0 - matter) * jnp.exp(3.0 * (1.0 + state) * np.log1p(z)))
    steps = 0.5 * (1.0 / rate[1:] + 1.0 / rate[:-1]) * (z[1] - z[0])
    distance = jnp.concatenate([jnp.zeros(1), jnp.cumsum(steps)])
    modulus = 5.0 * jnp.log10((1.0 + redshifts) * jnp.interp(redshifts, z, distance))
    r = magnitudes - modulus - offset
    return 0.5 * r @ (inverse_covariance @ r)


PROGRAMS = (
    Program(
        "supernovae", supernovae, supernovae_inputs, (20_000, 2000), (60, 7), (4,), supernovae_hand, supernovae_jax
    ),
)
