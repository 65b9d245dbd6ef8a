"""Programs with sparse derivatives, each as a person might write it, with the number of entries of its pattern for a vector of 12."""

from __future__ import annotations

import numpy as np
from scipy import sparse

N = 12
DIFFERENCES = np.diag(np.ones(N)) - np.diag(np.ones(N - 1), 1)
STORED = sparse.csr_array(DIFFERENCES)
EDGES = np.array([[0, 1], [1, 2], [2, 5], [5, 7], [3, 4], [11, 8]])


def heat(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_by_elements(x):
    u = x.copy()
    for _ in range(3):
        v = u.copy()
        for i in range(1, len(x) - 1):
            v[i] = u[i] + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])
        u = v
    return u


def in_place_over_time(x):
    u = x.copy()
    for _ in range(3):
        for i in range(1, len(u) - 1):
            u[i] = u[i] + 0.1 * u[i] * u[i + 1]
    return u


def window(x):
    r = np.zeros(len(x))
    previous = 0.0
    for i in range(len(x)):
        r[i] = x[i] - previous
        previous = x[i]
    return r


def scratch(x):
    r, t = np.zeros(len(x)), np.zeros(2)
    for i in range(len(x) - 1):
        t[0], t[1] = x[i], x[i + 1]
        r[i] = t[0] * t[1]
    return r


def gauss_seidel(x):
    u = x.copy()
    for i in range(1, len(x) - 1):
        u[i] = 0.5 * (u[i - 1] + x[i + 1])
    return u


def band(x):
    n, r = len(x), np.zeros(len(x))
    for i in range(n):
        s = 0.0
        for j in range(max(0, i - 2), min(n, i + 3)):
            s += x[j] * (1 + i + j)
        r[i] = s**2
    return r


def slices_of_a_band(x):
    n, r = len(x), np.zeros(len(x))
    for i in range(n):
        r[i] = np.sum(x[max(0, i - 1) : min(n, i + 2)] ** 2)
    return r


def halved(x):
    r = np.zeros(len(x))
    for i in range(len(x)):
        s, k = x[i], 0
        while s > 0.1 and k < 5:
            s = s * 0.5
            k += 1
        r[i] = s
    return r


def newton(x):
    y = x.copy()
    while np.max(np.abs(y * y - x)) > 1e-12:
        y = y - (y * y - x) / (2 * y)
    return y


def dense_factor(x):
    return np.tanh(DIFFERENCES @ x)


def sparse_factor(x):
    return STORED @ x**2


def both_sides(x):
    return (DIFFERENCES @ np.reshape(x, (N, 1))).ravel() + x @ DIFFERENCES


def einsum(x):
    return np.einsum("ij,j->i", DIFFERENCES, x)


def rolled(x):
    return np.roll(x, 1) * x + np.diff(x, append=0.0)


def padded(x):
    return np.diff(np.pad(x, 1, mode="edge"), 2)


def where(x):
    return np.where(x > 0.5, x, np.roll(x, 2))


def where_known(x):
    return np.where(np.arange(len(x)) > 5, x, np.roll(x, 2))


def branches(x):
    r = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0.5:
            r[i] = x[i]
        elif i > 1:
            r[i] = x[i - 2] * 2
    return r


def grid(x):
    u, r = x.reshape(3, 4), np.zeros((3, 4))
    for i in range(3):
        for j in range(4):
            s = 4 * u[i, j]
            if i > 0:
                s -= u[i - 1, j]
            if i < 2:
                s -= u[i + 1, j] ** 2
            if j > 0:
                s -= u[i, j - 1]
            if j < 3:
                s -= u[i, j + 1]
            r[i, j] = s
    return r


def edges(x):
    r, d = np.zeros(len(x)), x[EDGES[:, 0]] - x[EDGES[:, 1]]
    np.add.at(r, EDGES[:, 0], d**2)
    np.add.at(r, EDGES[:, 1], -d)
    return r


def edges_by_elements(x):
    r = np.zeros(len(x))
    for e in range(len(EDGES)):
        i, j = EDGES[e, 0], EDGES[e, 1]
        f = np.sin(x[i] - x[j])
        r[i] += f
        r[j] -= f
    return r


def counted(x):
    r, k = np.zeros(2 * len(x)), 0
    for i in range(len(x)):
        r[k] = x[i]
        k += 2
    return r


def sums_of_rows(x):
    return np.sum(x.reshape(3, 4) ** 2, axis=1)


def cumulative(x):
    return np.cumsum(x)


def arrow(x):
    r = x**2
    r[0] = np.sum(x)
    return r * x[0]


def larger(x):
    return np.maximum(x, np.roll(x, 1))


def largest(x):
    return np.max(x.reshape(4, 3), axis=1)


