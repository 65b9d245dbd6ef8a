"""Cases of functions that belong to no other table: conversions, other names of functions, compiled solvers."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
import scipy.optimize
from matrices import positive, random
from numpy._core import umath
from rule_tester import check_rule
from scipy import linalg, special
from scipy.sparse import _sparsetools
from scipy.sparse.linalg._dsolve import _superlu

from morula.core.rules import find_rule

find_rule(linalg.solve)

X = np.array([[-1.3, 0.4, 0.2], [0.7, 1.6, 2.5]])
Z = X * (1 + 0.3j)
Q, R = linalg.qr(random((3, 3)))

CASES = [
    *((f, (x,)) for f in (operator.neg, operator.pos) for x in (X, Z, 0.7, X.astype(np.float32))),
    *((f, (a, a.T + 1)) for f in (operator.matmul, np.linalg.matmul) for a in (X, Z, X.astype(np.float32))),
    *((np.linalg.outer, (a[0], a[1])) for a in (X, Z)),
    *((f, (X, axis)) for f in (np.amax, np.amin) for axis in (None, 0)),
    (float, (0.7,)),
    *((f, (0.7,)) for f in (np.float64, np.longdouble, np.complex128, np.clongdouble)),
    *((f, (np.float32(0.7),)) for f in (np.float32, np.complex64)),
    (math.nextafter, (0.7, 3.0)),
    *((f, (a,)) for f in (np.asarray_chkfinite, np.require) for a in (X, Z)),
    (umath.clip, (X, -1.0, 1.0)),
    *((f, (X, axis)) for f in (np.maximum.accumulate, np.minimum.accumulate) for axis in (0, 1)),
    (special.softplus, (X,)) if hasattr(special, "softplus") else (special.expit, (X,)),
    (np.unwrap, (X,)),
    (np.unwrap, (4 * X, None, 0)),
]  # fmt: skip
A = random((2, 2))
PARTIAL = [
    (math.ldexp, (0.7, 3), (0,)),
    # SciPy insists on symmetric matrices for the other arguments.
    *((f, (A / 2, A[:, :1], positive((2, 2)), np.eye(1)), (0, 1))
      for f in (linalg.solve_continuous_are, linalg.solve_discrete_are)),
    (linalg.qr_insert, (Q, R, random((3,)), 1, "col"), (2,)),
]  # fmt: skip
if hasattr(scipy.optimize, "_slsqplib"):  # since SciPy 1.16
    nonnegative = (np.abs(random((3, 2))), np.array([1.0, 2.0, 3.0]), 10)
    PARTIAL.append((scipy.optimize._slsqplib.nnls, nonnegative, (0, 1)))


@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_function(f, args):
    check_rule(f, *args)


@pytest.mark.parametrize(("f", "args", "known"), PARTIAL, ids=lambda x: getattr(x, "__name__", ""))
def test_function_of_which_only_some_arguments_can_be_moved(f, args, known):
    check_rule(f, *args, known=known, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axes", [1, ([0], [1])])
def test_tensordot(axes):
    check_rule(np.linalg.tensordot, X, X.T + 1, axes=axes)


STARTS, COLUMNS = np.array([0, 2, 4], np.int32), np.array([0, 1, 0, 1], np.int32)


def test_the_solver_of_sparse_systems():
    options = {"ColPerm": "NATURAL"}
    check_rule(_superlu.gssv, 2, 4, A.ravel(), COLUMNS, STARTS, A[0], 1, options=options, known=(2, 5))


def test_a_product_of_matrices_stored_by_diagonals():
    below, above = np.array([-1, 0], np.int32), np.array([0, 1], np.int32)
    data = np.arange(1.0, 7.0).reshape(2, 3)
    check_rule(_sparsetools.dia_matmat, 3, 3, 2, 3, below, data, 3, 2, 3, above, np.cos(data), known=(5, 10))


def test_a_part_of_a_sparse_matrix():
    check_rule(_sparsetools.get_csr_submatrix, 2, 2, STARTS, COLUMNS, A.ravel(), 0, 2, 1, 2, known=(4,))
