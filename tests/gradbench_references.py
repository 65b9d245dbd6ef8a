"""Derivatives of the objectives of ``benchmarks/modes`` without a differentiation tool.

Closed forms where there are any; else the complex step on the program itself or on another form of it, extrapolated
differences, or the derivative written by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp, multigammaln

from benchmarks.modes.objectives import ba, descent, gmm, ht, lstm, saddle
from morula.core.testing.differences import numerical_vjp

STEP = 1e-30


def by_complex_step(f: Callable[..., Any], argnum: int, *args: Any) -> Any:
    """The derivatives of all results in all entries of one argument, as the last axes.

    f(x + ih) = f(x) + ih f'(x) + O(h^2), without cancellation: W. Squire and G. Trapp, Using complex variables to
    estimate derivatives of real functions, SIAM Review 40 (1998) 110.
    """
    x = np.asarray(args[argnum])
    columns = []
    for unit in np.eye(x.size).reshape(x.size, *x.shape):
        moved = x + 1j * STEP * unit
        columns.append(np.imag(f(*args[:argnum], moved, *args[argnum + 1 :])) / STEP)
    stacked = np.stack(columns, -1)
    return stacked.reshape(*stacked.shape[:-1], *x.shape)


def by_differences(f: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """The Jacobian of a vector for each argument."""
    rows = [numerical_vjp(f, unit, *args)[0] for unit in np.eye(len(f(*args)))]
    return tuple(np.stack(of_argument) for of_argument in zip(*rows))


def lse(x):
    exponentials = np.exp(x - np.max(x))
    return exponentials / np.sum(exponentials)


def llsq(x, n):
    t = np.linspace(-1.0, 1.0, n)
    powers = np.vander(t, len(x), increasing=True)
    return powers.T @ (powers @ x - np.sign(t))


def det(A):
    return np.linalg.det(A) * np.linalg.inv(A).T


def ode(x, steps):
    """Up to four components are polynomials of degree four, for which the method is exact: x_1 ... x_n 2^n / n!."""
    n = len(x)
    return np.prod(x) / x * 2.0**n / math.factorial(n)


def kmeans(points, centroids):
    """From the mean of the points that are closest to a centroid, the vector to the centroid."""
    nearest = np.argmin(np.sum((points[:, None] - centroids) ** 2, axis=2), axis=1)
    return np.stack([c - points[nearest == j].mean(0) for j, c in enumerate(centroids)])


def mixture(alpha, mu, q, lower, x):
    """The log-likelihood on whole arrays."""
    (n, d), k = x.shape, len(alpha)
    L = np.zeros((k, d, d), np.result_type(lower, q))
    columns, rows = np.triu_indices(d, 1)
    L[:, rows, columns] = lower
    L[:, range(d), range(d)] = np.exp(q)
    scaled = np.einsum("kij,nkj->nki", L, x[:, None] - mu)
    terms = alpha + q.sum(1) - 0.5 * (scaled**2).sum(2)
    wishart = d + gmm.M + 1
    prior = wishart * d * math.log(gmm.GAMMA / math.sqrt(2)) - multigammaln(0.5 * wishart, d)
    prior = k * prior - 0.5 * gmm.GAMMA**2 * (L**2).sum() + gmm.M * q.sum()
    return -0.5 * n * d * math.log(2 * math.pi) + logsumexp(terms, 1).sum() - n * logsumexp(alpha) + prior


def mixture_gradient(*args):
    return tuple(by_complex_step(mixture, i, *args) for i in range(4))


def network(main, extra, state, sequence):
    def loss(main, extra):
        return lstm.loss(main + 0j, extra, state, sequence)  # the state is stored in the numbers of ``main``

    return tuple(by_complex_step(loss, i, main, extra) for i in range(2))


def bundle(cameras, points, w, features, observations):
    J = []
    for i, (camera, point) in enumerate(observations):
        at = cameras[camera], points[point], w[i : i + 1]
        error = lambda *unknowns: ba.reprojection_error(unknowns, features[i])
        J.append(np.concatenate([by_complex_step(error, argnum, *at) for argnum in range(3)], 1))
    return np.stack(J), -2.0 * w


def simple_hand(theta, *hand):
    return by_differences(lambda theta: ht.simple_errors(theta, *hand), theta)[0]


def complicated_hand(theta, us, *hand):
    by_theta, by_us = by_differences(lambda theta, us: ht.complicated_errors(theta, us, *hand), theta, us)
    own = np.concatenate([by_us[3 * i : 3 * i + 3, i] for i in range(len(us))])
    return np.concatenate([own, by_theta], 1)


def saddle_point(start, rate):
    """The same descents, with gradients by hand: at the maximum, the derivative in x is that of x alone."""

    def worst(x):
        return saddle.payoff(x, y_of(x))

    def y_of(x):
        return descent.argmin(lambda _: lambda y: 2.0 * y, lambda y: -saddle.payoff(x, y), start, rate)

    x = descent.argmin(lambda _: lambda x: 2.0 * x, worst, start, rate)
    return np.concatenate([x, y_of(x)])


def placed_charge(start, rate, dt):
    """The same descent, with the force and its derivative by hand."""

    def squared(w):
        return path(w[0])[0] ** 2

    def slope(w):
        x, dx = path(w[0])
        return np.array([2.0 * x * dx])

    def path(w):
        return crossing_with_tangent(w, dt)

    return descent.argmin(lambda _: slope, squared, start, rate)


def crossing_with_tangent(w, dt):
    """``particle.crossing``, and its derivative in w along the path."""
    x, v, dx, dv = np.array([0.0, 8.0]), np.array([0.75, 0.0]), np.zeros(2), np.zeros(2)
    while True:
        force, dforce = np.zeros(2), np.zeros(2)
        for charge, dcharge in (([10.0, 10.0 - w], [0.0, -1.0]), ([10.0, 0.0], [0.0, 0.0])):
            r, dr = x - charge, dx - dcharge
            distance = np.sqrt(r @ r)
            force = force + r / distance**3
            dforce = dforce + dr / distance**3 - 3.0 * r * (r @ dr) / distance**5
        new = x + dt * v
        if new[1] <= 0.0:
            break
        x, v, dx, dv = new, v + dt * force, dx + dt * dv, dv + dt * dforce
    tangent = dx - (dx[1] / v[1] - x[1] * dv[1] / v[1] ** 2) * v - x[1] / v[1] * dv
    return (x - x[1] / v[1] * v)[0], tangent[0]


REFERENCES = {
    "lse": lse,
    "llsq": llsq,
    "det": det,
    "ode": ode,
    "kmeans": kmeans,
    "gmm": mixture_gradient,
    "lstm": network,
    "ba": bundle,
    "ht, simple": simple_hand,
    "ht, complicated": complicated_hand,
    **{f"saddle, {modes}": saddle_point for modes in ("ff", "fr", "rf", "rr")},
    **{f"particle, {modes}": placed_charge for modes in ("ff", "fr", "rf", "rr")},
}

PUBLISHED = {"saddle": np.full(4, 8.246324826140356e-06), "particle": np.array([0.2071918746486116])}
"""The results that GradBench requires of every tool at the size that is timed."""
