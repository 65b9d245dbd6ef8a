"""BLAS and LAPACK as SciPy wraps them: the meaning of each argument, and the arrays that are overwritten."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import KINDS, positive, random
from rule_tester import check_rule
from scipy.linalg import blas, lapack

import morula as mo
from morula.core.rules import find_rule
from morula.testing import check_gradients


def named(module, name, kind):
    return getattr(module, ("d" if kind == "real" else "z") + name)


@KINDS
def test_vectors(kind):
    x, y = random((3,), kind), random((3,), kind, 1)
    axpy, scal, copy = (named(blas, name, kind) for name in ("axpy", "scal", "copy"))
    check_gradients(lambda x, y, a: axpy(x, y * 1, 3, a), x, y, x[0].item())
    check_gradients(lambda a, x: scal(a, x * 1), x[0].item(), y)
    check_gradients(lambda x, y: copy(x, y * 1), x, y)
    for name in ("dot",) if kind == "real" else ("dotu", "dotc"):
        check_gradients(named(blas, name, kind), x, y)
    check_gradients(blas.dnrm2 if kind == "real" else blas.dznrm2, x)


def test_what_is_written_into_is_seen_through_every_name():
    def f(x, y):
        y = y * 1.0
        z = blas.daxpy(x, y, a=3.0)
        first = np.sum(y**2)  # y is z
        blas.dscal(2.0, y)
        return first + np.sum(z**3)

    check_gradients(f, random((3,)), random((3,), "real", 1))


def test_the_rotation_that_makes_a_zero():
    check_gradients(lapack.dlartg, 3.0, 4.0)
    check_gradients(lapack.dlartg, -0.5, 0.2)


@KINDS
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_matrices(trans, kind):
    a, b, c = random((2, 3), kind), random((2, 3), kind, 1), random((3, 3), kind, 2)
    alpha, beta = b[0, 0].item(), c[0, 0].item()
    gemv, gemm = named(blas, "gemv", kind), named(blas, "gemm", kind)
    x, y = (b[:, 0], c[0]) if trans else (c[0], b[:, 0])
    check_gradients(lambda alpha, a, x, beta, y: gemv(alpha, a, x, beta, y, trans=trans), alpha, a, x, beta, y, order=1)
    b = b if trans else c
    check_gradients(lambda alpha, a, b: gemm(alpha, a, b, trans_a=trans), alpha, a, b, order=1)
    check_gradients(lambda b, a, c: gemm(2.0, c, a, 0.5, c, trans_b=trans), b, c, c + 1, order=1)


@KINDS
def test_outer_products(kind):
    x, y, a = random((2,), kind), random((3,), kind, 1), random((2, 3), kind, 2)
    for name in ("ger",) if kind == "real" else ("geru", "gerc"):
        f = named(blas, name, kind)
        check_gradients(lambda x, y, a, f=f: f(2.0, x * 1, y * 1, a=a), x, y, a)


@pytest.mark.parametrize("lower", [0, 1])
def test_symmetric_updates(lower):
    a, x, y = random((3, 3)), random((3,)), random((3,), "real", 1)
    check_gradients(lambda a, x, y: blas.dsymv(2.0, a, x, 0.5, y, lower=lower), a, x, y)
    check_gradients(lambda s, x, a: blas.dsyr(s, x, a=a, lower=lower), 2.0, x, a)
    check_gradients(lambda s, x, y, a: blas.dsyr2(s, x, y, a=a, lower=lower), 2.0, x, y, a)


@KINDS
@pytest.mark.parametrize("lower", [0, 1])
def test_factors_and_solutions_of_one_triangle(lower, kind):
    a, b = positive((3, 3), kind), random((3, 2), kind)
    call = lambda name: named(lapack, name, kind)  # noqa: E731
    check_gradients(lambda a: call("potrf")(a, lower)[0], a, order=1)
    check_gradients(lambda a: call("potrf")(a, lower, clean=0)[0], a, order=1)
    check_gradients(lambda a, b: call("potrs")(a, b, lower)[0], a, b, order=1)
    check_gradients(lambda a, b: call("posv")(a, b, lower)[1], a, b, order=1)
    check_gradients(lambda a, b: call("trtrs")(a, b, lower, 2)[0], a, b, order=1)
    for unit in (0, 1):
        check_gradients(lambda a, unit=unit: call("trtri")(a, lower, unit)[0], a, order=1)


@KINDS
def test_factors_and_solutions(kind):
    a, b = random((3, 3), kind), random((3, 2), kind, 1)
    call = lambda name: named(lapack, name, kind)  # noqa: E731
    check_gradients(lambda a: call("getrf")(a)[0], a, order=1)
    check_gradients(lambda a, b: call("getrs")(*call("getrf")(a, overwrite_a=1)[:2], b, 2)[0], a, b, order=1)
    check_gradients(lambda a, b: call("gesv")(a, b)[2], a, b, order=1)
    for lower in (0, 1):
        check_gradients(lambda a, b, lower=lower: call("sysv")(a, b, lower=lower)[2], a, b, order=1)
    check_gradients(lambda a, b: call("gesv")(a, b)[0], a, b, order=1)
    d, e = random((3,), kind) + 5, random((2,), kind)
    check_gradients(lambda e, d, b: call("gtsv")(e, d, 2 * e, b)[3], e, d, b, order=1)
    bands = random((4, 3), kind)
    bands[2] += 5
    check_gradients(lambda ab, b: call("gbsv")(1, 1, ab, b)[2], bands, b, order=1)


def test_a_failed_factorisation_is_refused():
    with pytest.raises(mo.NoDerivative, match="potrf"):
        mo.grad(lambda a: np.sum(lapack.dpotrf(a)[0]))(-np.eye(2))


TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


def routines(letter):
    """The routines of one type that write into no argument, and that give a derivative of all of their results."""
    kind = "complex" if letter in "cz" else "real"
    number = 1.5 - 0.5j if letter in "cz" else 1.5
    u, v, a, b, spd, lower = (
        x.astype(TYPES[letter])
        for x in (
            *(random((2,), kind), random((2,), kind, 1), random((2, 2), kind), random((2, 2), kind, 1)),
            *(positive((2, 2), kind) + 2 * np.eye(2), np.tril(random((2, 2), kind))),
        )
    )
    yield {"s": "snrm2", "d": "dnrm2", "c": "scnrm2", "z": "dznrm2"}[letter], (u,)
    for names, args in {
        "gemv symv": (number, a, u, 0.5, v),
        "gemm": (number, a, b, 0.5, b),
        "ger geru gerc": (number, u, v, 1, 1, a, 0, 0),
        "syr": (number, u, 1, 1, 0, 2, a),
        "syr2": (number, u, v, 1, 1, 0, 1, 0, 2, a),
        "dot dotu dotc": (u, v),
        "lartg": (3.0, 4.0),
        "potrf getrf": (spd,),
        "posv gesv": (spd, b),
        "trtri": (lower, 1),
        "trtrs": (lower, b[:, :1], 1),
        "potrs": (lower, b[:, :1], 1),
        "getrs": (a, np.array([1, 1]), b[:, :1]),
    }.items():
        yield from ((letter + name, args) for name in names.split())


ROUTINES = [
    (getattr(module, name), args)
    for letter in TYPES
    for name, args in routines(letter)
    for module in (blas, lapack)
    if find_rule(getattr(module, name, None))
]


def name(x):
    return getattr(x, "__name__", "")


@pytest.mark.parametrize(("routine", "args"), ROUTINES, ids=name)
def test_a_routine_of_each_type(routine, args):
    tolerance = 2e-3 if routine.__name__.startswith(("function s", "function c")) else 1e-7
    check_rule(routine, *args, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("routine", "args"), [r for r in ROUTINES if r[0].__name__.startswith("function d")], ids=name)
def test_a_routine_of_real_numbers_takes_the_real_parts_of_complex_arrays(routine, args):
    args = [x * (1 + 0.25j) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in args]
    check_rule(routine, *args, order=1)
