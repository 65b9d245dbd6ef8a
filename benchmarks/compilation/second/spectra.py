"""Absorption by spectral lines: each line in its window of the grid, and through the layers of an atmosphere."""

from __future__ import annotations

import math
from ctypes import c_double

import numpy as np

from ..c_code import c_function
from . import Program

# Lorentz lines, each in a window


def windows(grid, centre, width, strength):
    k = np.zeros(len(grid))
    step = grid[1] - grid[0]
    for j in range(len(centre)):
        first = max(int((centre[j] - 25 * width[j] - grid[0]) / step), 0)
        last = min(int((centre[j] + 25 * width[j] - grid[0]) / step) + 1, len(grid))
        for i in range(first, last):
            x = (grid[i] - centre[j]) / width[j]
            k[i] += strength[j] / (np.pi * width[j] * (1 + x * x))
    return np.sum(np.exp(-k))


def _windows_inputs(size):
    points, lines = size
    rng = np.random.default_rng(0)
    width = rng.uniform(0.002, 0.005, lines)
    return np.linspace(0, 1, points), rng.uniform(0, 1, lines), width, rng.uniform(0, 0.01, lines)


_WINDOWS = """
#include <math.h>
double windows(long n, long m, const double *grid, const double *centre, const double *width, const double *strength,
               double *k, double *dk, double *dcentre, double *dwidth, double *dstrength) {
    double step = grid[1] - grid[0], loss = 0;
    for (long i = 0; i < n; i++) k[i] = 0;
    for (int back = 0; back < 2; back++) {
        for (long j = 0; j < m; j++) {
            double c = centre[j], w = width[j], per = 1 / w, scale = strength[j] / (M_PI * w);
            long first = (long)((c - 25 * w - grid[0]) / step), last = (long)((c + 25 * w - grid[0]) / step) + 1;
            first = first < 0 ? 0 : first;
            last = last > n ? n : last;
            if (!back) {
                for (long i = first; i < last; i++) {
                    double x = (grid[i] - c) * per;
                    k[i] += scale / (1 + x * x);
                }
                continue;
            }
            double shape = 0, moved = 0, widened = 0;
            for (long i = first; i < last; i++) {
                double x = (grid[i] - c) * per, y = 1 / (1 + x * x), g = dk[i] * y, h = g * y * x;
                shape += g;
                moved += h;
                widened += h * x;
            }
            dstrength[j] = shape / (M_PI * w);
            dcentre[j] = 2 * scale * per * moved;
            dwidth[j] = scale * per * (2 * widened - shape);
        }
        if (!back)
            for (long i = 0; i < n; i++) {
                double e = exp(-k[i]);
                loss += e;
                dk[i] = -e;
            }
    }
    return loss;
}
"""


def _windows_by_hand(grid, centre, width, strength):
    found = [np.empty(len(centre)) for _ in range(3)]
    work = np.empty(len(grid)), np.empty(len(grid))
    run = c_function(_WINDOWS, "windows", c_double)
    return run(len(grid), len(centre), grid, centre, width, strength, *work, *found), tuple(found)


# Lines through layers


def layers(nu, nu0, S, gamma, T, p):
    tau = np.zeros(len(nu))
    for l in range(len(T)):
        for j in range(len(nu0)):
            g = gamma[j] * p[l] * (296.0 / T[l]) ** 0.7
            s = S[j] * math.exp(-1.4388 * nu0[j] * (1 / T[l] - 1 / 296.0))
            for i in range(len(nu)):
                d = nu[i] - nu0[j]
                tau[i] += s * g / (math.pi * (d * d + g * g))
    return np.sum(np.exp(-tau))


def _layers_inputs(size):
    points, lines, levels = size
    rng = np.random.default_rng(1)
    of_lines = rng.uniform(1, 2, lines), rng.uniform(0, 0.01, lines), rng.uniform(0.01, 0.05, lines)
    return np.linspace(1, 2, points), *of_lines, rng.uniform(200, 300, levels), rng.uniform(0.1, 1, levels)


