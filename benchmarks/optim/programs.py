"""The searches that the package is tuned on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize

import morula as mo
from morula.optim import BFGS, LBFGS, fixed_point, least_squares, minimize, root, root_scalar

from .program import Function, Program

MINPACK: Any = scipy.optimize.least_squares
"""Its annotations do not admit a function as the Jacobian."""


def rosenbrock(x: Any) -> Any:
    return sum_of(100.0 * (x[1::2] - x[::2] ** 2) ** 2 + (1.0 - x[::2]) ** 2)


def sum_of(x: Any) -> Any:
    return x.sum()


def rosenbrock_slope(x: np.ndarray) -> np.ndarray:
    bend, g = x[1::2] - x[::2] ** 2, np.empty_like(x)
    g[::2], g[1::2] = -400.0 * bend * x[::2] - 2.0 * (1.0 - x[::2]), 200.0 * bend
    return g


def in_optimistix(f: Any, solver: str, **settings: Any) -> Any:
    """Return a minimisation by optimistix, from a start and further arguments of f."""

    def make() -> Function:
        import optimistix as optx

        way = getattr(optx, solver)(rtol=1e-12, atol=1e-8, **settings)
        return lambda x, *a: optx.minimise(lambda y, a: f(y, *a), way, x, args=a, max_steps=10_000, throw=False).value

    return make


def in_torch(f: Any) -> Any:
    """Return a minimisation by PyTorch's L-BFGS."""

    def make() -> Function:
        import torch

        def run(start: np.ndarray, *args: Any) -> np.ndarray:
            x = torch.tensor(start, requires_grad=True)
            fixed = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
            search = torch.optim.LBFGS(
                [x], max_iter=2000, tolerance_grad=1e-8, tolerance_change=0.0, line_search_fn="strong_wolfe"
            )

            def closure() -> Any:
                search.zero_grad()
                value = f(x, *fixed)
                value.backward()
                return value

            search.step(closure)
            return x.detach().numpy()

        return run

    return make


