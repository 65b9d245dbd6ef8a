"""``docs/dense_operations.md`` is what the code can do, tried anew for eager code; compiled code is tried by the tests of the rules.

Forward and reverse mode of each operation agree to rounding; what is wrong with an operand is said on every path.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
from docs_scripts import load
from path_tester import PATHS, run_on

import morula as mo

dense = load("dense_operations")
COLUMNS = (*dense.OURS, *dense.PEERS)


def rows():
    found = {}
    for line in dense.PAGE.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == len(COLUMNS) + 1 and cells[0] in {o.name for o in dense.OPERATIONS}:
            found[cells[0]] = dict(zip(COLUMNS, cells[1:]))
    return found


ROWS = rows()


def test_every_operation_has_its_row():
    assert list(ROWS) == [o.name for o in dense.OPERATIONS], "run: python docs/dense_operations.py"


@pytest.mark.parametrize("operation", dense.OPERATIONS, ids=lambda o: o.name)
def test_the_cells_of_eager_code(operation):
    cells = dense.eager_cells(operation)
    assert cells == {column: ROWS[operation.name][column] for column in cells}, "run: python docs/dense_operations.py"


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("operation", dense.OPERATIONS, ids=lambda o: o.name)
def test_forward_and_reverse_mode_agree(operation, kind):
    """The product of the gradient and a direction is the tangent along it: an identity of two derivatives, without differences."""
    a, loss = operation.make(kind), dense.loss_of(operation.f)
    random = np.random.default_rng(1)
    along = random.normal(size=a.shape) + (1j * random.normal(size=a.shape) if kind == "complex" else 0)
    gradient, (_, tangent) = mo.grad(loss)(a), mo.jvp(loss, (a,), (along,))
    terms = np.real(np.conj(gradient) * along)
    assert abs(np.sum(terms) - tangent) <= 1e-12 * (np.sum(np.abs(terms)) + abs(tangent))


# Operands that are wrong

NONE = np.full((3, 3), np.nan)
WRONG = {
    "not square": (np.linalg.det, np.ones((3, 2)), Exception, r"(3, 2|must be square)"),
    "other lengths": (lambda a: np.linalg.solve(a, np.ones(2)), np.eye(3), Exception, r"2.*3|3.*2"),
    "singular": (np.linalg.inv, np.diag([1.0, 0.0]), np.linalg.LinAlgError, "Singular matrix"),
    "no pivot": (scipy.linalg.cholesky, np.diag([1.0, -2.0]), np.linalg.LinAlgError, "2-th leading minor of the array is not"),
    "NaN in svd": (lambda a: np.linalg.svd(a)[1], NONE, np.linalg.LinAlgError, "SVD did not converge"),
    "NaN in eigh": (np.linalg.eigvalsh, NONE, np.linalg.LinAlgError, "Eigenvalues did not converge"),
    "NaN in schur": (lambda a: scipy.linalg.schur(a)[0], NONE, ValueError, "array must not contain infs or NaNs"),
    "Toeplitz": (lambda a: scipy.linalg.solve_toeplitz(a[0], np.ones(3)), np.zeros((3, 3)), np.linalg.LinAlgError, "Singular principal minor"),
    "Riccati": (lambda a: scipy.linalg.solve_continuous_are(a, 0 * a, np.eye(2), np.eye(2)), np.eye(2), np.linalg.LinAlgError, "Failed to find a finite solution"),
    "Sylvester": (lambda a: scipy.linalg.solve_sylvester(a, -a, a), np.eye(2), mo.NoDerivative, "solve_sylvester has no derivative here: the equation is singular"),
    "Lyapunov": (lambda a: scipy.linalg.solve_continuous_lyapunov(a, a), np.array([[0.0, 1.0], [-1.0, 0.0]]), mo.NoDerivative, "solve_continuous_lyapunov has no derivative here"),
    "square root": (scipy.linalg.sqrtm, np.diag([1.0, 0.0]), mo.NoDerivative, "sqrtm has no derivative"),
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_an_operand_is_said(name, path):
    f, a, error, text = WRONG[name]
    with pytest.raises(error, match=text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_on(path)(mo.grad(lambda a: np.sum(np.real(f(a)) ** 2)))(a)


@pytest.mark.parametrize("target", PATHS[1:])
def test_a_compiled_cholesky_factorisation_refuses_nan(target):
    """NumPy's factor is NaN with some implementations of LAPACK, and so is that of eager code."""
    for a in (NONE, np.full((12, 12), np.nan)):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            run_on(target)(np.linalg.cholesky)(a)