_LAYERS = """
#include <math.h>
double layers(long n, long m, long levels, const double *nu, const double *nu0, const double *S, const double *gamma,
              const double *T, const double *p, double *tau, double *dtau, double *dS, double *dgamma, double *dT) {
    double loss = 0;
    for (long i = 0; i < n; i++) tau[i] = 0;
    for (long j = 0; j < m; j++) dS[j] = dgamma[j] = 0;
    for (int back = 0; back < 2; back++) {
        for (long l = 0; l < levels; l++) {
            double power = pow(296 / T[l], 0.7), at = 0;
            for (long j = 0; j < m; j++) {
                double per = p[l] * power, g = gamma[j] * per, e = exp(-1.4388 * nu0[j] * (1 / T[l] - 1 / 296.0));
                double s = S[j] * e, c = s * g / M_PI, c0 = nu0[j];
                if (!back) {
                    for (long i = 0; i < n; i++) {
                        double d = nu[i] - c0;
                        tau[i] += c / (d * d + g * g);
                    }
                    continue;
                }
                double sum = 0, squares = 0;
                for (long i = 0; i < n; i++) {
                    double d = nu[i] - c0, y = 1 / (d * d + g * g), h = dtau[i] * y;
                    sum += h;
                    squares += h * y;
                }
                double ds = sum * g / M_PI, dg = sum * s / M_PI - 2 * c * g * squares;
                dS[j] += ds * e;
                dgamma[j] += dg * per;
                at += ds * s * 1.4388 * c0 / (T[l] * T[l]) - dg * g * 0.7 / T[l];
            }
            if (back) dT[l] = at;
        }
        if (!back)
            for (long i = 0; i < n; i++) {
                double e = exp(-tau[i]);
                loss += e;
                dtau[i] = -e;
            }
    }
    return loss;
}
"""


def _layers_by_hand(nu, nu0, S, gamma, T, p):
    found = np.empty(len(S)), np.empty(len(S)), np.empty(len(T))
    work = np.empty(len(nu)), np.empty(len(nu))
    run = c_function(_LAYERS, "layers", c_double)
    return run(len(nu), len(nu0), len(T), nu, nu0, S, gamma, T, p, *work, *found), found


# Pseudo-Voigt lines within a cutoff


def voigt(grid, centre, strength, lorentz, doppler, cutoff, target):
    k = np.zeros(len(grid))
    for i in range(len(grid)):
        for j in range(len(centre)):
            x = grid[i] - centre[j]
            if abs(x) < cutoff:
                width = 0.5346 * lorentz[j] + math.sqrt(0.2166 * lorentz[j] * lorentz[j] + doppler[j] * doppler[j])
                eta = lorentz[j] / width
                z = x / width
                gauss = math.sqrt(math.log(2) / math.pi) * math.exp(-math.log(2) * z * z)
                k[i] += strength[j] / width * (eta / (math.pi * (1 + z * z)) + (1 - eta) * gauss)
    return np.sum((1 - np.exp(-k) - target) ** 2)


def _voigt_inputs(size):
    points, lines = size
    rng = np.random.default_rng(3)
    of_lines = rng.uniform(0.1, 1, lines), rng.uniform(0.05, 0.1, lines), rng.uniform(0.03, 0.08, lines)
    centre = np.sort(rng.uniform(0, 10, lines))
    return np.linspace(0, 10, points), centre, *of_lines, 3.0, rng.uniform(0, 1, points)


PROGRAMS = (
    Program("windows", windows, _windows_inputs, (2000, 300), (20, 5), (1, 2, 3), _windows_by_hand),
    Program("layers", layers, _layers_inputs, (200, 40, 10), (8, 4, 2), (2, 3, 4), _layers_by_hand),
    Program("voigt", voigt, _voigt_inputs, (500, 200), (10, 6), (1, 2, 3, 4)),
)
