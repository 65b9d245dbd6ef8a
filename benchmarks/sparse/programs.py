"""Programs with sparse derivatives: stiff equations, bands, and energies, by arrays and by loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Program


def brusselator_1d(y: Any, xp: Any = np) -> Any:
    """The right-hand side of the Brusselator with diffusion on a line, the two species interleaved."""
    u, v = y[0::2], y[1::2]
    n = u.shape[0]
    left, right = xp.concatenate([xp.ones(1), u[:-1]]), xp.concatenate([u[1:], xp.ones(1)])
    du = 1.0 + u * u * v - 4.0 * u + 0.02 * (left - 2.0 * u + right)
    left, right = xp.concatenate([3.0 * xp.ones(1), v[:-1]]), xp.concatenate([v[1:], 3.0 * xp.ones(1)])
    dv = 3.0 * u - u * u * v + 0.02 * (left - 2.0 * v + right)
    return xp.reshape(xp.stack([du, dv], axis=1), (2 * n,))


def brusselator_1d_by_elements(y: Any) -> Any:
    n = len(y) // 2
    r = np.empty(2 * n)
    for i in range(n):
        u, v = y[2 * i], y[2 * i + 1]
        u_left = y[2 * i - 2] if i > 0 else 1.0
        v_left = y[2 * i - 1] if i > 0 else 3.0
        u_right = y[2 * i + 2] if i < n - 1 else 1.0
        v_right = y[2 * i + 3] if i < n - 1 else 3.0
        r[2 * i] = 1.0 + u * u * v - 4.0 * u + 0.02 * (u_left - 2.0 * u + u_right)
        r[2 * i + 1] = 3.0 * u - u * u * v + 0.02 * (v_left - 2.0 * v + v_right)
    return r


def brusselator_2d(y: Any, xp: Any = np) -> Any:
    """The Brusselator on a square with periodic ends."""
    n = round((y.shape[0] // 2) ** 0.5)
    u, v = xp.reshape(y, (2, n, n))

    def laplacian(w: Any) -> Any:
        return xp.roll(w, 1, 0) + xp.roll(w, -1, 0) + xp.roll(w, 1, 1) + xp.roll(w, -1, 1) - 4.0 * w

    du = 1.0 + u * u * v - 4.4 * u + 0.1 * laplacian(u)
    dv = 3.4 * u - u * u * v + 0.1 * laplacian(v)
    return xp.reshape(xp.stack([du, dv]), (2 * n * n,))


def brusselator_2d_by_elements(y: Any) -> Any:
    n = round((len(y) // 2) ** 0.5)
    m = n * n
    r = np.empty(2 * m)
    for i in range(n):
        for j in range(n):
            k, up, down = i * n + j, (i + 1) % n * n + j, (i - 1) % n * n + j
            right, left = i * n + (j + 1) % n, i * n + (j - 1) % n
            u, v = y[k], y[m + k]
            r[k] = 1.0 + u * u * v - 4.4 * u + 0.1 * (y[up] + y[down] + y[left] + y[right] - 4.0 * u)
            around = y[m + up] + y[m + down] + y[m + left] + y[m + right]
            r[m + k] = 3.4 * u - u * u * v + 0.1 * (around - 4.0 * v)
    return r


def band(x: Any) -> Any:
    """Broyden's banded function (MINPACK-2), with five entries below the diagonal and one above."""
    n = len(x)
    r = np.empty(n)
    for i in range(n):
        s = 0.0
        for j in range(max(0, i - 5), min(n, i + 2)):
            if j != i:
                s += x[j] * (1.0 + x[j])
        r[i] = x[i] * (2.0 + 5.0 * x[i] * x[i]) + 1.0 - s
    return r


def rosenbrock(x: Any, xp: Any = np) -> Any:
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_elements(x: Any) -> Any:
    s = 0.0
    for i in range(len(x) - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


def torsion(x: Any, xp: Any = np) -> Any:
    """Elastic-plastic torsion of a bar (MINPACK-2), with a potential in place of the bounds."""
    n = round(x.shape[0] ** 0.5)
    h = 1.0 / (n + 1)
    u = xp.pad(xp.reshape(x, (n, n)), 1)
    energy = 0.5 * (xp.sum((u[1:] - u[:-1]) ** 2) + xp.sum((u[:, 1:] - u[:, :-1]) ** 2))
    return energy - 5.0 * h * h * xp.sum(x) + h * h * xp.sum(xp.exp(x))


PROGRAMS = {
    "Brusselator 1-D, arrays": Program(brusselator_1d, 100_000, with_xp=brusselator_1d),
    "Brusselator 1-D, elements": Program(brusselator_1d_by_elements, 100_000),
    "Brusselator 2-D, arrays": Program(brusselator_2d, 2 * 224**2, with_xp=brusselator_2d),
    "Brusselator 2-D, elements": Program(brusselator_2d_by_elements, 2 * 224**2),
    "Broyden's band, elements": Program(band, 100_000),
    "chained Rosenbrock, arrays": Program(rosenbrock, 100_000, True, rosenbrock),
    "chained Rosenbrock, elements": Program(rosenbrock_by_elements, 100_000, True),
    "torsion, arrays": Program(torsion, 316**2, True, torsion, small=49),
}
