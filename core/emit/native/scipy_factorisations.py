"""Factorisations of ``scipy.linalg`` with their options by LAPACK, without Python: Hermitian eigenvalues, singular values, QR,
factors of indefinite matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from ...ir.matrix_errors import NO_SVD, NOT_DEFINITE_PAIR, WITHOUT_EIGENVALUES
from ...rules.scipy_indefinite import indefinite_factors
from .assembly import Code
from .elements import Element, convert, is_complex
from .factorisations import BLOCK, emits_where, options_of, put_matrix, put_vector, real_part, select_element
from .function import FunctionCode
from .lapack import Columns, Lapack
from .linear_algebra import check_finite, entries

INTEGER = np.dtype(np.int32)

# Hermitian eigenvalues, also of pairs, all or those of some indices


def _is_for_lapack(op: Operation) -> bool:
    options, kinds = options_of(op), [v.type for v in op.positional]
    return (
        len({k.dtype for k in kinds}) == 1
        and kinds[0].dtype.char in "fdFD"
        and options.get("subset_by_value") is None
        and not (options.get("driver") and options.get("subset_by_index") and options["driver"] not in _BY_INDEX)
    )


_BY_INDEX = ("evr", "evx", "gvx")


def _eigh(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    a, *others = op.positional
    code, options = f.code, options_of(op)
    dtype, n = a.type.dtype, a.type.shape[0]
    has_vectors = len(op.results) == 2
    out = [f.memory(r) for r in op.results]
    f.values.update(zip(op.results, out))
    lapack, real, is_pair = Lapack(f, dtype), real_part(dtype), bool(others)
    matrices = [lapack.matrix(n, n) for _ in op.positional]
    for matrix, given in zip(matrices, op.positional):
        entry = entries(f, f.array(given), dtype, 0)
        matrix.fill(code, lambda i, j, entry=entry: entry([], i, j))
    subset = options.get("subset_by_index")
    driver = options.get("driver") or (("gvx" if subset else "gvd") if is_pair else "evr")
    letters = "V" if has_vectors else "N", "L" if options.get("lower", True) else "U"
    values, vectors, count = lapack.vector(n, real), matrices[0], n
    pair = [x for matrix in matrices for x in (matrix, n)]
    first: list[Any] = [int(options.get("type", 1))] if is_pair else []
    if driver in _BY_INDEX:
        low, high = (1, n) if subset is None else (int(subset[0]) + 1, int(subset[1]) + 1)
        count = high - low + 1
        vectors = lapack.matrix(n, n)
        middle = [letters[0], "I" if subset else "A", letters[1], n, *pair, 0.0, 1.0, low, high, 0.0]
        middle += [lapack.integers(1), values, vectors, n]
    else:
        middle = [*letters, n, *pair, values]
    status = lapack.call(
        ("he" if is_complex(dtype) else "sy") + driver, *first, *middle, *_workspace(lapack, driver, n, real)
    )
    if is_pair:
        minor = code.value(f"sub i32 {status}, {n}")
        is_minor = code.value(f"icmp sgt i32 {minor}, 0")
        f.fail_if(is_minor, *NOT_DEFINITE_PAIR, [(minor, INTEGER)])
    f.fail_if(code.value(f"icmp ne i32 {status}, 0"), *WITHOUT_EIGENVALUES)
    put_vector(code, out[0], [], values, count)
    if has_vectors:
        put_matrix(code, out[1], [], Columns(vectors.memory, n, count))


def _workspace(lapack: Lapack, driver: str, n: int, real: np.dtype) -> list[Any]:
    """The last arguments of a driver: room for numbers, and how much."""
    complex_ = is_complex(lapack.dtype)
    in_blocks = (8 + BLOCK) * n
    if driver in ("ev", "gv"):
        return [lapack.vector(in_blocks, lapack.dtype), in_blocks, *[lapack.vector(3 * n, real)] * complex_]
    if driver in ("evd", "gvd"):
        size = (2 * n + n * n if complex_ else 1 + 6 * n + 2 * n * n) + BLOCK * n
        of_reals = 1 + 5 * n + 2 * n * n
        reals: list[Any] = [lapack.vector(of_reals, real), of_reals] if complex_ else []
        return [lapack.vector(size, lapack.dtype), size, *reals, lapack.integers(3 + 5 * n), 3 + 5 * n]
    if driver == "evr":
        size = (26 + BLOCK) * n
        reals = [lapack.vector(24 * n, real), 24 * n] if complex_ else []
        work = [lapack.vector(size, lapack.dtype), size, *reals, lapack.integers(10 * n), 10 * n]
        return [lapack.integers(2 * n), *work]
    reals = [lapack.vector(7 * n, real)] if complex_ else []
    return [lapack.vector(in_blocks, lapack.dtype), in_blocks, *reals, lapack.integers(5 * n), lapack.integers(n)]


for _name in ("eigh", "eigvalsh"):
    emits_where(f"scipy.linalg._decomp.{_name}", _is_for_lapack, False)(_eigh)


# Singular values


def _svd(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    (a,), code, options = op.positional, f.code, options_of(op)
    dtype, (m, n) = a.type.dtype, a.type.shape
    k, has_vectors = min(m, n), len(op.results) == 3
    letter = "N" if not has_vectors else "A" if options.get("full_matrices", True) else "S"
    out = [f.memory(r) for r in op.results]
    f.values.update(zip(op.results, out))
    lapack, real = Lapack(f, dtype), real_part(dtype)
    matrix, values, entry = lapack.matrix(m, n), lapack.vector(k, real), entries(f, f.array(a), dtype, 0)
    matrix.fill(code, lambda i, j: entry([], i, j))
    left = lapack.matrix(m, m if letter == "A" else k) if has_vectors else lapack.matrix(1, 1)
    right = lapack.matrix(n if letter == "A" else k, n) if has_vectors else lapack.matrix(1, 1)
    size = 5 * k * k + 9 * k + max(m, n) + BLOCK * (m + n + 2 * k)
    work = lapack.vector(size, dtype)
    places = m, n, matrix, m, values, left, left.rows, right, right.rows, work, size
    if options.get("lapack_driver", "gesdd") == "gesvd":
        status = lapack.call("gesvd", letter, letter, *places, *[lapack.vector(5 * k, real)] * is_complex(dtype))
    else:
        reals = [lapack.vector(max(5 * k * k + 7 * k, 2 * max(m, n) * k + 2 * k * k + k), real)] * is_complex(dtype)
        status = lapack.call("gesdd", letter, *places, *reals, lapack.integers(8 * k))
    f.fail_if(code.value(f"icmp ne i32 {status}, 0"), *NO_SVD)
    if has_vectors:
        put_matrix(code, out[0], [], left)
        put_matrix(code, out[2], [], right)
    put_vector(code, out[1 if has_vectors else 0], [], values, k)


def _has_lapacks_dtype(op: Operation) -> bool:
    return op.positional[0].type.dtype.char in "fdFD"


for _name in ("svd", "svdvals"):
    emits_where(f"scipy.linalg._decomp_svd.{_name}", _has_lapacks_dtype, False)(_svd)


# QR


def _has_factors(op: Operation) -> bool:
    return _has_lapacks_dtype(op) and options_of(op).get("mode", "full") in ("full", "qr", "r", "economic")


@emits_where("scipy.linalg._decomp_qr.qr", _has_factors, False)
def _qr(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    (a,), code, options = op.positional, f.code, options_of(op)
    dtype, (m, n) = a.type.dtype, a.type.shape
    k, is_pivoted = min(m, n), bool(options.get("pivoting"))
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    has_q = options.get("mode", "full") != "r"
    columns = op.results[0].type.shape[1] if has_q else 0
    lapack = Lapack(f, dtype)
    matrix, tau, entry = lapack.matrix(m, max(n, columns)), lapack.vector(k, dtype), entries(f, f.array(a), dtype, 0)
    code.nest([str(n), str(m)], lambda ji: matrix.store(code, ji[1], ji[0], entry([], ji[1], ji[0])))
    size = (3 + BLOCK) * max(n, columns) + 1
    work = lapack.vector(size, dtype)
    if is_pivoted:
        order = lapack.integers(n)
        code.nest([str(n)], lambda i: order.store_flat(code, i[0], "0"))
        reals = [lapack.vector(2 * n, real_part(dtype))] * is_complex(dtype)
        lapack.call("geqp3", m, n, matrix, m, order, tau, work, size, *reals)
        kind = op.results[-1].type.dtype

        def put(i: list[str]) -> None:
            column = code.value(f"sub i32 {order.compute_flat(code, i[0])}, 1")
            out[-1].store(code, i, convert(code, column, INTEGER, kind))

        code.nest([str(n)], put)
    else:
        lapack.call("geqrf", m, n, matrix, m, tau, work, size)
    place = 1 if has_q else 0
    rows = op.results[place].type.shape[0]
    code.nest([str(rows), str(n)], lambda ij: out[place].store(code, ij, _above(code, matrix, ij, dtype)))
    if has_q:
        lapack.call("ungqr" if is_complex(dtype) else "orgqr", m, columns, k, matrix, m, tau, work, size)
        put_matrix(code, out[0], [], Columns(matrix.memory, m, columns))


def _above(code: Code, matrix: Columns, ij: list[str], dtype: np.dtype) -> Element:
    inside = code.value(f"icmp sle i64 {ij[0]}, {ij[1]}")
    return select_element(code, inside, matrix.load(code, ij[0], ij[1]), dtype)


# Symmetric and Hermitian matrices that are not definite


@emits_where(indefinite_factors, lambda op: True, False, "fdFD")
def _indefinite_factors(f: FunctionCode, op: Operation) -> None:
    (a,), code, options = op.positional, f.code, options_of(op)
    dtype, n = a.type.dtype, a.type.shape[0]
    out = [f.memory(r) for r in op.results]
    f.values.update(zip(op.results, out))
    lapack, entry = Lapack(f, dtype), entries(f, f.array(a), dtype, 0)
    factors, exchanged = lapack.matrix(n, n), lapack.integers(n)
    factors.fill(code, lambda i, j: entry([], i, j))
    name = "hetrf" if options["hermitian"] and is_complex(dtype) else "sytrf"
    letter = "L" if options["lower"] else "U"
    lapack.call(name, letter, n, factors, n, exchanged, lapack.vector(BLOCK * n, dtype), BLOCK * n)
    put_matrix(code, out[0], [], factors)
    kind = op.results[1].type.dtype
    code.nest(
        [str(n)],
        lambda i: out[1].store(code, i, convert(code, exchanged.compute_flat(code, i[0]), INTEGER, kind)),
    )
