"""The errors that functions of linear algebra raise for some matrices, as numbers, so that a program can catch them."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import BadInput

MatrixError = tuple[type[Exception], str]
"""An exception's class and its text, in which braces stand for an integer."""

SINGULAR = np.linalg.LinAlgError, "Singular matrix"
INDEFINITE = np.linalg.LinAlgError, "Matrix is not positive definite"
NO_SVD = np.linalg.LinAlgError, "SVD did not converge"
NO_LEAST_SQUARES = np.linalg.LinAlgError, "SVD did not converge in Linear Least Squares"
NO_EIGENVALUES = np.linalg.LinAlgError, "Eigenvalues did not converge"
NOT_FINITE = np.linalg.LinAlgError, "Array must not contain infs or NaNs"
NOT_FINITE_IN_SCIPY = ValueError, "array must not contain infs or NaNs"
MINOR = np.linalg.LinAlgError, "{}-th leading minor of the array is not positive definite"
SINGULAR_IN_SCIPY = np.linalg.LinAlgError, "A singular matrix detected: slice(s) [0] are singular."
SINGULAR_NUMBER = np.linalg.LinAlgError, "A singular matrix detected."
SINGULAR_STRUCTURE = np.linalg.LinAlgError, "Matrix is singular."
DIAGONAL = np.linalg.LinAlgError, "singular matrix: resolution failed at diagonal {}"
NO_SCHUR_FORM = np.linalg.LinAlgError, "Schur form not found. Possibly ill-conditioned."
REORDERED = np.linalg.LinAlgError, "Eigenvalues could not be separated for reordering."
NOT_DEFINITE_PAIR = (
    np.linalg.LinAlgError,
    "The leading minor of order {} of B is not positive definite. The factorization of B could not be completed and no eigenvalues or "
    "eigenvectors were computed.",
)
WITHOUT_EIGENVALUES = np.linalg.LinAlgError, "the eigenvalues of a Hermitian matrix did not converge"
REORDERED_PAIR = (
    ValueError,
    "Reordering of (A, B) failed because the transformed matrix pair (A, B) would be too far from generalized Schur form; the problem is "
    "very ill-conditioned. (A, B) may have been partially reordered.",
)
BANDED = np.linalg.LinAlgError, "singular matrix"
BANDED_MINOR = np.linalg.LinAlgError, "{}th leading minor not positive definite"
BANDED_MINOR_OF_FACTOR = np.linalg.LinAlgError, "{}-th leading minor not positive definite"

_OF_NUMPY: dict[str, tuple[MatrixError, ...]] = {
    "cholesky": (INDEFINITE,),
    **dict.fromkeys(("inv", "solve", "tensorinv", "tensorsolve"), (SINGULAR,)),
    **dict.fromkeys(("svd", "svdvals", "pinv", "cond", "matrix_rank", "matrix_norm"), (NO_SVD,)),
    **dict.fromkeys(("eigh", "eigvalsh"), (NO_EIGENVALUES,)),
    **dict.fromkeys(("eig", "eigvals"), (NO_EIGENVALUES, NOT_FINITE)),
    **dict.fromkeys(("det", "slogdet", "qr", "vector_norm"), ()),
}
_OF_SCIPY: dict[str, tuple[MatrixError, ...]] = {
    **dict.fromkeys(("cholesky", "cho_factor"), (MINOR,)),
    **dict.fromkeys(("inv", "solve"), (SINGULAR_IN_SCIPY,)),
    "solve_triangular": (DIAGONAL,),
    "solve_banded": (BANDED,),
    "schur": (NO_SCHUR_FORM, REORDERED),
    **dict.fromkeys(("svd", "svdvals", "pinv"), (NO_SVD,)),
}


def errors_of(function: Callable[..., Any], constants: dict[str, Any]) -> tuple[MatrixError, ...] | None:
    """Return the errors that a call may raise because of the values in its arrays; None if they are not known."""
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    if package == "numpy":
        return _OF_NUMPY.get(function.__name__)
    if package != "scipy":
        return None
    checks = () if constants.get("check_finite") is False else (NOT_FINITE_IN_SCIPY,)
    return (*checks, *_OF_SCIPY.get(function.__name__, ()))


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__name__}"


def named(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def error_in(*operands: Any, name: str, **constants: Any) -> tuple[np.int64, np.int64]:
    """Return which of its errors a function raises, counted from 1 (0 for none), and the integer in its text."""
    function = named(name)
    try:
        function(*operands, **constants)
    except (np.linalg.LinAlgError, ValueError) as error:
        for place, (kind, text) in enumerate(errors_of(function, constants) or (), 1):
            found = re.fullmatch(re.escape(text).replace(r"\{\}", r"(\d+)"), str(error))
            if type(error) is kind and found is not None:
                return np.int64(place), np.int64(found[1] if found.groups() else 0)
        raise BadInput(
            f"{function.__name__} raised {type(error).__name__}: {error}, which compiled code cannot catch; call it outside of the try"
        ) from error
    return np.int64(0), np.int64(0)
