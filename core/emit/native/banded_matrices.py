"""Hermitian bands, tridiagonal matrices and Hessenberg forms of ``scipy.linalg`` by LAPACK, without Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from ...ir.matrix_errors import BANDED_MINOR, BANDED_MINOR_OF_FACTOR, MatrixError
from .elements import convert, is_complex, literal, register
from .factorisations import BLOCK, emits_where, options_of, put_matrix, put_vector, real_part, select_element
from .function import FunctionCode
from .lapack import Columns, Lapack
from .linear_algebra import System, check_finite, entries, failed
from .reductions import fold

INTEGER = np.dtype(np.int32)


def _copied(f: FunctionCode, op: Operation, lapack: Lapack) -> Columns:
    """Return the first operand in LAPACK's order."""
    (rows, columns), entry = op.positional[0].type.shape, entries(f, f.array(op.positional[0]), lapack.dtype, 0)
    found = lapack.matrix(rows, columns)
    found.fill(f.code, lambda i, j: entry([], i, j))
    return found


def _outputs(f: FunctionCode, op: Operation) -> list[Any]:
    out = [f.memory(v) for v in op.results]
    f.values.update(zip(op.results, out))
    return out


# Equations with Hermitian bands


def _has_lapacks_result(op: Operation) -> bool:
    return op.results[0].type.dtype.char in "fdFD"


