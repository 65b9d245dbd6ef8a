"""Every function of NumPy and SciPy with a rule, of complex arguments: as ``docs/complex.md`` says.

Forward and reverse mode agree with differences in the real and the imaginary direction, and so satisfy the equations of Cauchy and
Riemann where the function is holomorphic.
"""

from __future__ import annotations

import cmath
import re

import numpy as np
import pytest
import rule_tester
import scipy
from complex_cases import (
    BY_HAND,
    MODULES,
    REFUSED,
    calls_of,
    complex_arguments,
    derivative,
    direction,
    few,
    inexact,
    is_single,
    leaves,
    names,
    untested,
    weighted,
    weights,
)
from docs_scripts import load
from path_tester import PATHS, run_on
from rule_paths import program_of

import morula as mo
from morula.core.testing.differences import rebuild_numbers, ridders
from morula.testing import check_gradients

UNTESTED = untested()
Z = np.array([1.3 + 0.4j, -0.7 - 1.1j, 0.2 + 0.9j])


@pytest.mark.parametrize(("name", "case"), UNTESTED, ids=[name for name, _ in UNTESTED])
def test_functions_whose_other_tests_have_real_arguments(name, case):
    rule_tester.check_rule(case.function, *case.args, known=case.active, **case.kwargs)


def _of_module(module):
    """A call of each function of a module, its name and a complex argument."""
    for holder, name, function in names():
        whole = f"{module}.{name}"
        if holder == module and whole not in REFUSED and whole not in BY_HAND:
            yield from ((whole, case, i) for case in few(calls_of(function)) for i in complex_arguments(case))


@pytest.mark.parametrize("module", MODULES)
def test_derivatives_along_a_direction_and_along_i_times_it(module):
    """The tangents, and the product of the gradient with the directions, are the derivatives that differences give."""
    wrong = []
    for name, case, i in _of_module(module):
        program, x = program_of(case.function, case.args, case.kwargs, (i,)), case.args[i]
        y, back = mo.pullback(program, x)
        drawn = iter(weights(inexact(y)))
        (g,) = back(rebuild_numbers(y, lambda _, e: _cotangent(e, drawn), other=lambda _: None))
        for unit in (1, 1j):
            v, expected = direction(x, unit), derivative(case, i, unit)
            tangent = weighted(inexact(y, mo.jvp(program, (x,), (v,))[1]))
            product = sum(float(np.sum(np.real(np.conj(a) * b))) for a, b in zip(leaves(g), leaves(v), strict=True))
            rtol = 1e-2 if is_single(case) else 1e-6
            close = {"rtol": rtol, "atol": rtol * max(1.0, abs(expected))}
            if not np.isclose(tangent, expected, **close) or not np.isclose(product, expected.real, **close):
                wrong.append(f"{name}, argument {i} along {unit}: {tangent}, {product}, not {expected}")
    assert not wrong, "\n".join(wrong)


def _cotangent(e, drawn):
    if np.asarray(e).dtype.kind not in "fc":
        return None
    return next(drawn).astype(e.dtype) if isinstance(e, np.ndarray) else type(e)(next(drawn))


def test_a_complex_argument_of_a_function_with_a_real_rule_is_refused():
    programs = [
        scipy.special.digamma,
        lambda z: scipy.special.airye(z)[0],
        lambda z: scipy.special.pbdn_seq(3, z)[0][1],
    ]
    for f in programs:
        with pytest.raises(mo.NoDerivative, match="real arguments only"):
            mo.grad(lambda z, f=f: np.real(f(z)))(0.7 + 0.1j)


def test_the_order_of_unique_values_does_not_matter():
    check_gradients(lambda z: np.sum(np.abs(np.unique_values(z) - 1) ** 2), Z)
    (g,) = mo.gradient(lambda z: np.real(np.unique_values(z)[0]), Z)
    assert np.sum(g) == 1 and Z[np.argmax(np.abs(g))] == np.unique_values(Z)[0]


def test_the_second_derivative_of_the_gamma_function_is_refused():
    for f in (scipy.special.gamma, scipy.special.loggamma, scipy.special.rgamma):
        with pytest.raises(mo.NoDerivative, match="digamma function of complex numbers.*real arguments only"):
            mo.grad(lambda z: np.abs(mo.grad(lambda z: np.real(f(z)))(z)))(1.5 + 0.3j)
        for run in (lambda g: g, lambda g: mo.jit(g, target="native")):
            with pytest.raises(mo.NoDerivative, match="digamma function of complex numbers"):
                run(lambda z, f=f: mo.taylor(f, z, 2))(1.5 + 0.3j)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2)], ids=str)
