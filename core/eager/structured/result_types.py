"""The types of what functions of NumPy and SciPy return, given those of their operands.

Where the shapes of all arrays are known, that of the result is, too.  Functions that move or reduce entries are asked: they
run once, on arrays of zeros.  Functions of matrices are not, as they would refuse zeros; ``OF_MATRICES`` knows their shapes.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.dynamic import Operation, Value
from ...ir.vocabulary import largest, smallest
from ...rules.kept_factors import det_factored, inv_factored, slogdet_factored, solve_factored
from ...rules.methods import flatten
from ...rules.products import parse
from .types import NUMBER, PASSIVE, REAL, Type, array_type, tuple_type, type_of_result

ASKED = {
    *(np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.var, np.std, np.cumsum, np.cumprod, np.trace),
    *(np.reshape, np.ravel, np.transpose, np.matrix_transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims),
    *(np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.copy, np.flip, np.roll, np.tile, np.repeat),
    *(np.diag, np.diagonal, np.tril, np.triu, np.linalg.norm, np.diff, np.broadcast_to, np.outer, np.dot, np.inner),
    *(np.real, np.conj, np.atleast_1d, np.atleast_2d, flatten),
}
"""Functions of arrays and constants that move or reduce entries."""

MAKERS = {
    np.zeros,
    np.ones,
    np.empty,
    np.eye,
    np.identity,
    np.full,
    np.linspace,
    np.arange,
    np.zeros_like,
    np.ones_like,
}
"""Functions without a derivative that make arrays of the shape that they are told."""

SINGLE = ASKED | {
    *(np.matmul, operator.matmul, np.vdot, np.tensordot, np.einsum, np.kron, np.where, np.array, np.asarray, np.take),
    *(np.sort, np.clip, operator.getitem, float, np.imag, np.abs, abs, operator.abs, largest, smallest),
}
"""Functions whose rule is not a table of partial derivatives and whose result is one number or array."""

Shape = tuple[int, ...]


def solution(a: Shape, b: Shape) -> Shape:
    return b if len(b) == 1 else (*np.broadcast_shapes(a[:-2], b[:-2]), a[-1], b[-1])


def _svd(a: Shape, full_matrices: bool = True, compute_uv: bool = True, **options: Any) -> Any:
    *stack, m, n = a
    k = min(m, n)
    if not compute_uv:
        return (*stack, k)
    rows, columns = (m, n) if full_matrices else (k, k)
    return [(*stack, m, rows), (*stack, k), (*stack, columns, n)]


def _qr(a: Shape, mode: str = "reduced") -> Any:
    *stack, m, n = a
    k = m if mode == "complete" else min(m, n)
    return [(*stack, m, k), (*stack, k, n)] if mode in ("reduced", "complete") else (*stack, min(m, n), n)


WITHOUT_COPIES = ("overwrite_a", "overwrite_b")

OF_MATRICES: dict[Any, tuple[int, tuple[str, ...], Callable[..., Any]]] = {
    np.linalg.solve: (2, (), solution),
    np.linalg.inv: (1, (), lambda a: a),
    np.linalg.det: (1, (), lambda a: a[:-2]),
    np.linalg.cholesky: (1, ("upper",), lambda a, **options: a),
    np.linalg.pinv: (1, ("rcond", "rtol", "hermitian"), lambda a, **options: (*a[:-2], a[-1], a[-2])),
    np.linalg.slogdet: (1, (), lambda a: [a[:-2], a[:-2]]),
    np.linalg.eigh: (1, ("UPLO",), lambda a, **options: [a[:-1], a]),
    np.linalg.eigvalsh: (1, ("UPLO",), lambda a, **options: a[:-1]),
    np.linalg.svd: (1, ("full_matrices", "compute_uv"), _svd),
    np.linalg.svdvals: (1, (), lambda a: (*a[:-2], min(a[-2:]))),
    np.linalg.qr: (1, ("mode",), _qr),
    np.linalg.lstsq: (2, ("rcond",), lambda a, b, **options: [(a[1], *b[1:]), None, (), (min(a),)]),
    solve_factored: (3, (), lambda a, b, f: solution(a, b)),
    inv_factored: (2, (), lambda a, f: a),
    det_factored: (2, (), lambda a, f: a[:-2]),
    slogdet_factored: (2, (), lambda a, f: [a[:-2], a[:-2]]),
}
"""The number of arrays, the names of further arguments, and the shapes of results by those of the arrays."""

OF_SCIPY: dict[str, tuple[int, tuple[str, ...], Callable[..., Any]]] = {
    "solve": (
        2,
        ("lower", *WITHOUT_COPIES, "check_finite", "assume_a", "transposed"),
        lambda a, b, **options: solution(a, b),
    ),
    "solve_triangular": (
        2,
        ("trans", "lower", "unit_diagonal", "overwrite_b", "check_finite"),
        lambda a, b, **options: solution(a, b),
    ),
    "inv": (1, ("overwrite_a", "check_finite"), lambda a, **options: a),
    "det": (1, ("overwrite_a", "check_finite"), lambda a, **options: a[:-2]),
    "cholesky": (1, ("lower", "overwrite_a", "check_finite"), lambda a, **options: a),
    "expm": (1, (), lambda a: a),
    "svdvals": (1, ("overwrite_a", "check_finite"), lambda a, **options: (*a[:-2], min(a[-2:]))),
}
"""The same for functions of ``scipy.linalg``, by name: SciPy is loaded when a program uses it.

