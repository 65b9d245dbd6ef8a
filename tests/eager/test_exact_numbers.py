"""Programs that go through exact numbers (``Fraction``, SymPy): what they cost, and what their derivative is."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest
import sympy

import morula as mo
from morula.core.eager.unrecorded.watched import Watch

METRE, SECOND = sympy.Symbol("m", positive=True), sympy.Symbol("s", positive=True)
SCALES = {METRE: 1000.0, SECOND: 60.0}
STATE = SimpleNamespace()


class Strange(Fraction):
    """An exact number whose methods read and store values that are elsewhere."""

    __hash__ = Fraction.__hash__

    def __mul__(self, other):
        return STATE.x * 2.0

    def __add__(self, other):
        STATE.left = STATE.x * 3.0
        return Fraction(1, 2)

    def __float__(self):
        return STATE.x * 5.0


class Length:
    def __init__(self, metres):
        self.metres = metres

    def __mul__(self, other):
        return self.metres * float(other)


def product(x):
    STATE.x = x
    return Strange(1) * 3


def conversion(x):
    STATE.x = x
    return float(Strange(1))


def left_behind(x):
    STATE.x = x
    Strange(1) + 2
    return STATE.left


def joined_later(x):
    y = Strange(1) * 3
    return x * y


@pytest.mark.parametrize("program", [product, conversion, left_behind])
def test_what_a_method_of_an_exact_number_computes_from_elsewhere_is_not_taken_for_a_constant(program):
    with pytest.raises(mo.NoDerivative, match="was called by code written in C"):
        mo.grad(program)(2.0)


def test_what_it_computes_from_constants_is_a_constant():
    STATE.x = 2.0
    assert mo.grad(joined_later)(3.0) == 4.0


def test_an_object_times_an_exact_number_is_recorded():
    assert mo.value_and_grad(lambda x: Length(x) * Fraction(1, 2))(3.0) == (1.5, 0.5)


def units(x):
    unit = (METRE / SECOND) ** 2 * SECOND
    scale = 1.0
    for base, power in unit.as_powers_dict().items():
        scale *= SCALES[base] ** float(power)
    return x * scale if unit.is_positive and hash(unit) == hash(METRE**2 / SECOND) else 0.0


def test_arithmetic_of_symbols_is_not_compared_with_everything_in_reach(monkeypatch):
    """SymPy stores nothing outside of its expressions, so nothing around them is searched for new values."""
    mo.grad(units)(2.0)  # SymPy loads some of its modules
    searched = []
    search = Watch.search
    monkeypatch.setattr(Watch, "search", lambda watch, code: (searched.append(code), search(watch, code)))
    assert mo.value_and_grad(units)(2.0) == (units(2.0), units(1.0))
    assert not searched


def test_a_number_inside_a_changed_matrix_of_sympy_is_refused():
    def program(x):
        m = sympy.zeros(1, 1)
        m[0, 0] = x
        return float(m[0, 0])

    with pytest.raises(mo.NoDerivative):
        mo.grad(program)(2.0)


def test_a_number_inside_an_expression_of_sympy_is_refused():
    with pytest.raises(mo.NoDerivative):
        mo.grad(lambda x: float((sympy.Float(x) * METRE).subs(METRE, 3)))(2.0)
