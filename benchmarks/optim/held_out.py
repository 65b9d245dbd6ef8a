"""Searches that were written before their speed was looked at, and that nothing is tuned on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

import morula as mo
from morula.optim import least_squares, minimize, quadratic_program, root

from .program import Function, Program
from .programs import MINPACK, diabetes, in_optimistix, in_torch, sum_of


def wood(x: Any) -> Any:
    return (
        100 * (x[1] - x[0] ** 2) ** 2
        + (1 - x[0]) ** 2
        + 90 * (x[3] - x[2] ** 2) ** 2
        + (1 - x[2]) ** 2
        + 10 * (x[1] + x[3] - 2) ** 2
        + 0.1 * (x[1] - x[3]) ** 2
    )


def wood_slope(x: np.ndarray) -> np.ndarray:
    a, b = x[1] - x[0] ** 2, x[3] - x[2] ** 2
    return np.array(
        [
            -400 * a * x[0] - 2 * (1 - x[0]),
            200 * a + 20 * (x[1] + x[3] - 2) + 0.2 * (x[1] - x[3]),
            -360 * b * x[2] - 2 * (1 - x[2]),
            180 * b + 20 * (x[1] + x[3] - 2) - 0.2 * (x[1] - x[3]),
        ]
    )


def huber(w: Any, X: Any, y: Any) -> Any:
    r = X @ w - y
    far = (abs(r) - 0.5).clip(0.0)
    return sum_of(r * r - far * far) / len(y) + 0.001 * sum_of(w * w)


def huber_slope(w: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    r = X @ w - y
    far = np.sign(r) * np.maximum(np.abs(r) - 0.5, 0.0)
    return 2.0 * X.T @ (r - far) / len(y) + 0.002 * w


def regression(n: int) -> tuple[np.ndarray, ...]:
    _, X, y, _, _ = diabetes(n)
    return np.zeros(X.shape[1]), X, y


def decay_data(n: int) -> tuple[np.ndarray, ...]:
    t = np.linspace(0.0, 6.0, n)
    noise = 0.01 * np.random.default_rng(3).normal(size=n)
    return np.array([1.0, 1.0, 0.5, 0.1]), t, 2.5 * np.exp(-1.7 * t) + 0.7 * np.exp(-0.3 * t) + noise


def decays(b: Any, t: Any, y: Any) -> Any:
    exp = np.exp if isinstance(t, np.ndarray) else __import__("jax").numpy.exp
    return b[0] * exp(-b[1] * t) + b[2] * exp(-b[3] * t) - y


def decays_slope(b: np.ndarray, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    fast, slow = np.exp(-b[1] * t), np.exp(-b[3] * t)
    return np.stack([fast, -b[0] * t * fast, slow, -b[2] * t * slow], axis=1)


def decays_in_jax() -> Function:
    import optimistix as optx

    way = optx.LevenbergMarquardt(rtol=1e-10, atol=1e-10)
    return lambda b, t, y: (
        optx.least_squares(lambda b, a: decays(b, *a), way, b, args=(t, y), max_steps=2000, throw=False).value
    )


def tridiagonal(x: Any) -> Any:
    f = (3.0 - 2.0 * x) * x + 1.0
    f[1:] = f[1:] - x[:-1]
    f[:-1] = f[:-1] - 2.0 * x[1:]
    return f


def tridiagonal_in_jax() -> Function:
    import optimistix as optx

    def f(x: Any, _: Any) -> Any:
        return ((3.0 - 2.0 * x) * x + 1.0).at[1:].add(-x[:-1]).at[:-1].add(-2.0 * x[1:])

    way = optx.Newton(rtol=1e-10, atol=1e-10)
    return lambda x: optx.root_find(f, way, x, throw=False).value


def portfolio_inputs(n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(n, n // 4))
    return factors @ factors.T / n + 0.1 * np.eye(n), 0.1 * rng.normal(size=n)


def portfolio(P: Any, returns: Any) -> Any:
    n = len(returns)
    x = quadratic_program(P, -returns, np.ones((1, n)), 1.0, 1.0, bounds=(0.0, None)).x
    return np.sum(np.cos(np.arange(1.0, n + 1.0)) * x)


def portfolio_slope(P: np.ndarray, returns: np.ndarray) -> np.ndarray:
    """The derivative by the returns, from the conditions of optimality on the entries that are held."""
    n = len(returns)
    held = np.ones(n, dtype=bool)
    while True:
        k = int(np.sum(held))
        K = np.block([[P[np.ix_(held, held)], np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
        solution = np.linalg.solve(K, np.append(returns[held], 1.0))
        if np.all(solution[:k] > 0.0):
            break
        indices = np.flatnonzero(held)
        held[indices[solution[:k] <= 0.0]] = False
    weights = np.cos(np.arange(1.0, n + 1.0))[held]
    slope = np.zeros(n)
    slope[held] = np.linalg.solve(K, np.append(weights, 0.0))[:k]
    return slope


PROGRAMS = [
    Program(
        "Wood's function",
        lambda n: (np.array([-3.0, -1.0, -3.0, -1.0]),),
        lambda x: minimize(wood, x).x,
        lambda x, _: wood_slope(x),
        in_scipy=lambda x: scipy.optimize.minimize(wood, x, jac=wood_slope, method="BFGS", options={"gtol": 1e-8}).x,
        in_jax=in_optimistix(wood, "BFGS"),
        in_torch=in_torch(wood),
    ),
    Program(
        "robust regression, 221 x 10",
        lambda n: regression(442),
        lambda w, X, y: minimize(huber, w, X, y, method="lbfgs").x,
        lambda w, *a: huber_slope(w, a[1], a[2]),
        in_scipy=lambda w, X, y: (
            scipy.optimize.minimize(
                huber, w, (X, y), jac=huber_slope, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 0.0}
            ).x
        ),
        in_jax=in_optimistix(huber, "BFGS"),
        in_torch=in_torch(huber),
    ),
    Program(
        "two exponentials, 100 data",
        lambda n: decay_data(100),
        lambda b, t, y: least_squares(decays, b, t, y).x,
        lambda b, *a: decays_slope(b, a[1], a[2]).T @ decays(b, a[1], a[2]),
        in_scipy=lambda b, t, y: (
            MINPACK(decays, b, decays_slope, method="lm", args=(t, y), xtol=1e-12, ftol=1e-12, gtol=1e-12).x
        ),
        in_jax=decays_in_jax,
    ),
    Program(
        "Broyden's tridiagonal system, 200 unknowns",
        lambda n: (-np.ones(200),),
        lambda x: root(tridiagonal, x, tol=1e-10).x,
        lambda x, _: tridiagonal(x),
        in_scipy=lambda x: scipy.optimize.root(tridiagonal, x, method="hybr", tol=1e-12).x,
        in_jax=tridiagonal_in_jax,
    ),
    Program(
        "gradient of a portfolio, 40 assets",
        lambda n: portfolio_inputs(40),
        mo.grad(portfolio, argnums=1),
        lambda slope, P, returns: slope - portfolio_slope(P, returns),
        by_hand=portfolio_slope,
    ),
]
