"""Schur forms by LAPACK, and equations between matrices of that form, without Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.dynamic import Operation, Value
from ...ir.matrix_errors import NO_SCHUR_FORM, REORDERED, REORDERED_PAIR
from ...rules import kept_decompositions
from .assembly import Code
from .elements import Element, convert, element, is_complex, literal, register, registers
from .factorisations import BLOCK, emits_where, options_of, put_matrix, put_vector, real_part
from .function import FunctionCode
from .lapack import Columns, Lapack
from .linear_algebra import check_finite, entries, failed
from .real_functions import apply

BOOL, INTEGER = np.dtype(bool), np.dtype(np.int32)


def _is_unsorted(op: Operation) -> bool:
    return options_of(op).get("sort") is None


@emits_where("scipy.linalg._decomp_schur.schur", _is_unsorted, False)
def _schur(f: FunctionCode, op: Operation) -> None:
    (a,), code = op.positional, f.code
    check_finite(f, op)
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    dtype, n = op.results[0].type.dtype, a.type.shape[0]
    lapack, real = Lapack(f, dtype), real_part(dtype)
    form, vectors, dimension = lapack.matrix(n, n), lapack.matrix(n, n), lapack.integers(1)
    size = (3 + BLOCK) * n
    work = lapack.vector(size, dtype)
    if is_complex(dtype):
        values, last = [lapack.vector(n, dtype)], [lapack.vector(n, real)]
    else:
        values, last = [lapack.vector(n, dtype), lapack.vector(n, dtype)], []
    entry = entries(f, f.array(a), dtype, 0)
    form.fill(code, lambda i, j: entry([], i, j))
    unused = dimension  # a function that selects eigenvalues, and a vector of truth values
    status = lapack.call(
        "gees", "V", "N", unused, n, form, n, dimension, *values, vectors, n, work, size, *last, unused
    )
    f.fail_if(failed(f, status), *NO_SCHUR_FORM)
    put_matrix(code, out[0], [], form)
    put_matrix(code, out[1], [], vectors)


def copied(f: FunctionCode, lapack: Lapack, value: Value) -> Columns:
    n = value.type.shape[0]
    found, entry = lapack.matrix(n, n), entries(f, f.array(value), lapack.dtype, 0)
    found.fill(f.code, lambda i, j: entry([], i, j))
    return found


@emits_where("morula.core.rules.scipy_schur.reordered_schur", lambda op: True, False, "fdFD?")
def _reordered_schur(f: FunctionCode, op: Operation) -> None:
    _, t, z, selected = op.positional
    code, (dtype, n) = f.code, (t.type.dtype, t.type.shape[0])
    out = [f.memory(v) for v in op.results[:2]]
    f.values.update(zip(op.results, out))
    lapack = Lapack(f, dtype)
    form, vectors = copied(f, lapack, t), copied(f, lapack, z)
    chosen, given, count = lapack.integers(n), f.array(selected), lapack.integers(1)
    code.nest([str(n)], lambda i: chosen.store_flat(code, i[0], convert(code, given.load(code, i), BOOL, INTEGER)))
    number = lapack.vector(1, real_part(dtype))
    values = [lapack.vector(n, dtype)] * (1 if is_complex(dtype) else 2)
    work, last = lapack.vector(n, dtype), [] if is_complex(dtype) else [lapack.integers(1), 1]
    status = lapack.call(
        "trsen", "N", "V", chosen, n, form, n, vectors, n, *values, count, number, number, work, n, *last
    )
    f.fail_if(failed(f, status), *REORDERED)
    put_matrix(code, out[0], [], form)
    put_matrix(code, out[1], [], vectors)
    kind = op.results[2].type.dtype
    f.values[op.results[2]] = convert(code, count.compute_flat(code, "0"), INTEGER, kind)


def _letter(turn: str, dtype: np.dtype) -> str:
    return "N" if turn == "N" else "C" if is_complex(dtype) else "T"


@emits_where(kept_decompositions.triangular_equation, lambda op: True, False)
def _triangular_equation(f: FunctionCode, op: Operation) -> None:
    t, s, q = op.positional
    code, dtype, options = f.code, q.type.dtype, options_of(op)
    (m, n), out = q.type.shape, f.memory(op.results[0])
    f.values[op.results[0]] = out
    lapack = Lapack(f, dtype)
    left, right, solution = copied(f, lapack, t), copied(f, lapack, s), lapack.matrix(m, n)
    entry, scale = entries(f, f.array(q), dtype, 0), lapack.vector(1, real_part(dtype))
    solution.fill(code, lambda i, j: entry([], i, j))
    turns = [_letter(options[name], dtype) for name in ("turn_t", "turn_s")]
    lapack.call("trsyl", *turns, 1, m, n, left, m, right, n, solution, m, scale)
    factor = scale.compute_flat(code, "0")
    code.nest([str(m), str(n)], lambda ij: out.store(code, ij, _scaled(code, solution.load(code, *ij), factor, dtype)))


def _scaled(code: Code, x: Element, factor: str, dtype: np.dtype) -> Element:
    kind = register(real_part(dtype))
    return element([code.value(f"fmul {kind} {part}, {factor}") for part in registers(x)], dtype)


# Generalised Schur forms


def _qz(f: FunctionCode, op: Operation) -> None:
    """``qz``, and ``ordqz``, which moves the eigenvalues that its ``sort`` selects to the first places."""
    a, b = op.positional
    check_finite(f, op)
    code, n, is_sorted = f.code, a.type.shape[0], op.callee.__name__ == "ordqz"
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    dtype = op.results[0].type.dtype
    lapack, real = Lapack(f, dtype), real_part(dtype)
    forms = [lapack.matrix(n, n) for _ in range(2)]
    for form, given in zip(forms, (a, b)):
        entry = entries(f, f.array(given), dtype, 0)
        form.fill(code, lambda i, j, entry=entry: entry([], i, j))
    left, right, count = lapack.matrix(n, n), lapack.matrix(n, n), lapack.integers(1)
    alpha = [lapack.vector(n, dtype) for _ in range(1 if is_complex(dtype) else 2)]
    beta, size = lapack.vector(n, dtype), (8 + BLOCK) * n + 16
    work, last = lapack.vector(size, dtype), [lapack.vector(8 * n, real)] if is_complex(dtype) else []
    pair = forms[0], n, forms[1], n
    vectors = left, n, right, n
    status = lapack.call(
        "gges", "V", "V", "N", count, n, *pair, count, *alpha, beta, *vectors, work, size, *last, count
    )
    f.fail_if(failed(f, status), *NO_SCHUR_FORM)
    if is_sorted:
        chosen, numbers = lapack.integers(n), lapack.vector(4, real)
        sort = str(options_of(op).get("sort", "lhp"))

        def choose(i: list[str]) -> None:
            parts = [part for x in alpha for part in registers(x.compute_flat(code, i[0]))]
            is_chosen = _is_selected(code, real, sort, parts, registers(beta.compute_flat(code, i[0]))[0])
            chosen.store_flat(code, i[0], convert(code, is_chosen, BOOL, INTEGER))

        code.nest([str(n)], choose)
        given = 0, 1, 1, chosen, n, *pair, *alpha, beta, *vectors, count, numbers, numbers, numbers
        status = lapack.call("tgsen", *given, work, size, lapack.integers(n + 6), n + 6)
        f.fail_if(failed(f, status), *REORDERED_PAIR)
        values = [part for part in alpha]
        first = lambda i: values[0].compute_flat(code, i[0])  # noqa: E731
        pairs = first if is_complex(dtype) else lambda i: (first(i), values[1].compute_flat(code, i[0]))
        code.nest([str(n)], lambda i: out[2].store(code, i, pairs(i)))
        code.nest([str(n)], lambda i: out[3].store(code, i, beta.compute_flat(code, i[0])))
    for memory, found in zip((*out[:2], *out[-2:]), (*forms, left, right)):
        put_matrix(code, memory, [], found)


def _is_selected(code: Code, real: np.dtype, sort: str, alpha: Sequence[str], beta: str) -> str:
    """Whether an eigenvalue alpha / beta is one of those that SciPy's ``sort`` names; LAPACK's beta is not negative."""
    kind, zero, one = register(real), literal(0, real), literal(1, real)
    is_finite = code.value(f"fcmp une {kind} {beta}, {zero}")
    parts = [code.value(f"fdiv {kind} {part}, {beta}") for part in alpha]
    if sort in ("lhp", "rhp"):
        found = code.value(f"fcmp {'olt' if sort == 'lhp' else 'ogt'} {kind} {parts[0]}, {zero}")
    else:
        found = code.value(
            f"fcmp {'olt' if sort == 'iuc' else 'ogt'} {kind} {apply(code, np.hypot, real, parts)}, {one}"
        )
    if sort != "ouc":
        return code.value(f"and i1 {is_finite}, {found}")
    is_zero = [code.value(f"fcmp oeq {kind} {part}, {zero}") for part in alpha]
    nothing = code.value(f"and i1 {is_zero[0]}, {is_zero[1]}")
    infinite = code.value(f"xor i1 {nothing}, true")
    return code.value(f"select i1 {is_finite}, i1 {found}, i1 {infinite}")


def _is_named(op: Operation) -> bool:
    kinds, options = [v.type.dtype for v in op.positional], options_of(op)
    return kinds[0] == kinds[1] and options.get("sort", "lhp") in (None, "lhp", "rhp", "iuc", "ouc")


for _name in ("qz", "ordqz"):
    emits_where(f"scipy.linalg._decomp_qz.{_name}", _is_named, False)(_qz)


# Balancing by powers of two


@emits_where(
    "scipy.linalg._basic.matrix_balance",
    lambda op: options_of(op).get("separate") and not options_of(op).get("permute", True) and len(op.results) == 3,
    False,
)
def _matrix_balance(f: FunctionCode, op: Operation) -> None:
    code, a = f.code, op.positional[0]
    check_finite(f, op)
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    lapack, n = Lapack(f, a.type.dtype), a.type.shape[0]
    matrix, scale = copied(f, lapack, a), lapack.vector(n, real_part(a.type.dtype))
    job = "S" if options_of(op).get("scale", True) else "N"
    lapack.call("gebal", job, n, matrix, n, lapack.integers(1), lapack.integers(1), scale)
    put_matrix(code, out[0], [], matrix)
    put_vector(code, out[1], [], scale, n)
    kind = op.results[2].type.dtype
    code.nest([str(n)], lambda i: out[2].store(code, i, convert(code, i[0], np.dtype(np.int64), kind)))
