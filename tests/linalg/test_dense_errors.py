"""Bad input of dense linear algebra: on each path the error is that of NumPy or SciPy, and names the shapes in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla

import morula as mo

EYE, ONE = np.eye(3), np.ones(3)
OBLONG = np.ones((3, 2))
SINGULAR = np.ones((3, 3))
INDEFINITE = np.diag([1.0, -2.0, 3.0])
NAN = np.full((3, 3), np.nan)

F: dict[str, Callable[..., Any]] = {
    "solve": lambda a, b: np.linalg.solve(a, b),
    "inv": lambda a: np.linalg.inv(a),
    "det": lambda a: np.linalg.det(a),
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "cholesky": lambda a: np.linalg.cholesky(a),
    "eigh": lambda a: np.linalg.eigh(a)[0],
    "eigvalsh": lambda a: np.linalg.eigvalsh(a),
    "eig": lambda a: np.abs(np.linalg.eig(a)[0]),
    "svd": lambda a: np.linalg.svd(a)[1],
    "lstsq": lambda a, b: np.linalg.lstsq(a, b)[0],
    "pinv": lambda a: np.linalg.pinv(a),
    "matrix_power": lambda a: np.linalg.matrix_power(a, 3),
    "scipy solve": lambda a, b: sla.solve(a, b),
    "scipy inv": lambda a: sla.inv(a),
    "scipy cholesky": lambda a: sla.cholesky(a),
    "cho_factor": lambda a: sla.cho_factor(a)[0],
    "lu_factor": lambda a: sla.lu_factor(a)[0],
    "solve_triangular": lambda a, b: sla.solve_triangular(a, b),
    "scipy eigh": lambda a: sla.eigh(a)[0],
    "scipy svd": lambda a: sla.svd(a)[1],
    "schur": lambda a: sla.schur(a)[0],
    "hessenberg": lambda a: sla.hessenberg(a),
    "polar": lambda a: sla.polar(a)[0],
    "expm": lambda a: sla.expm(a),
    "sqrtm": lambda a: sla.sqrtm(a),
    "logm": lambda a: sla.logm(a),
    "sylvester": lambda a, q: sla.solve_sylvester(a, a, q),
    "lyapunov": lambda a, q: sla.solve_continuous_lyapunov(a, q),
}

VALUES = [
    *(("solve", SINGULAR, ONE), ("inv", SINGULAR), ("scipy solve", SINGULAR, ONE), ("scipy inv", SINGULAR)),
    ("solve_triangular", np.diag([1.0, 0.0, 1.0]), ONE),
    *((name, INDEFINITE) for name in ("cholesky", "scipy cholesky", "cho_factor")),
    *((name, NAN) for name in ("eigh", "eigvalsh", "eig", "svd", "scipy inv", "scipy cholesky", "cho_factor")),
    *((name, NAN) for name in ("lu_factor", "scipy eigh", "scipy svd", "schur", "hessenberg", "sqrtm")),
    *(("scipy solve", NAN, ONE), ("scipy solve", EYE, NAN[0]), ("solve_triangular", NAN, ONE)),
    *(("sylvester", NAN, EYE), ("lyapunov", NAN, EYE)),
]
"""Calls that fail for the values of their arguments."""

SHAPES = [
    *((name, OBLONG) for name in ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "matrix_power")),
    *((name, OBLONG) for name in ("scipy inv", "scipy cholesky", "cho_factor", "scipy eigh", "schur", "hessenberg")),
    *((name, OBLONG) for name in ("expm", "sqrtm", "logm")),
    *(
        ("solve", OBLONG, ONE),
        ("solve", EYE, np.ones(4)),
        ("scipy solve", OBLONG, ONE),
        ("scipy solve", EYE, np.ones(4)),
    ),
    *(("solve_triangular", OBLONG, ONE), ("solve_triangular", EYE, np.ones(4)), ("lstsq", OBLONG, np.ones(4))),
    *(("svd", ONE), ("pinv", ONE), ("sylvester", EYE, OBLONG), ("lyapunov", EYE, OBLONG)),
]
"""Calls that fail for the shapes of their arguments."""


def label(case: Any) -> str:
    name, *args = case
    return f"{name}-{'-'.join(str(a.shape) for a in args)}-{args[0].ravel()[0]}"


def raised(f: Callable[..., Any], *args: Any) -> Exception:
    with np.errstate(all="ignore"), pytest.raises((ValueError, np.linalg.LinAlgError, mo.MorulaError)) as error:
        f(*args)
    return error.value


@pytest.mark.parametrize("case", [*VALUES, *SHAPES], ids=label)
def test_a_gradient_raises_what_numpy_and_scipy_raise(case):
    name, *args = case
    expected = raised(F[name], *args)
    found = raised(mo.grad(lambda *x: np.sum(F[name](*x))), *args)
    assert type(found) is type(expected) and str(found) == str(expected)


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("case", VALUES, ids=label)
def test_compiled_code_raises_what_numpy_and_scipy_raise_for_values(case, target):
    name, *args = case
    expected, found = raised(F[name], *args), raised(mo.jit(F[name], target=target), *args)
    assert type(found) is type(expected) and str(found) == str(expected)


@pytest.mark.parametrize("case", SHAPES, ids=label)
def test_compiled_code_names_the_shapes_that_do_not_fit(case):
    name, *args = case
    found = raised(mo.jit(F[name]), *args)
    assert isinstance(found, mo.BadInput)
    for x in args if name != "matrix_power" else ():  # it names the lengths that differ
        assert f"float64{list(x.shape)}" in str(found)