@emits_where("scipy.linalg._basic.solveh_banded", _has_lapacks_result, False)
def _solveh_banded(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    system, code = System.of(f, op), f.code
    lapack, n, columns = Lapack(f, system.dtype), system.n, system.columns
    band, sides = _copied(f, op, lapack), lapack.matrix(n, columns)
    sides.fill(code, lambda i, j: system.right([], i, j))
    letter = "L" if options_of(op).get("lower") else "U"
    status = lapack.call("pbsv", letter, n, band.rows - 1, columns, band, band.rows, sides, n)
    f.fail_if(failed(f, status), *BANDED_MINOR, [(status, INTEGER)])
    system.store([], lambda i, j: sides.load(code, i, j))


@emits_where("scipy.linalg._decomp_cholesky.cholesky_banded", _has_lapacks_result, False, "fdFD")
def _cholesky_banded(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    lapack, (out,) = Lapack(f, op.positional[0].type.dtype), _outputs(f, op)
    band = _copied(f, op, lapack)
    letter = "L" if options_of(op).get("lower") else "U"
    status = lapack.call("pbtrf", letter, band.columns, band.rows - 1, band, band.rows)
    f.fail_if(failed(f, status), *BANDED_MINOR_OF_FACTOR, [(status, INTEGER)])
    put_matrix(f.code, out, [], band)


# Eigenvalues of bands and of three diagonals


def _range(op: Operation, n: int) -> tuple[int, int] | None:
    """The numbers of the first and the last eigenvalue that a call selects, counted from 1; None for all."""
    options = options_of(op)
    if options.get("select", "a") in ("a", "all", 0):
        return None
    first, last = options["select_range"]
    return int(first) + 1, int(last) + 1


def _is_selected(op: Operation) -> bool:
    """Whether a call is for all eigenvalues or for some by their numbers."""
    return options_of(op).get("select", "a") in ("a", "all", 0, "i", "index", 2)


def _not_converged(driver: str) -> MatrixError:
    return np.linalg.LinAlgError, f"{driver} did not converge (LAPACK info={{}})"


def _eig_banded(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    code, options, dtype = f.code, options_of(op), op.positional[0].type.dtype
    lapack, real, out = Lapack(f, dtype), real_part(dtype), _outputs(f, op)
    band, n = _copied(f, op, lapack), op.positional[0].type.shape[1]
    has_vectors, chosen = len(out) == 2, _range(op, n)
    letters = "V" if has_vectors else "N", "L" if options.get("lower") else "U"
    vectors = lapack.matrix(n, n) if has_vectors else lapack.matrix(1, 1)
    values, count = lapack.vector(n, real), n
    given, name = (n, band.rows - 1, band, band.rows), "hb" if is_complex(dtype) else "sb"
    if chosen is None:
        size, integers = 1 + 5 * n + 2 * n * n, 3 + 5 * n
        reals: list[Any] = [lapack.vector(size, real), size] if is_complex(dtype) else []
        last = [lapack.vector(size, dtype), size, *reals, lapack.integers(integers), integers]
        name = f"{name}evd"
        status = lapack.call(name, *letters, *given, values, vectors, vectors.rows, *last)
    else:
        count = chosen[1] - chosen[0] + 1
        limit = lapack.vector(3, real)
        tolerance = [float(2 * np.finfo(real).tiny), lapack.integers(1), values, vectors, vectors.rows]
        reals = [lapack.vector(7 * n, real)] if is_complex(dtype) else []
        work = [lapack.vector(7 * n, dtype), *reals, lapack.integers(5 * n), lapack.integers(n)]
        band_q = [lapack.matrix(n, n), n, limit, limit, *chosen]
        code.nest(["3"], lambda i: limit.store_flat(code, i[0], literal(0, real)))
        name = f"{name}evx"
        status = lapack.call(name, letters[0], "I", letters[1], *given, *band_q, *tolerance, *work)
    f.fail_if(failed(f, status), *_not_converged(name), [(status, INTEGER)])
    put_vector(code, out[0], [], values, count)
    if has_vectors:
        put_matrix(code, out[1], [], Columns(vectors.memory, n, count))


for _name in ("eig_banded", "eigvals_banded"):
    emits_where(f"scipy.linalg._decomp.{_name}", _is_selected, False, "fdFD")(_eig_banded)


_OF_ALL = ("auto", "stevd", "stev", "sterf")


def _has_driver(op: Operation) -> bool:
    """Whether a call is of real numbers of one dtype, and its driver one that SciPy takes by default, or with the same results."""
    driver, is_whole = options_of(op).get("lapack_driver", "auto"), _range(op, 0) is None if _is_selected(op) else False
    kinds = {v.type.dtype.char for v in op.positional}
    return (
        _is_selected(op) and len(kinds) == 1 and kinds <= {"f", "d"} and len(op.positional) == 2
        and driver in (_OF_ALL if is_whole else ("auto", "stebz"))
    )  # fmt: skip


def _eigh_tridiagonal(f: FunctionCode, op: Operation) -> None:
    check_finite(f, op)
    code, dtype, n = f.code, op.positional[0].type.dtype, op.positional[0].type.shape[0]
    lapack, out = Lapack(f, dtype), _outputs(f, op)
    has_vectors, chosen = len(out) == 2, _range(op, n)
    vectors = lapack.matrix(n, n) if has_vectors else lapack.matrix(1, 1)
    given = []
    for value in op.positional:
        vector, array = lapack.vector(n, dtype), f.array(value)
        code.nest(
            array.lengths, lambda i, vector=vector, array=array: vector.store_flat(code, i[0], array.load(code, i))
        )
        given.append(vector)
    if chosen is None:
        given_driver = str(options_of(op).get("lapack_driver", "auto"))
        driver = "stev" if given_driver == "stev" else "stevd"
        size, integers = 1 + 4 * n + n * n, 3 + 5 * n
        work: list[Any] = [lapack.vector(size, dtype)]
        work += [size, lapack.integers(integers), integers] * (driver == "stevd")
        status = lapack.call(driver, "V" if has_vectors else "N", n, *given, vectors, vectors.rows, *work)
        f.fail_if(failed(f, status), *_not_converged(f"{driver} (eigh_tridiagonal)"), [(status, INTEGER)])
        put_vector(code, out[0], [], given[0], n)
        if has_vectors:
            put_matrix(code, out[1], [], vectors)
        return
    count, values = chosen[1] - chosen[0] + 1, lapack.vector(n, dtype)
    blocks, ends, total = lapack.integers(n), lapack.integers(n), lapack.integers(1)
    limits = 0.0, 1.0, *chosen, float(options_of(op).get("tol", 0.0))
    work = [lapack.vector(5 * n, dtype), lapack.integers(3 * n)]
    order = "B" if has_vectors else "E"
    status = lapack.call(
        "stebz", "I", order, n, *limits, *given, total, lapack.integers(1), values, blocks, ends, *work
    )
    f.fail_if(failed(f, status), *_not_converged("stebz (eigh_tridiagonal)"), [(status, INTEGER)])
    if not has_vectors:
        put_vector(code, out[0], [], values, count)
        return
    status = lapack.call("stein", n, *given, count, values, blocks, ends, vectors, n, *work, lapack.integers(n))
    text = "stein (eigh_tridiagonal) {} eigenvectors failed to converge"
    f.fail_if(failed(f, status), np.linalg.LinAlgError, text, [(status, INTEGER)])

    def put(j: list[str]) -> None:
        """The eigenvalues of each block are in order: write one to its place among all."""
        x, kind = values.compute_flat(code, j[0]), register(dtype)

        def before(i: list[str], carried: list[str]) -> list[str]:
            y = values.compute_flat(code, i[0])
            is_less = code.value(f"fcmp olt {kind} {y}, {x}")
            is_equal = code.value(f"fcmp oeq {kind} {y}, {x}")
            is_first = code.value(f"icmp slt i64 {i[0]}, {j[0]}")
            is_before = code.value(f"or i1 {is_less}, {code.value(f'and i1 {is_equal}, {is_first}')}")
            return [code.add(carried[0], code.value(f"zext i1 {is_before} to i64"))]

        (at,) = fold(code, [str(count)], before, ["i64"], ["0"])
        out[0].store(code, [at], x)
        code.nest([str(n)], lambda i: out[1].store(code, [i[0], at], vectors.load(code, i[0], j[0])))

    code.counted("0", str(count), 1, lambda j: put([j]) or (), [], [])


for _name in ("eigh_tridiagonal", "eigvalsh_tridiagonal"):
    emits_where(f"scipy.linalg._decomp.{_name}", _has_driver, False, "fd")(_eigh_tridiagonal)


# Hessenberg forms


@emits_where("scipy.linalg._decomp.hessenberg", _has_lapacks_result, False, "fdFD")
def _hessenberg(f: FunctionCode, op: Operation) -> None:
    """SciPy neither permutes nor scales the matrix; one of two rows is its own form."""
    check_finite(f, op)
    code, dtype, n = f.code, op.positional[0].type.dtype, op.positional[0].type.shape[0]
    lapack, out = Lapack(f, dtype), _outputs(f, op)
    matrix, tau, size = _copied(f, op, lapack), lapack.vector(n, dtype), BLOCK * (n + BLOCK + 1)
    work = lapack.vector(size, dtype)
    is_form = n <= 2
    if not is_form:
        lapack.call("gehrd", n, 1, n, matrix, n, tau, work, size)

    def put(ij: list[str]) -> None:
        inside = code.value(f"icmp sle i64 {ij[0]}, {code.add(ij[1], '1')}")
        out[0].store(code, ij, select_element(code, inside, matrix.load(code, *ij), dtype))

    code.nest([str(n), str(n)], put)
    if len(out) == 1:
        return
    if is_form:
        kind = out[1].dtype

        def unit(ij: list[str]) -> None:
            is_one = code.value(f"icmp eq i64 {ij[0]}, {ij[1]}")
            out[1].store(code, ij, convert(code, is_one, np.dtype(bool), kind))

        code.nest([str(n), str(n)], unit)
        return
    lapack.call("unghr" if is_complex(dtype) else "orghr", n, 1, n, matrix, n, tau, work, size)
    put_matrix(code, out[1], [], matrix)