Functions that return factors, or solve with them, are not among them: the tape keeps the matrix beside its factors, and
their adjoints cost less by it (see ``libraries.scipy_linalg``)."""


def of_matrices(callee: Any) -> Any:
    """Return the entry of a function of matrices, or None."""
    if callee in OF_MATRICES:
        return OF_MATRICES[callee]
    name = getattr(callee, "__name__", "")
    module = sys.modules.get("scipy.linalg")
    return OF_SCIPY.get(name) if module is not None and getattr(module, name, None) is callee else None


NAMES = {
    np.linalg.slogdet: ("sign", "logabsdet"),
    slogdet_factored: ("sign", "logabsdet"),
    np.linalg.eigh: ("eigenvalues", "eigenvectors"),
    np.linalg.svd: ("U", "S", "Vh"),
    np.linalg.qr: ("Q", "R"),
}

TO_ONE_NUMBER = (np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.linalg.norm)
"""Functions that reduce an array, if it is the only argument, to one real number."""


class Unknown(Exception):
    """The value or the shape of an operand is not known while compiling."""


def stand_in(value: Value | None, kind: Type) -> Any:
    """Return the constant that an operand is, or zeros of its shape.

    Raises:
        Unknown: its value is needed, or its shape is not known.
    """
    if value is not None and value.is_constant and not isinstance(value.constant, np.ndarray):
        return value.constant
    if kind.kind == "array" and kind.shape is not None:
        return np.broadcast_to(0.0, kind.shape)
    if kind.value is not None:
        return kind.value
    if kind.kind == "tuple":
        elements = [stand_in(None, e) for e in kind.elements]
        return elements if kind.is_list else tuple(elements)
    if kind.kind == "shape" and kind.shape is not None:
        return kind.shape
    raise Unknown


def asked(op: Operation, types: Sequence[Type]) -> Type:
    """Run a function on stand-ins of its operands, and return the type of its result.

    Raises:
        Unknown: an operand has no stand-in, or the result is not one of float64.
    """
    given = [stand_in(x, kind) for x, kind in zip(op.operands, types)]
    count = len(op.positional)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            y = op.callee(*given[:count], **dict(zip(op.keywords, given[count:])))
    except Exception:  # the call raises when it runs
        raise Unknown from None
    if type(y) is np.float64 or type(y) is np.ndarray and y.dtype == np.float64 and y.ndim:
        return type_of_result(y.shape)
    raise Unknown


def holds_numbers(kind: Type) -> bool:
    """Whether a type is that of a list of numbers, which may all be Python ints."""
    return kind.kind == "tuple" and any(e.kind == "real" and e.value is None or holds_numbers(e) for e in kind.elements)


def is_integral(y: Any) -> bool:
    """Whether a list of numbers has become an array of integers."""
    return getattr(y, "dtype", np.dtype(float)).kind in "iu"


def of_maker(op: Operation, types: Sequence[Type]) -> Type:
    """Return the type of an array that a function makes, which has no derivative."""
    try:
        return asked(op, types)
    except Unknown:
        return PASSIVE


def elementwise_ndim(types: Sequence[Type]) -> Type:
    """Return the type of an array that an element-wise function of arrays and numbers returns.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    arrays = [t for t in types if t.kind == "array"]
    if any(t.kind == "passive" for t in types):
        return Type("array")
    if all(t.shape is not None for t in arrays):
        return array_type(np.broadcast_shapes(*(t.shape for t in arrays)))  # type: ignore[arg-type]
    ndims = [t.ndim for t in arrays]
    return Type("array", None if None in ndims else max(ndims))  # type: ignore[type-var]


