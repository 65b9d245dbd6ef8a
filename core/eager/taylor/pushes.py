"""How each kind of record maps the series of its operands to those of its results.

Records that move or write numbers, and calls of code that cannot be followed, act on each coefficient as on a tangent. The series of
a function with a rule is a small program (``programs``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import NoDerivative
from ...rules.connected import connected
from ...rules.table import Rule
from ...source.definitions import describe
from ..arrays import apply, models, plain_calls
from ..arrays.apply import unknown_operands
from ..forward.pushes import PUSHES
from ..forward.transposed import varies
from ..recorded.tape import Record, unknown_derivative
from ..unrecorded.opaque import refusal
from .custom import series_by_pullback
from .programs import series_of_call
from .tables import SERIES, Coefficients


def series_of(*kinds: Any) -> Callable[[Any], Any]:
    def register(body: Any) -> Any:
        SERIES.update(dict.fromkeys(kinds, body))
        return body

    return register


def _each(push: Callable[..., None]) -> Callable[[Coefficients, Record], None]:
    def push_each(series: Coefficients, record: Record) -> None:
        for part in series.parts:
            push(part, record)

    return push_each


SERIES.update({kind: _each(push) for kind, push in PUSHES.items() if kind is not None})


@series_of(apply.pull_back, plain_calls.pull_elementwise)
def _by_rule(series: Coefficients, record: Record) -> None:
    _, y, rule, args, kwargs = record
    unknown = unknown_operands(rule, args, kwargs) if kwargs or None in rule.given else []
    if any(series.varies(x) for x in unknown):
        place = series.tape.places.get(id(y))
        return series.lose(y, lambda: unknown_derivative(rule.function, place))
    if any(series.varies(x) for x in args):
        _set_series(series, y, rule, args, kwargs)


@series_of(apply.pull_back_binary)
def _by_binary_rule(series: Coefficients, record: Record) -> None:
    _, y, rule, a, b = record
    if series.varies(a) or series.varies(b):
        _set_series(series, y, rule, (a, b), {})


def _set_series(series: Coefficients, y: Any, rule: Rule, args: Any, kwargs: dict[str, Any]) -> None:
    try:
        result, found = series_of_call(series.tape.parent, rule.function, args, kwargs, series)
    except NoDerivative:  # not of this call as a program: its pullback runs
        try:
            return series_by_pullback(series, y, rule, args, kwargs)
        except NoDerivative as error:
            refused = error
        except (ArithmeticError, ValueError) as error:  # also of singular matrices
            refused = NoDerivative(f"no Taylor series of {describe(rule.function)} can be derived here: {error}")
        return series.lose(y, lambda: refused)
    _spread(series, y, result, iter(found))


def _spread(series: Coefficients, y: Any, result: Any, found: Any) -> None:
    """Set the series of the numbers and arrays of a result."""
    if isinstance(result, tuple):
        for e, part in zip(y, result):
            _spread(series, e, part, found)
    elif result is not None and hasattr(result, "type"):
        coefficients = next(found)
        if coefficients is not None:
            series.set(y, coefficients)


@series_of(models.pull_back_model)
def _model(series: Coefficients, record: Record) -> None:
    _, y, model, args, _, active, opaque = record
    if not any(series.varies(args[i]) for i in active):
        return
    given = [tuple(part.get(x) for x in args) for part in series.parts]
    try:
        _, *found = connected.run_taylor(series.tape.parent, model.program, tuple(args), given)
    except (TypeError, ValueError, IndexError, AttributeError):
        return series.lose(y, lambda: refusal(opaque))  # the model does not cover these arguments
    series.set(y, found)


NO_SERIES = (
    "no Taylor series can be derived of an operation on an array of objects, or of a call with a pullback of its own; use arrays of "
    "numbers, or mo.jvp"
)


@series_of(None)
def _unknown(series: Coefficients, record: Record) -> None:
    y = record[1]
    if any(varies(part, record) for part in series.parts):
        series.lose(y, lambda: NoDerivative(NO_SERIES))