def sorted_rows(x):
    return np.sort(x.reshape(4, 3), axis=1)


def small_systems(x):
    return np.linalg.solve(x.reshape(3, 2, 2) + 3 * np.eye(2), np.ones((3, 2, 1)))


def slices(x):
    return x[2:8:2] * x[::-3][:3]


def parts(x):
    return np.concatenate([x[:3], x[5:]]).reshape(-1, 2).T


def periodic(x):
    r = np.zeros(len(x))
    for i in range(len(x)):
        r[i] = x[max(i - 1, 0)] * x[(i + 1) % len(x)]
    return r


def runge_kutta(x):
    def slope(y):
        return np.roll(y, 1) - y**3

    y = x.copy()
    for _ in range(2):
        k = slope(y)
        y = y + 0.1 * slope(y + 0.05 * k)
    return y


def changed(x):
    x[0] = x[1] * 2
    return x


def number(x):
    return np.sum(x * x)


def one_sum(x):
    r, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        s += x[i]
    for i in range(len(x)):
        r[i] = x[i]
    r[0] = s
    return r


def rolled_often(x):
    y = x.copy()
    for i in range(6):
        y = np.roll(y, 1) * (i + 1.0)
    return y


def rows_added(x):
    total = np.zeros(4)
    for i in range(len(x) - 3):
        total = 0.5 * total + x[i : i + 4] ** 2
    return total


def sum_after_a_start(x):
    s = x[0] * x[11]
    for i in range(1, 11):
        if x[i] > 0.0:
            s += x[i] ** 2
    return s


JACOBIANS = {
    heat: 66,
    heat_by_elements: 66,
    in_place_over_time: 39,
    window: 23,
    scratch: 22,
    gauss_seidel: 67,
    band: 54,
    slices_of_a_band: 34,
    halved: 12,
    newton: 12,
    dense_factor: 23,
    sparse_factor: 23,
    both_sides: 34,
    einsum: 23,
    rolled: 35,
    padded: 34,
    where: 24,
    where_known: 12,
    branches: 22,
    grid: 46,
    edges: 21,
    edges_by_elements: 21,
    counted: 12,
    sums_of_rows: 12,
    cumulative: 78,
    arrow: 34,
    larger: 24,
    largest: 12,
    sorted_rows: 36,
    small_systems: 24,
    slices: 6,
    parts: 10,
    periodic: 24,
    runge_kutta: 60,
    changed: 12,
    number: 12,
    one_sum: 23,
    sum_after_a_start: 12,
    rolled_often: 12,
    rows_added: 36,
}


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_by_elements(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return s


def torsion(x):
    u = np.pad(x.reshape(3, 4), 1)
    return 0.5 * np.sum((u[1:] - u[:-1]) ** 2) + 0.5 * np.sum((u[:, 1:] - u[:, :-1]) ** 2) + np.sum(np.exp(x))


def hub(x):
    return x[0] * np.sum(x[1:] ** 2)


def quadratic(x):
    return x @ (DIFFERENCES @ x)


def sums_squared(x):
    return np.sum((x.reshape(3, 4) @ np.ones((4, 2))) ** 2)


def quotients(x):
    return np.sum(x[1:] / x[:-1])


def chosen(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += x[i] * x[i + 1] if x[i] > 0.5 else x[i] ** 3
    return s


def product(x):
    s = x[0] ** 2
    for i in range(1, len(x), 2):
        s *= 1.0 + x[i]
    return s


def linear(x):
    return np.sum(3 * x)


def inner(x):
    return x[:6] @ x[6:]


def rows_multiplied(x):
    return np.sum(x.reshape(3, 4) @ x.reshape(3, 4).T)


def system(x):
    return np.sum(np.linalg.solve(x[:4].reshape(2, 2) + np.eye(2), x[4:6]))


def norm(x):
    return np.linalg.norm(x[:4]) + np.sum(x)


def powers(x):
    return np.sum(x[:4] ** x[4:8])


def pairs(x):
    u = np.zeros(6)
    for i in range(6):
        u[i] = x[2 * i] * x[2 * i + 1]
    return np.sum(u**2)


def every_second(x):
    s, i = 0.0, 0
    while i < len(x) - 1:
        s += x[i] * x[i + 1]
        i += 2
    return s


HESSIANS = {
    rosenbrock: 34,
    rosenbrock_by_elements: 34,
    torsion: 46,
    hub: 33,
    quadratic: 34,
    sums_squared: 48,
    quotients: 33,
    chosen: 33,
    product: 43,
    sum_after_a_start: 12,
    linear: 0,
    inner: 12,
    rows_multiplied: 36,
    system: 36,
    norm: 16,
    powers: 16,
    pairs: 24,
    every_second: 12,
}