def product_type(types: Sequence[Type]) -> Type:
    """Return the type of a product of matrices or vectors."""
    dims, shapes = [t.ndim for t in types], [t.shape for t in types]
    if None not in shapes and 0 not in dims:
        try:
            return type_of_result(np.matmul(*(np.broadcast_to(0.0, s) for s in shapes)).shape)  # type: ignore[arg-type]
        except ValueError:
            return NUMBER
    if None not in dims and max(dims) <= 2:  # type: ignore[type-var]
        ndim = sum(dims) - 2  # type: ignore[arg-type]
        return Type("array", ndim) if ndim else REAL
    return NUMBER


def einsum_type(op: Operation, types: Sequence[Type]) -> Type:
    (subscripts, *_), arrays = op.operands, types[1:]
    if op.keywords or not isinstance(subscripts.constant, str) or any(t.shape is None for t in arrays):
        return NUMBER
    indices, result = parse(subscripts.constant, [t.ndim for t in arrays])  # type: ignore[misc]
    lengths: dict[str, int] = {}
    for term, t in zip(indices, arrays):
        for letter, n in zip(term, t.shape):  # type: ignore[arg-type]
            lengths[letter] = max(n, lengths.get(letter, n))
    return type_of_result(tuple(lengths[letter] for letter in result)) if set(result) <= set(lengths) else NUMBER


def matrix_type(op: Operation, types: Sequence[Type]) -> Type | None:
    """Return the type of what a function of matrices returns; None if arguments are given that the table does not know."""
    count, names, shapes = of_matrices(op.callee)
    arrays, given = types[:count], op.positional[count:]
    if len(arrays) < count or len(given) > len(names) or not set(op.keywords) <= set(names):
        return None
    options = dict(zip(names, given)) | op.named
    if not all(v.is_constant for v in options.values()):
        return None
    known = all(t.kind == "array" and t.shape is not None or t.kind == "passive" for t in arrays)
    sample = [t.shape if known and t.shape is not None else (2, 2) for t in arrays]
    try:
        found = shapes(*sample, **{name: v.constant for name, v in options.items()})
    except (IndexError, ValueError, TypeError):  # the call raises when it runs
        return None
    if isinstance(found, list):
        return tuple_type(*(_one(s, known) for s in found), names=NAMES.get(op.callee, ()))
    return _one(found, known)


def _one(shape: Shape | None, is_known: bool) -> Type:
    return NUMBER if shape is None or not is_known else type_of_result(shape)


def single_type(op: Operation, types: Sequence[Type]) -> Type:
    """Return the type of what one of ``SINGLE`` returns."""
    callee, first = op.callee, types[0]
    if callee in TO_ONE_NUMBER and first.kind == "array" and len(types) == 1:
        return REAL
    if callee in (float, largest, smallest) or callee in (abs, operator.abs, np.abs) and first.kind == "real":
        return REAL
    if callee in (abs, operator.abs, np.abs) and first.kind == "array":
        return first
    if callee in (np.array, np.asarray) and len(types) == 1 and first.kind == "tuple":
        return array_type((len(first.elements),)) if {e.kind for e in first.elements} == {"real"} else NUMBER
    if callee in (np.dot, np.matmul, operator.matmul) and [t.kind for t in types] == ["array", "array"]:
        if callee is not np.dot or max(t.ndim or 3 for t in types) <= 2:
            return product_type(types)
    if callee is np.einsum and all(t.kind == "array" for t in types[1:]):
        return einsum_type(op, types)
    if callee in ASKED:
        try:
            return asked(op, types)
        except Unknown:
            pass
    return NUMBER
