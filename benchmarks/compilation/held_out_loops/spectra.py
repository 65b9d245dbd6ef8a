"""The transmission spectrum of a gas, line by line, fitted to a measurement.

Source: L. S. Rothman et al., The HITRAN molecular spectroscopic database and HAWKS, J. Quant. Spectrosc. Radiat.
Transfer 60 (1998) 665-710, appendix A; lines have Lorentz profiles, cut off at a distance.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

SPACING, CUTOFF = 0.02, 10.0  # 1/cm


def line_by_line(grid, measured, centres, strengths, widths):
    """The sum of squared errors of the transmission on a grid of wavenumbers."""
    depth = np.zeros_like(grid)
    for centre, strength, width in zip(centres, strengths, widths):
        start = np.searchsorted(grid, centre - CUTOFF)
        end = np.searchsorted(grid, centre + CUTOFF)
        depth[start:end] += strength / np.pi * width / ((grid[start:end] - centre) ** 2 + width**2)
    return np.sum((np.exp(-depth) - measured) ** 2)


def line_by_line_inputs(size):
    """Lines, and points of the grid."""
    lines, points = size
    rng = np.random.default_rng(41)
    grid = 1000.0 + SPACING * np.arange(points)
    centres = np.sort(rng.uniform(grid[0], grid[-1], lines))
    measured = np.clip(0.8 + 0.1 * rng.normal(size=points), 0.0, 1.0)
    return grid, measured, centres, rng.exponential(0.1, lines), rng.uniform(0.05, 0.1, lines)


LINES = r"""
#include <math.h>
#include <string.h>
static long first(const double *grid, long points, double x) {
    long low = 0, high = points;
    while (low < high) { long middle = (low + high) / 2; if (grid[middle] < x) low = middle + 1; else high = middle; }
    return low;
}
double lines(long count, long points, double cutoff, const double *restrict grid, const double *restrict measured,
             const double *restrict centres, const double *restrict strengths, const double *restrict widths,
             long *restrict bounds, double *restrict depth, double *restrict dc, double *restrict ds, double *restrict dw) {
    double value = 0;
    memset(depth, 0, points * sizeof(double));
    for (long k = 0; k < count; k++) {
        double c = centres[k], w = widths[k], q = w * w, s = strengths[k] / M_PI * w;
        long start = bounds[2 * k] = first(grid, points, c - cutoff), end = bounds[2 * k + 1] = first(grid, points, c + cutoff);
        for (long i = start; i < end; i++) { double x = grid[i] - c; depth[i] += s / (x * x + q); }
    }
    for (long i = 0; i < points; i++) {
        double t = exp(-depth[i]), r = t - measured[i];
        value += r * r;
        depth[i] = -2 * r * t; /* its cotangent */
    }
    for (long k = 0; k < count; k++) {
        double c = centres[k], w = widths[k], q = w * w, s = strengths[k] / M_PI * w, sum = 0, along = 0, square = 0;
        for (long i = bounds[2 * k]; i < bounds[2 * k + 1]; i++) {
            double x = grid[i] - c, y = 1 / (x * x + q), g = depth[i] * y, h = g * y;
            sum += g; along += h * x; square += h;
        }
        dc[k] = 2 * s * along;
        ds[k] = sum * w / M_PI;
        dw[k] = strengths[k] / M_PI * sum - 2 * s * w * square;
    }
    return value;
}
"""
_lines = c_function(LINES, "lines", ctypes.c_double)


def line_by_line_hand(grid, measured, centres, strengths, widths):
    d = tuple(map(np.empty_like, (centres, strengths, widths)))
    sizes = len(centres), len(grid)
    bounds, depth = np.empty((len(centres), 2), int), np.empty_like(grid)
    return _lines(*sizes, CUTOFF, grid, measured, centres, strengths, widths, bounds, depth, *d), d


def line_by_line_jax(grid, measured, centres, strengths, widths):
    """Windows of one length, masked; a line at a time adds to the depth."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    length = min(int(2.0 * CUTOFF / SPACING) + 2, len(grid))
    low, high = jnp.searchsorted(grid, centres - CUTOFF), jnp.searchsorted(grid, centres + CUTOFF)
    starts = jnp.minimum(low, len(grid) - length)

    def add(depth, line):
        start, low, high, centre, strength, width = line
        index = start + jnp.arange(length)
        x = lax.dynamic_slice(grid, (start,), (length,)) - centre
        profile = strength / jnp.pi * width / (x**2 + width**2)
        window = lax.dynamic_slice(depth, (start,), (length,))
        window = window + jnp.where((index >= low) & (index < high), profile, 0.0)
        return lax.dynamic_update_slice(depth, window, (start,)), None

    lines = starts, low, high, centres, strengths, widths
    depth, _ = lax.scan(jax.checkpoint(add), jnp.zeros_like(grid), lines, unroll=4)
    return jnp.sum((jnp.exp(-depth) - measured) ** 2)


PROGRAMS = (
    Program(
        "line_by_line",
        line_by_line,
        line_by_line_inputs,
        (1500, 20_000),
        (6, 40),
        (2, 3, 4),
        line_by_line_hand,
        line_by_line_jax,
    ),
)
