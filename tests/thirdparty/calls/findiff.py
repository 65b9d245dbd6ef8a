"""Finite differences as operators that are added, multiplied and applied to arrays, and equations solved with them."""

from __future__ import annotations

import numpy as np
from findiff import PDE, BoundaryConditions, Coef, Curl, Diff, FinDiff, Gradient, Identity, Laplacian

from thirdparty.harness import Call

DISTRIBUTION = "findiff"
FIELD = "numerical analysis"
HELD_OUT = True

X = np.linspace(0.0, 2.0, 11)
PLANE = np.sin(np.arange(30.0)).reshape(5, 6)


def second_derivative(f: np.ndarray, step: float) -> np.ndarray:
    return (Diff(0, step) ** 2)(f, acc=4)


def combined(f: np.ndarray) -> np.ndarray:
    operator = Diff(0, X[1] - X[0]) ** 2 + 3.0 * Diff(0, X[1] - X[0]) - Identity()
    return operator(f)


def uneven(f: np.ndarray) -> np.ndarray:
    return Diff(0, X**2 + X)(f)


def vector_calculus(f: np.ndarray) -> np.ndarray:
    return Gradient(h=[0.1, 0.2])(f).sum(0) * Laplacian(h=[0.1, 0.2])(f)


def curl(f: np.ndarray) -> np.ndarray:
    return Curl(h=[0.1, 0.1, 0.1])(f)


def damped_oscillator(damping: float, stiffness: float, end: float) -> np.ndarray:
    t = np.linspace(0, 10, 41)
    operator = FinDiff(0, t[1] - t[0], 2) + Coef(damping) * FinDiff(0, t[1] - t[0], 1) + Coef(stiffness) * Identity()
    conditions = BoundaryConditions(t.shape)
    conditions[0] = 0.0
    conditions[-1] = end
    return PDE(operator, np.cos(2 * t), conditions).solve()


CALLS = {
    "second_derivative": Call(second_derivative, np.sin(X), 0.2),
    "combined": Call(combined, np.sin(X)),
    "uneven": Call(uneven, np.sin(X)),
    "vector_calculus": Call(vector_calculus, PLANE),
    "damped_oscillator": Call(damped_oscillator, 0.5, 5.0, 1.0),
    "curl": Call(curl, np.sin(np.arange(192.0)).reshape(3, 4, 4, 4)),
}
