"""The residuals, standard starts and minima of J.J. Moré, B.S. Garbow and K.E. Hillstrom, "Testing unconstrained
optimization software", ACM Trans. Math. Software 7 (1981) 17-41; the value of a problem is its sum of squares.

Written so that each says as much of NumPy as the problem does; checked against MINPACK's own test programs (cminpack).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    name: str
    residuals: Callable
    start: np.ndarray
    minima: tuple[float, ...]  # the least, and others that a descent from the start may end in


PROBLEMS: list[Problem] = []


def problem(start, *minima):
    def add(residuals):
        name = residuals.__name__.strip("_").replace("_", " ")
        PROBLEMS.append(Problem(name, residuals, np.array(start, float), minima))
        return residuals

    return add


def steps(n):
    t = np.arange(1, n + 1) / (n + 1)
    return t * (t - 1)


@problem([-1.2, 1], 0)
def rosenbrock(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


@problem([0.5, -2], 0, 48.984253679240)
def freudenstein_roth(x):
    return np.array([
        -13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1],
        -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1],
    ])  # fmt: skip


@problem([0, 1], 0)
def powell_badly_scaled(x):
    return np.array([1e4 * x[0] * x[1] - 1, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001])


@problem([1, 1], 0)
def brown_badly_scaled(x):
    return np.array([x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2])


@problem([1, 1], 0)
def beale(x):
    return np.array([y - x[0] * (1 - x[1] ** (i + 1)) for i, y in enumerate((1.5, 2.25, 2.625))])


@problem([0.3, 0.4], 124.36218235561)
def jennrich_sampson(x):
    i = np.arange(1, 11)
    return 2 + 2 * i - (np.exp(i * x[0]) + np.exp(i * x[1]))


@problem([-1, 0, 0], 0)
def helical_valley(x):
    turn = np.arctan2(x[1], x[0]) / (2 * np.pi)
    if turn < -0.25:
        turn = turn + 1.0
    return np.array([10 * (x[2] - 10 * turn), 10 * (np.sqrt(x[0] ** 2 + x[1] ** 2) - 1), x[2]])


@problem([1, 1, 1], 8.2148773065790e-3)
def bard(x):
    y = np.array([0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39])
    u = np.arange(1, 16)
    v = 16 - u
    return y - (x[0] + u / (v * x[1] + np.minimum(u, v) * x[2]))


@problem([0.4, 1, 0], 1.1279327696189e-8)
def gaussian(x):
    half = [0.0009, 0.0044, 0.0175, 0.054, 0.1295, 0.242, 0.3521]
    y = np.array([*half, 0.3989, *half[::-1]])
    t = (8 - np.arange(1, 16)) / 2
    return x[0] * np.exp(-x[1] * (t - x[2]) ** 2 / 2) - y


@problem([0.02, 4000, 250], 87.945855170292)
def meyer(x):
    y = np.array(
        [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872]
    )
    t = 45 + 5 * np.arange(1, 17)
    return x[0] * np.exp(x[1] / (t + x[2])) - y


@problem([5, 2.5, 0.15], 0)
def gulf_research(x):
    t = np.arange(1, 100) / 100
    y = 25 + (-50 * np.log(t)) ** (2 / 3)
    return np.exp(-(np.abs(y - x[1]) ** x[2]) / x[0]) - t


@problem([0, 10, 20], 0)
def box_three_dimensional(x):
    t = 0.1 * np.arange(1, 11)
    return np.exp(-t * x[0]) - np.exp(-t * x[1]) - x[2] * (np.exp(-t) - np.exp(-10 * t))


@problem([3, -1, 0, 1], 0)
def powell_singular(x):
    a, b, c, d = x
    return np.array([a + 10 * b, 5**0.5 * (c - d), (b - 2 * c) ** 2, 10**0.5 * (a - d) ** 2])


@problem([-3, -1, -3, -1], 0)
def wood(x):
    a, b, c, d = x
    return np.array([
        10 * (b - a**2), 1 - a, 90**0.5 * (d - c**2), 1 - c, 10**0.5 * (b + d - 2), 0.1**0.5 * (b - d)
    ])  # fmt: skip


@problem([0.25, 0.39, 0.415, 0.39], 3.0750560384924e-4)
def kowalik_osborne(x):
    y = np.array([0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
    u = np.array([4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])
    return y - x[0] * (u**2 + u * x[1]) / (u**2 + u * x[2] + x[3])


@problem([25, 5, -5, -1], 85822.201626356)
def brown_dennis(x):
    t = np.arange(1, 21) / 5
    return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2


@problem([0.5, 1.5, -1, 0.01, 0.02], 5.4648946974825e-5)
def osborne_1(x):
    y = np.array([
        0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603,
        0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420, 0.414, 0.411,
        0.406,
    ])  # fmt: skip
    t = 10.0 * np.arange(33)
    return y - (x[0] + x[1] * np.exp(-t * x[3]) + x[2] * np.exp(-t * x[4]))


@problem([1, 2, 1, 1, 1, 1], 0, 5.6556499255e-3)
def biggs_exp6(x):
    t = 0.1 * np.arange(1, 14)
    y = np.exp(-t) - 5 * np.exp(-10 * t) + 3 * np.exp(-4 * t)
    return x[2] * np.exp(-t * x[0]) - x[3] * np.exp(-t * x[1]) + x[5] * np.exp(-t * x[4]) - y


@problem([1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5], 4.0137736293548e-2)
def osborne_2(x):
    y = np.array([
        1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655, 0.616, 0.606,
        0.602, 0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.500, 0.423,
        0.395, 0.375, 0.372, 0.391, 0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668,
        0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739, 0.710, 0.729, 0.720, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098,
        0.054,
    ])  # fmt: skip
    t = 0.1 * np.arange(65)
    peaks = [x[i] * np.exp(-((t - x[7 + i]) ** 2) * x[4 + i]) for i in (1, 2, 3)]
    return y - (x[0] * np.exp(-t * x[4]) + sum(peaks))


@problem(np.zeros(6), 2.2876700535524e-3)
def watson(x):
    j = np.arange(6)
    t = (np.arange(1, 30) / 29)[:, None]
    r = np.sum(j[1:] * x[1:] * t ** (j[1:] - 1), axis=1) - np.sum(x * t**j, axis=1) ** 2 - 1
    return np.concatenate([r, np.array([x[0], x[1] - x[0] ** 2 - 1])])


@problem(np.tile([-1.2, 1], 10), 0)
def extended_rosenbrock(x):
    a, b = x[0::2], x[1::2]
    return np.concatenate([10 * (b - a**2), 1 - a])


@problem(np.tile([3, -1, 0, 1], 5), 0)
def extended_powell_singular(x):
    a, b, c, d = x[0::4], x[1::4], x[2::4], x[3::4]
    return np.concatenate([a + 10 * b, 5**0.5 * (c - d), (b - 2 * c) ** 2, 10**0.5 * (a - d) ** 2])


@problem([1, 2, 3, 4], 2.2499775008999e-5)
def penalty_1(x):
    return np.append(1e-5**0.5 * (x - 1), np.sum(x**2) - 0.25)


@problem(np.full(4, 0.5), 9.3762930073554e-6)
def penalty_2(x):
    i = np.arange(2, 5)
    y = np.exp(i / 10) + np.exp((i - 1) / 10)
    e = np.exp(x / 10)
    weighted = np.sum((4 - np.arange(4)) * x**2)
    return np.concatenate([
        np.array([x[0] - 0.2]),
        1e-5**0.5 * (e[1:] + e[:-1] - y),
        1e-5**0.5 * (e[1:] - np.exp(-0.1)),
        np.array([weighted - 1]),
    ])  # fmt: skip


@problem(1 - np.arange(1, 11) / 10, 0)
def variably_dimensioned(x):
    s = np.sum(np.arange(1, 11) * (x - 1))
    return np.concatenate([x - 1, np.array([s, s**2])])


@problem(np.full(10, 0.1), 0, 2.7950561218784e-5)
def trigonometric(x):
    i = np.arange(1, 11)
    return 10 - np.sum(np.cos(x)) + i * (1 - np.cos(x)) - np.sin(x)


@problem(np.full(10, 0.5), 0, 1)
def brown_almost_linear(x):
    return np.append(x[:-1] + np.sum(x) - 11, np.prod(x) - 1)


@problem(steps(10), 0)
def discrete_boundary_value(x):
    h = 1 / 11
    t = h * np.arange(1, 11)
    padded = np.concatenate([np.zeros(1), x, np.zeros(1)])
    return 2 * x - padded[:-2] - padded[2:] + h**2 * (x + t + 1) ** 3 / 2


@problem(steps(10), 0)
def discrete_integral_equation(x):
    r = np.zeros(10)
    h = 1 / 11
    for i in range(10):
        ti = h * (i + 1)
        s = 0.0
        for j in range(10):
            tj = h * (j + 1)
            s += ((1 - ti) * tj if j <= i else ti * (1 - tj)) * (x[j] + tj + 1) ** 3
        r[i] = x[i] + h * s / 2
    return r


@problem(-np.ones(10), 0)
def broyden_tridiagonal(x):
    r = (3 - 2 * x) * x + 1
    r[1:] -= x[:-1]
    r[:-1] -= 2 * x[1:]
    return r


@problem(-np.ones(10), 0)
def broyden_banded(x):
    def near(i):
        return [j for j in range(max(0, i - 5), min(10, i + 2)) if j != i]

    return np.stack([x[i] * (2 + 5 * x[i] ** 2) + 1 - sum(x[j] * (1 + x[j]) for j in near(i)) for i in range(10)])


@problem(np.ones(10), 10)
def linear_full_rank(x):
    return np.concatenate([x, np.zeros(10)]) - 0.1 * np.sum(x) - 1


@problem(np.ones(10), 20 * 19 / (2 * 41))
def linear_rank_1(x):
    return np.arange(1, 21) * np.sum(np.arange(1, 11) * x) - 1


@problem(np.ones(10), (20**2 + 3 * 20 - 6) / (2 * 37))
def linear_rank_1_with_zero_rows_and_columns(x):
    rows = np.append(np.arange(19), 0)
    return rows * np.sum(np.arange(2, 10) * x[1:-1]) - 1


@problem(np.arange(1, 9) / 9, 3.5168737256779e-3)
def chebyquad(x):
    u = 2 * x - 1
    before, now = np.ones(8), u
    r = []
    for i in range(1, 9):
        r.append(np.mean(now) + (1 / (i * i - 1) if i % 2 == 0 else 0.0))
        before, now = now, 2 * u * now - before
    return np.stack(r)
