"""Adjoints of library calls in typed IR: the rules' pullbacks, compiled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from typed_tester import check, contracted, program, total, vector

from morula.core.errors import NoDerivative
from morula.core.ir.typed import FLOAT64, ArrayType
from morula.core.passes.reverse import reverse

X = np.random.default_rng(0).normal(size=(3, 3))
POSITIVE = X @ X.T + 3 * np.eye(3)
M, V = ArrayType(np.dtype(float), (3, 3)), vector(3)


def of_matrix(function, result, x=POSITIVE, **options):
    return lambda b, m: [contracted(b, b.call(function, [m], result, **options)[-1], None)], [M], [x]


def of_vector(function, *more, x=np.abs(X[0])):
    return lambda b, v: [total(b, b.ufunc(function, *map(b.constant, more), v))], [V], [x]


CASES = {
    "inv": of_matrix(np.linalg.inv, [M]),
    "det": of_matrix(np.linalg.det, [FLOAT64]),
    "cholesky": of_matrix(np.linalg.cholesky, [M]),
    "norm": of_matrix(np.linalg.norm, [FLOAT64]),
    "eigh": of_matrix(np.linalg.eigh, [V, M]),
    "expm": of_matrix(scipy.linalg.expm, [M], X),
    "fft": (
        lambda b, v: [contracted(b, b.cast(b.call(np.fft.fft, [v], [vector(3, complex)])[0], float), None)],
        [V],
        [X[0]],
    ),
    "solve": (
        lambda b, m, v: [contracted(b, b.call(np.linalg.solve, [m, v], [V])[0], None)],
        [M, V],
        [POSITIVE, X[0]],
    ),
    "solve_triangular": (
        lambda b, m, v: [contracted(b, b.call(scipy.linalg.solve_triangular, [m, v], [V], lower=True)[0], None)],
        [M, V],
        [POSITIVE, X[0]],
    ),
    "gammaln": of_vector(scipy.special.gammaln),
    "erf": of_vector(scipy.special.erf),
    "jv": of_vector(scipy.special.jv, 2.0),
    "ndtri": of_vector(scipy.special.ndtri, x=np.array([0.2, 0.5, 0.9])),
}


@pytest.mark.parametrize("name", CASES)
def test_library_calls(name):
    body, types, args = CASES[name]
    f = program(body, *types)
    if name == "cholesky":  # differences keep the matrix symmetric; the cotangent is that of its lower triangle
        symmetric = program(lambda b, m: inline_symmetric(b, body, m), M)
        check(symmetric, *args, rtol=1e-6, targets=["native"])
        return
    check(f, *args, rtol=1e-6, targets=["native"])


def inline_symmetric(b, body, m):
    half = b.ufunc(np.multiply, b.ufunc(np.add, m, b.transpose(m, (1, 0))), b.constant(0.5))
    return body(b, half)


def test_second_derivatives_of_a_solve():
    body, types, args = CASES["solve"]
    check(program(body, *types), *args, rtol=1e-6, order=2, targets=["native"])


def test_what_has_no_rule_is_refused_with_its_line():
    def unknown(x):
        return x

    g = program(lambda b, v: [total(b, b.call(unknown, [v], [V])[0])], V)
    with pytest.raises(NoDerivative, match=r"unknown has no derivative that compiles \(line 0\)"):
        reverse(g, [True])