def test_singular_vectors_through_what_does_not_depend_on_phases(shape):
    random = np.random.default_rng(0)
    a, w = (random.normal(size=shape) + 1j * random.normal(size=shape) for _ in range(2))

    def loss(a):
        u, s, vh = scipy.linalg.svd(a, full_matrices=False)
        return np.sum(np.real(w * ((u * np.sin(s)) @ vh)))

    check_gradients(loss, a)


def test_the_page_is_up_to_date():
    """Other versions of the libraries have other functions; those in common have the same row."""
    docs = load("complex")
    columns = {module: {} for module in MODULES}
    written, module = docs.PAGE.read_text(), ""
    for line in written.splitlines():
        heading, row = re.match(r"## (.*)", line), re.match(r"\| `(.*?)` \| .* \| (.*?) \|$", line)
        module = heading[1] if heading else module
        if row:
            columns[module][row[1]] = row[2]
    made = docs.page(columns)
    if f"{np.__version__} and SciPy {scipy.__version__}." in written:
        assert written == made, "run: python docs/complex.py"
    rows = [set(re.findall(r"^\| `.*", text, flags=re.M)) for text in (written, made)]
    names_of = [{row.split("|")[1] for row in each} for each in rows]
    assert {r for r in rows[0] ^ rows[1] if r.split("|")[1] in names_of[0] & names_of[1]} == set(), (
        "run: python docs/complex.py"
    )
    tried = [(calls, columns[m][name]) for m in MODULES for name, kind, _, calls in docs.rows(m) if kind]
    assert all(docs.compiled(calls) == text for calls, text in tried[::12])


def slope_of(f):
    """The derivative at 0 of a complex function of a real number."""
    return complex(*(ridders(lambda t: float(part(f(t))), 0.02)[0] for part in (np.real, np.imag)))


ON_REAL_CUTS = [complex(2.0, 0.0), complex(2.0, -0.0), complex(-2.0, 0.0), complex(-2.0, -0.0)]
ON_IMAGINARY_CUTS = [complex(z.imag, z.real) for z in ON_REAL_CUTS]
CUTS = [
    *[(f, z, 1.0) for f in (np.arcsin, np.arccos, np.arccosh, np.arctanh, np.log, np.sqrt) for z in ON_REAL_CUTS],
    *[
        (f, z, 1.0)
        for f in (cmath.asin, cmath.acos, cmath.acosh, cmath.atanh, cmath.log, cmath.sqrt)
        for z in ON_REAL_CUTS
    ],
    *[(f, z, 1j) for f in (np.arcsinh, np.arctan, cmath.asinh, cmath.atan) for z in ON_IMAGINARY_CUTS],
]


@pytest.mark.parametrize("path", PATHS)
def test_both_sides_of_branch_cuts(path):
    """The sign of a zero says which side a number is on; differences are taken along the cut."""

    def tangents(zs):
        return [(f(z), *mo.jvp(f, (z,), (unit,))) for (f, _, unit), z in zip(CUTS, zs)]

    wrong = []
    for (f, z, unit), (plain, y, dy) in zip(CUTS, run_on(path)(tangents)([z for _, z, _ in CUTS])):
        e = f(z)
        at = (lambda t: complex(z.real + t, z.imag)) if unit == 1 else (lambda t: complex(z.real, z.imag + t))
        expected = slope_of(lambda t, f=f, at=at: f(at(t)))
        if path == "xla" and not np.isclose(plain, e):
            continue  # XLA's functions ignore the sign of a zero
        if not np.allclose([plain, y, dy], [e, e, expected], rtol=1e-6):
            wrong.append(f"{f.__name__}({z}) = {plain}, {y}, not {e}; the tangent {dy}, not {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", PATHS)
def test_a_real_argument_beyond_the_branch_point(path):
    for f, x in ((cmath.acos, 2.0), (cmath.asin, -2.0), (cmath.acosh, 0.5), (cmath.acosh, -2.0)):
        expected = slope_of(lambda t, f=f, x=x: f(x + t))
        _, dy = run_on(path)(lambda x, f=f: mo.jvp(f, (x,), (1.0,)))(x)
        np.testing.assert_allclose(dy, expected, rtol=1e-6, atol=1e-9)
