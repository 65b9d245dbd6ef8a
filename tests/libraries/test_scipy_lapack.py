"""The LAPACK and BLAS routines that SciPy's Python code calls directly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg import blas, lapack

import morula as mo
from morula.testing import check_gradients

random = np.random.default_rng(3)
A = random.normal(size=(4, 4)) + 4 * np.eye(4)
RIGHT = random.normal(size=(4, 2))
BAND = random.normal(size=(4, 4)) + np.array([[0.0], [0.0], [4.0], [0.0]])
DEFINITE = np.array([[4.0, 5.0, 6.0, 4.5], [0.3, -0.4, 0.7, 0.0]])

CALLS = {
    "gesv": (lambda a, b: lapack.dgesv(a, b)[2], A, RIGHT),
    "gbsv": (lambda a, b: lapack.dgbsv(1, 1, a, b)[2], BAND, RIGHT),
    "gtsv": (lambda e, d, f, b: lapack.dgtsv(e, d, f, b)[3], np.ones(3), np.full(4, 3.0), -np.ones(3), RIGHT),
    "getrs": (lambda a, b: lapack.dgetrs(*lapack.dgetrf(a)[:2], b, trans=1)[0], A, RIGHT),
    "potrs": (lambda a, b: lapack.dpotrs(lapack.dpotrf(a @ a.T, lower=1)[0], b, lower=1)[0], A, RIGHT),
    "trtrs": (lambda a, b: lapack.dtrtrs(a, b, lower=1, trans=1)[0], A, RIGHT),
    "trsm from the right": (lambda s, a, b: blas.dtrsm(s, a, b, side=1, lower=1), 1.3, A, RIGHT.T.copy()),
    "overwriting": (lambda a, b: lapack.dgesv(a + 0, b + 0, overwrite_a=1, overwrite_b=1)[2], A, RIGHT),
    **{
        f"a band's factor, lower={lower}": (
            lambda ab, b, lower=lower: scipy.linalg.cho_solve_banded(
                (scipy.linalg.cholesky_banded(ab if lower else ab[::-1], lower=lower), lower), b
            ),
            DEFINITE if lower else np.array([[4.0, 5.0, 6.0, 4.5], [0.0, 0.3, -0.4, 0.7]]), RIGHT,
        )
        for lower in (True, False)
    },
    **{
        f"elements outside of the matrix in a band, lower={lower}": (
            lambda ab, lower=lower: scipy.linalg.cholesky_banded(ab[::-1] if lower else ab, lower=lower),
            np.array([[0.3, 1.0, -0.5, 0.7], [5.0, 6.0, 7.0, 8.0]]),
        )
        for lower in (True, False)
    },
    "numpy.linalg.solve of vectors": (lambda a, b: np.linalg._umath_linalg.solve1(a, b[:, 0]), A, RIGHT),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, *args = CALLS[name]
    check_gradients(f, *args, order=1)


def test_a_complex_system():
    check_gradients(lambda a, b: lapack.zgesv(a, b)[2], A + 1j * A.T, RIGHT + 0.5j, order=1)


def test_the_factors_that_a_solver_also_gives_are_refused():
    with pytest.raises(mo.NoDerivative, match="gtsv"):
        mo.gradient(lambda d: lapack.dgtsv(np.ones(len(d) - 1), d, np.ones(len(d) - 1), np.ones(len(d)))[1].sum(), A[0])
