"""The reflectance of a stack of thin films, fitted to a target at many wavelengths, by characteristic matrices.

Source: H. A. Macleod, Thin-Film Optical Filters, 4th ed. (2010), section 2.6; light falls at a right angle from air.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def thin_film(wavelengths, target, substrate, index, thickness):
    """The mean squared error of the reflectance; lengths in nm."""
    total = 0.0
    for wavelength, goal in zip(wavelengths, target):
        M = np.eye(2, dtype=complex)
        for n, d in zip(index, thickness):
            delta = 2.0 * np.pi * n * d / wavelength
            c, s = np.cos(delta), np.sin(delta)
            M = M @ np.array([[c, 1j * s / n], [1j * n * s, c]])
        B, C = M @ np.array([1.0, substrate])
        r = (B - C) / (B + C)
        total += (np.abs(r) ** 2 - goal) ** 2
    return total / len(wavelengths)


def thin_film_inputs(size):
    """Films and wavelengths; silica and titania by turns on absorbing glass."""
    films, count = size
    rng = np.random.default_rng(38)
    wavelengths = np.linspace(400.0, 800.0, count)
    index = np.where(np.arange(films) % 2, 1.46, 2.35) + 0.02 * rng.normal(size=films)
    thickness = 550.0 / 4.0 / index * (1.0 + 0.2 * rng.normal(size=films))
    return wavelengths, (wavelengths < 600.0).astype(float), 1.52 + 0.01j, index, thickness


# From the substrate up, only the matrices' product with a vector is needed; a film without absorption mixes the real
# part of one component with the imaginary part of the other.  LANES wavelengths at a time, their vectors in the cache.
FILMS = r"""
#include <math.h>
#include <string.h>
#define LANES 32
#define EACH for (int l = 0; l < LANES; l++)
typedef double lanes[LANES];
double films(long films, long count, const double *restrict wavelengths, const double *restrict target, double sr, double si,
             const double *restrict index, const double *restrict thickness, double *restrict dn, double *restrict dd) {
    lanes c[films], s[films], br[films + 1], bi[films + 1], cr[films + 1], ci[films + 1], k, live, goal;
    double value = 0;
    memset(dn, 0, films * sizeof(double)); memset(dd, 0, films * sizeof(double));
    for (long o = 0; o < count; o += LANES) {
        EACH {
            long at = o + l < count ? o + l : count - 1;
            live[l] = o + l < count;
            k[l] = 2 * M_PI / wavelengths[at];
            goal[l] = target[at];
        }
        EACH { br[films][l] = 1; bi[films][l] = 0; cr[films][l] = sr; ci[films][l] = si; }
        for (long f = films - 1; f >= 0; f--) {
            double n = index[f], path = n * thickness[f], inverse = 1 / n;
            EACH c[f][l] = cos(k[l] * path);
            EACH s[f][l] = sin(k[l] * path);
            EACH {
                double x = c[f][l], y = s[f][l] * inverse, z = s[f][l] * n;
                br[f][l] = x * br[f + 1][l] - y * ci[f + 1][l];
                bi[f][l] = x * bi[f + 1][l] + y * cr[f + 1][l];
                cr[f][l] = x * cr[f + 1][l] - z * bi[f + 1][l];
                ci[f][l] = x * ci[f + 1][l] + z * br[f + 1][l];
            }
        }
        lanes gbr, gbi, gcr, gci;
        EACH {
            /* R = |B - C|^2 / |B + C|^2 */
            double ur = br[0][l] - cr[0][l], ui = bi[0][l] - ci[0][l], vr = br[0][l] + cr[0][l], vi = bi[0][l] + ci[0][l];
            double q = 1 / (vr * vr + vi * vi), R = (ur * ur + ui * ui) * q, error = (R - goal[l]) * live[l];
            double g = 4 * error * q / count, h = g * R;
            value += error * error;
            gbr[l] = g * ur - h * vr; gbi[l] = g * ui - h * vi;
            gcr[l] = -g * ur - h * vr; gci[l] = -g * ui - h * vi;
        }
        for (long f = 0; f < films; f++) {
            double n = index[f], inverse = 1 / n, sn = 0, sp = 0;
            EACH {
                double x = c[f][l], y = s[f][l] * inverse, z = s[f][l] * n;
                double pr = br[f + 1][l], pi = bi[f + 1][l], qr = cr[f + 1][l], qi = ci[f + 1][l];
                double gy = gbi[l] * qr - gbr[l] * qi, gz = gci[l] * pr - gcr[l] * pi;
                double gx = gbr[l] * pr + gbi[l] * pi + gcr[l] * qr + gci[l] * qi;
                sn += gz * s[f][l] - gy * y * inverse;
                sp += k[l] * (x * (gy * inverse + gz * n) - gx * s[f][l]);
                double tbr = x * gbr[l] + z * gci[l], tbi = x * gbi[l] - z * gcr[l];
                double tcr = x * gcr[l] + y * gbi[l], tci = x * gci[l] - y * gbr[l];
                gbr[l] = tbr; gbi[l] = tbi; gcr[l] = tcr; gci[l] = tci;
            }
            dn[f] += sn + sp * thickness[f];
            dd[f] += sp * n;
        }
    }
    return value / count;
}
"""
_films = c_function(FILMS, "films", ctypes.c_double)


def thin_film_hand(wavelengths, target, substrate, index, thickness):
    d = np.empty_like(index), np.empty_like(thickness)
    sizes = len(index), len(wavelengths)
    return _films(*sizes, wavelengths, target, substrate.real, substrate.imag, index, thickness, *d), d


def thin_film_jax(wavelengths, target, substrate, index, thickness):
    """All wavelengths at once, and a vector in place of the matrices' product."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    @jax.checkpoint
    def film(vector, at):
        B, C = vector
        n, d = at
        delta = 2.0 * jnp.pi * n * d / wavelengths
        c, s = jnp.cos(delta), jnp.sin(delta)
        return (c * B + 1j * s / n * C, 1j * n * s * B + c * C), None

    ones = jnp.ones(len(wavelengths), complex)
    (B, C), _ = lax.scan(film, (ones, substrate * ones), (index, thickness), reverse=True)
    r = (B - C) / (B + C)
    return jnp.mean((r.real**2 + r.imag**2 - target) ** 2)


PROGRAMS = (
    Program("thin_film", thin_film, thin_film_inputs, (40, 4000), (3, 5), (3, 4), thin_film_hand, thin_film_jax),
)
