"""``warnings.warn``: a program warns when it runs, with the texts and at the lines of the Python program.

``warnings.catch_warnings`` and the filters set inside of it belong to the program: they are entered while compiling, and
put around each warning of the program when it runs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.dynamic import Block
from ..ir.places import calls_to
from ..ir.traced_text import Text, braced, filled
from ..ir.typed import ArrayType, callback
from .filters import UNKNOWN, action, own_filters
from .float_errors import follow
from .logged import Logged
from .traced import EFFECTS, traces

_DONE = ArrayType(np.dtype(np.int64), (), True)


class Warned:
    """The function that the program calls, with the numbers of the text."""

    def __init__(
        self, text: Text, made: Any, place: tuple[str, int], filters: list[Any], space: dict[str, Any]
    ) -> None:
        self.template, self.is_python = text.template, [x.type.weak for x in text.values]
        self.made, self.place, self.filters, self.space = made, place, filters, space
        self.__name__ = "warn"

    def __call__(self, *values: Any) -> Any:
        shown = [np.array(x)[()] for x in values]
        text = filled(self.template, [x.item() if weak else x for x, weak in zip(shown, self.is_python)])
        message = self.made(text) if isinstance(self.made, type) else self.made
        module = self.space.get("__name__", self.place[0])
        registry = self.space.setdefault("__warningregistry__", {})
        if not self.filters:
            warnings.warn_explicit(message, None, *self.place, module, registry)  # type: ignore[arg-type]
        else:
            with warnings.catch_warnings():
                present: Any = warnings.filters
                present[:0] = self.filters
                warnings._filters_mutated()  # type: ignore[attr-defined]
                warnings.warn_explicit(message, None, *self.place, module, registry)  # type: ignore[arg-type]
        return np.asarray(0)


@traces(warnings.warn)
def warn(trace: Any, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **_: Any) -> None:
    if isinstance(message, Warning):
        category, told = type(message), message.args[0] if len(message.args) == 1 else None
        if not isinstance(told, Text):
            told, category = "", message
    else:
        told, category = message, UserWarning if category is None else category
    kind = category if isinstance(category, type) else type(category)
    if not issubclass(kind, Warning) or not isinstance(told, (str, Text)):
        raise TypeError(f"category must be a Warning subclass, not '{kind.__name__}'")
    filters = own_filters(trace)
    calls = calls_to(trace.builder.line)
    place = calls[-stacklevel] if 0 < stacklevel <= len(calls) else ("sys", "", 1)  # as Python says
    spaces = [scope.globals for scope in trace.scopes if scope.filename == place[0]]
    space = spaces[-1] if spaces else {}
    known = told if isinstance(told, str) and isinstance(category, type) else None
    how = action(filters, kind, known, space.get("__name__", place[0]), place[2])
    if how == "error":
        error = category(told) if isinstance(category, type) else category
        trace.chain(error)
        raise error
    if how == "ignore" or trace.recorded and how != UNKNOWN:
        return
    if how == UNKNOWN and (trace.recorded or trace.sees(kind)):
        raise BadInput(
            "what a warning filter in compiled code does depends on a text of numbers that are not known while compiling; leave out "
            "message="
        )
    text = told if isinstance(told, Text) else Text(braced(told), [])
    function = Warned(text, category, (place[0], place[2]), filters, space)
    trace.builder.call(callback, [trace.value(x) for x in text.values], [_DONE], function=function)


EFFECTS.add(warnings.warn)


def _filtering(function: Any) -> None:
    @traces(function)
    def apply(trace: Any, *args: Any, **kwargs: Any) -> None:
        if not trace.filters or trace.filter_regions[-1] is not trace.region:
            raise BadInput(
                f"warnings.{function.__name__} in compiled code must stand directly in a `with warnings.catch_warnings()`, not under a "
                "condition or in a loop; set filters that outlive the function before its call"
            )
        function(*args, **kwargs)
        follow(trace)

    EFFECTS.add(function)


_filtering(warnings.simplefilter)
_filtering(warnings.filterwarnings)


def without_warnings(block: Block) -> None:
    """Remove the warnings and log records of a block whose statements are interpreted again."""
    block.operations[:] = [op for op in block.operations if not is_warning(op)]
    for op in block.operations:
        for inner in op.blocks:
            without_warnings(inner)


def is_warning(op: Any) -> bool:
    return op.kind == "call" and op.callee is callback and isinstance(op.named["function"].constant, (Warned, Logged))