def starts(n: int) -> tuple[np.ndarray, ...]:
    return (np.tile([-1.2, 1.0], n // 2),)


def cancer(n: int) -> tuple[np.ndarray, ...]:
    from sklearn.datasets import load_breast_cancer

    loaded: Any = load_breast_cancer(return_X_y=True)
    X, y = loaded
    X = (X - X.mean(0)) / X.std(0)
    X = np.concatenate([X, np.ones((len(X), 1))], axis=1)[:n]
    return np.zeros(X.shape[1]), X, 2.0 * y[:n] - 1.0


def logistic(w: Any, X: Any, y: Any) -> Any:
    z = y * (X @ w)
    # log(1 + exp(-z)) without overflow, in operations that NumPy, JAX and PyTorch share
    return sum_of((-z).clip(0.0) + log1p_exp_of(-abs(z))) / len(y) + 0.005 * sum_of(w * w)


def log1p_exp_of(z: Any) -> Any:
    if isinstance(z, np.ndarray):
        return np.log1p(np.exp(z))
    module = __import__("torch") if type(z).__module__.startswith("torch") else __import__("jax").numpy
    return module.log1p(module.exp(z))


def logistic_slope(w: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -X.T @ (y / (1.0 + np.exp(y * (X @ w)))) / len(y) + 0.01 * w


def hahn1(n: int) -> tuple[np.ndarray, ...]:
    path = Path(__file__).parents[2] / "tests" / "reference" / "nist_strd.json"
    data = json.loads(path.read_text())["problems"]["Hahn1"]
    return np.array(data["start2"]), np.array(data["x"])[:n], np.array(data["y"])[:n]


def rational(b: Any, x: Any, y: Any) -> Any:
    return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1.0 + x * (b[4] + x * (b[5] + x * b[6]))) - y


def rational_slope(b: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    low = 1.0 + x * (b[4] + x * (b[5] + x * b[6]))
    high = b[0] + x * (b[1] + x * (b[2] + x * b[3]))
    powers = np.stack([x**0, x, x**2, x**3], axis=1)
    return np.concatenate([powers / low[:, None], -(high / low**2)[:, None] * powers[:, 1:]], axis=1)


def fit_in_optimistix() -> Function:
    import optimistix as optx

    way = optx.Dogleg(rtol=1e-10, atol=1e-10)
    return lambda b, x, y: (
        optx.least_squares(lambda b, a: rational(b, *a), way, b, args=(x, y), max_steps=2000, throw=False).value
    )


def tangent_part(b: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    """The part of the residual that the parameters could still remove, in relation to it."""
    q = np.linalg.qr(rational_slope(b, x, y))[0]
    residual = rational(b, x, y)
    return np.linalg.norm(q.T @ residual) / np.linalg.norm(residual)


def diabetes(n: int) -> tuple[Any, ...]:
    from sklearn.datasets import load_diabetes

    loaded: Any = load_diabetes(return_X_y=True)
    X, y = loaded
    X, y = 20.0 * X[:n], (y[:n] - y[:n].mean()) / y[:n].std()
    half = len(y) // 2
    return 0.1, X[:half], y[:half], X[half:], y[half:]


def ridge(weight: Any, X: Any, y: Any, X2: Any, y2: Any) -> Any:
    def loss(w: Any) -> Any:
        return np.sum((X @ w - y) ** 2) / len(y) + weight * np.sum(w * w)

    w = minimize(loss, np.zeros(X.shape[1]), tol=1e-10).x
    return np.mean((X2 @ w - y2) ** 2)


def ridge_slope(weight: float, X: np.ndarray, y: np.ndarray, X2: np.ndarray, y2: np.ndarray) -> Any:
    H = X.T @ X / len(y) + weight * np.eye(X.shape[1])
    w = np.linalg.solve(H, X.T @ y / len(y))
    dw = 2.0 * X2.T @ (X2 @ w - y2) / len(y2)
    return -np.linalg.solve(H, dw) @ w


def ridge_in_jax() -> Function:
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    def loss(weight: Any, X: Any, y: Any, X2: Any, y2: Any) -> Any:
        f = lambda w, weight: jnp.sum((X @ w - y) ** 2) / len(y) + weight * jnp.sum(w * w)  # noqa: E731
        w = optx.minimise(
            f, optx.BFGS(rtol=1e-12, atol=1e-10), jnp.zeros(X.shape[1]), args=weight, max_steps=1000
        ).value
        return jnp.mean((X2 @ w - y2) ** 2)

    return jax.grad(loss)


def equilibrium_inputs(n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return 0.4 / np.sqrt(n) * rng.normal(size=(n, n)), rng.normal(size=n)


def equilibrium(W: Any, b: Any) -> Any:
    x = fixed_point(lambda x: np.tanh(W @ x + b), np.zeros(len(b)), tol=1e-10, adjoint="krylov").x
    return np.sum(x**2)


def equilibrium_by_hand(W: np.ndarray, b: np.ndarray) -> Any:
    x = np.zeros(len(b))
    for _ in range(200):
        before, x = x, np.tanh(W @ x + b)
        if np.max(np.abs(x - before)) < 1e-10:
            break
    slope = 1.0 - x**2
    v = 2.0 * x
    for _ in range(200):
        before, v = v, 2.0 * x + W.T @ (slope * v)
        if np.max(np.abs(v - before)) < 1e-10:
            break
    return np.outer(slope * v, x), slope * v


def equilibrium_in_jax() -> Function:
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    def loss(W: Any, b: Any) -> Any:
        way = optx.FixedPointIteration(rtol=1e-10, atol=1e-10)
        x = optx.fixed_point(lambda x, a: jnp.tanh(a[0] @ x + a[1]), way, jnp.zeros(len(b)), args=(W, b)).value
        return jnp.sum(x**2)

    return jax.grad(loss, argnums=(0, 1))


def kepler_inputs(n: int) -> tuple[np.ndarray, ...]:
    return np.linspace(0.01, 6.2, n), np.linspace(0.0, 0.95, n)


def kepler(E: Any, M: Any, e: Any) -> Any:
    return E - e * np.sin(E) - M


def anomalies(M: Any, e: Any) -> Any:
    return mo.vmap(lambda M, e: root_scalar(kepler, M, e, x0=np.pi, method="newton", xtol=1e-12).x)(M, e)


def anomalies_by_hand() -> Any:
    import numba

    @numba.njit
    def all_of(M: Any, e: Any) -> Any:
        E = np.empty(len(M))
        for i in range(len(M)):
            x = np.pi
            for _ in range(50):
                f = x - e[i] * np.sin(x) - M[i]
                if abs(f) < 1e-12:
                    break
                x -= f / (1.0 - e[i] * np.cos(x))
            E[i] = x
        return E

    return all_of


def lazily(make: Any) -> Function:
    """A function that is made by its first call, so that numba is imported only where it is used."""
    made: list[Any] = []

    def call(*args: Any) -> Any:
        if not made:
            made.append(make())
        return made[0](*args)

    return call


def anomalies_in_jax() -> Function:
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    way = optx.Newton(rtol=1e-12, atol=1e-12)

    def one(M: Any, e: Any) -> Any:
        return optx.root_find(lambda E, _: E - e * jnp.sin(E) - M, way, jnp.pi, throw=False).value

    return jax.vmap(one)


def systems_inputs(n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return (rng.uniform(0.5, 1.5, size=(n, 4)),)


def quadratic_system(x: Any, p: Any) -> Any:
    """Neighbours are coupled, the last with the first."""
    shifted = x[np.array([1, 2, 3, 0])]
    return x + 0.3 * x * x * p + 0.2 * shifted * x - p


def solutions(P: Any) -> Any:
    return mo.vmap(lambda p: root(quadratic_system, np.ones(4), p, tol=1e-10).x)(P)


def solutions_by_hand() -> Any:
    import numba

    @numba.njit
    def all_of(P: Any) -> Any:
        X = np.ones_like(P)
        J, f = np.zeros((4, 4)), np.zeros(4)
        for i in range(len(P)):
            x, p = X[i], P[i]
            for _ in range(50):
                for k in range(4):
                    f[k] = x[k] + 0.3 * x[k] * x[k] * p[k] + 0.2 * x[(k + 1) % 4] * x[k] - p[k]
                if np.max(np.abs(f)) < 1e-10:
                    break
                J[:] = 0.0
                for k in range(4):
                    J[k, k] = 1.0 + 0.6 * x[k] * p[k] + 0.2 * x[(k + 1) % 4]
                    J[k, (k + 1) % 4] += 0.2 * x[k]
                x -= np.linalg.solve(J, f)
        return X

    return all_of


def solutions_in_jax() -> Function:
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    way = optx.Newton(rtol=1e-10, atol=1e-10)
    return jax.vmap(lambda p: optx.root_find(lambda x, _: quadratic_system(x, p), way, jnp.ones(4), throw=False).value)


def all_systems(X: np.ndarray, P: np.ndarray) -> np.ndarray:
    return X + 0.3 * X * X * P + 0.2 * np.roll(X, -1, axis=1) * X - P


PROGRAMS = [
    Program(
        "Rosenbrock, 2 unknowns",
        lambda n: starts(2),
        lambda x: minimize(rosenbrock, x, method=BFGS()).x,
        lambda x, _: rosenbrock_slope(x),
        in_scipy=lambda x: (
            scipy.optimize.minimize(
                rosenbrock, x, jac=rosenbrock_slope, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 0.0}
            ).x
        ),
        in_jax=in_optimistix(rosenbrock, "BFGS"),
        in_torch=in_torch(rosenbrock),
    ),
    Program(
        "Rosenbrock, 1000 unknowns",
        lambda n: starts(1000),
        lambda x: minimize(rosenbrock, x, method=LBFGS()).x,
        lambda x, _: rosenbrock_slope(x),
        in_scipy=lambda x: (
            scipy.optimize.minimize(
                rosenbrock, x, jac=rosenbrock_slope, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 0.0}
            ).x
        ),
        in_jax=in_optimistix(rosenbrock, "NonlinearCG"),
        in_torch=in_torch(rosenbrock),
    ),
    Program(
        "logistic regression, 569 x 31",
        lambda n: cancer(569),
        lambda w, X, y: minimize(logistic, w, X, y).x,
        lambda w, *a: logistic_slope(w, a[1], a[2]),
        in_scipy=lambda w, X, y: (
            scipy.optimize.minimize(
                logistic, w, (X, y), jac=logistic_slope, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 0.0}
            ).x
        ),
        in_jax=in_optimistix(logistic, "BFGS"),
        in_torch=in_torch(logistic),
    ),
    Program(
        "Hahn1, 236 data, 7 parameters",
        lambda n: hahn1(236),
        lambda b, x, y: least_squares(rational, b, x, y).x,
        lambda b, *a: tangent_part(b, a[1], a[2]),
        in_scipy=lambda b, x, y: (
            MINPACK(rational, b, rational_slope, method="lm", args=(x, y), xtol=1e-12, ftol=1e-12, gtol=1e-12).x
        ),
        in_jax=fit_in_optimistix,
    ),
    Program(
        "gradient of a ridge regression by its weight",
        lambda n: diabetes(442),
        mo.grad(ridge),
        lambda slope, *a: slope - ridge_slope(*a),
        by_hand=ridge_slope,
        in_jax=ridge_in_jax,
    ),
    Program(
        "gradient of a deep equilibrium, 200 unknowns",
        lambda n: equilibrium_inputs(200),
        mo.grad(equilibrium, argnums=(0, 1)),
        lambda slopes, W, b: slopes[1] - equilibrium_by_hand(W, b)[1],
        by_hand=equilibrium_by_hand,
        in_jax=equilibrium_in_jax,
    ),
    Program(
        "1,000 Kepler equations",
        lambda n: kepler_inputs(1000),
        anomalies,
        lambda E, M, e: kepler(E, M, e),
        by_hand=lazily(anomalies_by_hand),
        in_scipy=lambda M, e: scipy.optimize.newton(
            kepler, np.full(len(M), np.pi), lambda E, M, e: 1.0 - e * np.cos(E), (M, e), tol=1e-12
        ),
        in_jax=anomalies_in_jax,
    ),
    Program(
        "1,000 systems of four equations",
        lambda n: systems_inputs(1000),
        solutions,
        all_systems,
        by_hand=lazily(solutions_by_hand),
        in_jax=solutions_in_jax,
    ),
]
