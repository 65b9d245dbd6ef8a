"""QUADPACK's adaptive integrals, differentiated as the quadrature sum over the final intervals.

QUADPACK divides the range of integration until Gauss-Kronrod rules of 21 points (15 on a half-line, after
x = bound + (1-t)/t) agree; R. Piessens et al., "QUADPACK", 1983.  With the intervals fixed, the integral is a weighted
sum of values of the integrand; this sum is recorded.  Where QUADPACK extrapolates its result from several such sums,
the derivative of one sum would be less accurate than the result, so it is refused.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate import _quadpack  # type: ignore[attr-defined]
from scipy.integrate._quad_vec import _quadrature_gk15, _quadrature_gk21

from ...rules.registry import handles
from ...values.numbers import call_on
from ..recorded.call import call
from ..recorded.custom import distinct
from ..recorded.tape import Tape, pass_on
from ..unrecorded.opaque import INSTEAD, note


class Integrand:
    """The integrand as a function of one variable, mapped to the unit interval for an integral up to infinity."""

    def __init__(self, function: Any, args: tuple[Any, ...], bound: Any = None, infinite: int = 0) -> None:
        self.function, self.args, self.bound, self.infinite = function, args, bound, infinite

    def __call__(self, t: float) -> Any:
        return self.__morula_call__(Tape(), t)

    def __morula_call__(self, tape: Tape, t: Any) -> Any:
        if not self.infinite:
            return call(tape, self.function, t, *self.args)
        far = (1 - t) / t
        signs = (1, -1) if self.infinite == 2 else (self.infinite,)
        values = [call(tape, self.function, call(tape, operator.add, self.bound, s * far), *self.args) for s in signs]
        return call(tape, operator.truediv, call(tape, sum, values), t * t)


def _sum(tape: Tape, rule: Any, integrand: Integrand, ends: list[tuple[Any, Any]]) -> Any:
    return call(tape, sum, [call(tape, rule, lower, upper, integrand, abs)[0] for lower, upper in ends])


def _run(tape: Tape, solver: Any, given: list[Any], place: int) -> tuple[tuple[Any, ...], list[tuple[float, float]]]:
    """Return the integrator's result with ``full_output``, and its final intervals."""
    found = call_on(tape.parent, solver, *given[:place], 1, *given[place + 1 :])
    report = found[2]
    return found, list(zip(report["alist"][: report["last"]].tolist(), report["blist"][: report["last"]].tolist()))


def _result(tape: Tape, solver: Any, given: list[Any], found: tuple[Any, ...], full_output: Any, total: Any) -> Any:
    """Return the integrator's result; its value gets the derivative of ``total`` if the two agree."""
    value, error, report, ier = found
    y = call_on(tape.parent, distinct, value)
    if ier or not np.isclose(float(total), value, rtol=1e-8, atol=1e-13):
        note(tape, y, solver, tuple(given))
    else:
        tape.records.append((pass_on, y, total))
    return (y, error, report, ier) if full_output else (y, error, ier)


@handles(_quadpack._qagse)
def integrate(tape: Tape, f: Any, a: Any, b: Any, args: Any, full_output: Any, *accuracy: Any) -> Any:
    given = [f, a, b, args, full_output, *accuracy]
    found, intervals = _run(tape, _quadpack._qagse, given, 4)
    width = call(tape, operator.sub, b, a)

    def moved(x: float) -> Any:
        """Return an end of an interval as a function of ``a`` and ``b``: it moves in proportion."""
        share = (x - float(a)) / (float(b) - float(a))
        return call(tape, operator.add, a, call(tape, operator.mul, width, share))

    ends = [(a, b)] if float(a) == float(b) else [(moved(lower), moved(upper)) for lower, upper in intervals]
    total = _sum(tape, _quadrature_gk21, Integrand(f, args), ends)
    return _result(tape, _quadpack._qagse, given, found, full_output, total)


@handles(_quadpack._qagpe)
def integrate_piecewise(
    tape: Tape, f: Any, a: Any, b: Any, points: Any, args: Any, full_output: Any, *accuracy: Any
) -> Any:
    given = [f, a, b, points, args, full_output, *accuracy]
    found, intervals = _run(tape, _quadpack._qagpe, given, 5)
    ends = [(a if lower == float(a) else lower, b if upper == float(b) else upper) for lower, upper in intervals]
    total = _sum(tape, _quadrature_gk21, Integrand(f, args), ends)
    return _result(tape, _quadpack._qagpe, given, found, full_output, total)


@handles(_quadpack._qagie)
def integrate_to_infinity(
    tape: Tape, f: Any, bound: Any, infinite: int, args: Any, full_output: Any, *accuracy: Any
) -> Any:
    given = [f, bound, infinite, args, full_output, *accuracy]
    found, ends = _run(tape, _quadpack._qagie, given, 4)
    total = _sum(tape, _quadrature_gk15, Integrand(f, args, bound, infinite), ends)
    return _result(tape, _quadpack._qagie, given, found, full_output, total)


for _module, _name in (
    *(("_odepack", "lsoda"), ("_lsoda", "lsoda"), ("_odepack", "odeint"), ("_dop", "dopri5"), ("_dop", "dop853")),
    *(("_dop", "dopri853"), ("_vode", "dvode"), ("_vode", "zvode")),
):
    _solver = getattr(getattr(scipy.integrate, _module, None), _name, None)  # SciPy's releases differ in these
    INSTEAD[_solver] = "scipy.integrate.solve_ivp with method='RK45', 'DOP853', 'Radau' or 'BDF'"
