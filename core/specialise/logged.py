"""``logging``: a program logs when it runs, with the levels and handlers of that time and the user's source lines."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.places import calls_to
from ..ir.traced_text import Text, braced, filled
from ..ir.typed import ArrayType, callback
from .arguments import has_traced
from .traced import Array, Scalar, always_traces

_DONE = ArrayType(np.dtype(np.int64), (), True)
_LEVELS = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error", "critical")}


class Logged:
    """The function that the program calls, with the numbers of the message and of its arguments.

    ``args`` holds a place for each argument: a known value, or the index and kind of a number of the program.
    """

    def __init__(self, logger: Any, level: int, text: Text, args: list[Any], place: tuple[str, str, int]) -> None:
        self.logger, self.level, self.template, self.args, self.place = logger, level, text.template, args, place
        self.in_text = [x.type.weak for x in text.values]
        self.__name__ = "log"

    def __call__(self, *values: Any) -> Any:
        if self.logger is logging.root and not self.logger.handlers:
            logging.basicConfig()
        if self.logger.isEnabledFor(self.level):
            inside = (_shown(x, weak) for x, weak in zip(values, self.in_text))
            rest = iter(values[len(self.in_text) :])
            args = tuple(_shown(next(rest), x.weak) if isinstance(x, ArrayType) else x for x in self.args)
            filename, function, line = self.place
            message = filled(self.template, inside)
            record = self.logger.makeRecord(self.logger.name, self.level, filename, line, message, args, None, function)
            self.logger.handle(record)
        return np.asarray(0)


def _shown(x: Any, is_python: bool) -> Any:
    shown = np.array(x)[()]
    return shown.item() if is_python else shown


def _log(trace: Any, logger: Any, level: int, message: Any, args: Any, stacklevel: int = 1, **options: Any) -> None:
    given = [name for name, x in options.items() if x]
    if given or not isinstance(level, int):
        raise BadInput(
            f"logging with {', '.join(given) or 'a level that is not a known int'} cannot be compiled; log only the text, with a "
            "constant level"
        )
    text = message if isinstance(message, Text) else Text(braced(str(message)), [])
    operands, kept = list(text.values), []
    for x in args:
        if isinstance(x, (Array, Scalar)):
            operands.append(x)
            kept.append(x.type)
        elif has_traced((x,)):
            raise BadInput(
                "logging a container or a string with values that are not known while compiling cannot be compiled; log its parts"
            )
        else:
            kept.append(x)
    calls = calls_to(trace.builder.line)
    place: Any = calls[-stacklevel] if 0 < stacklevel <= len(calls) else ("(unknown file)", "(unknown function)", 0)
    function = Logged(logger, level, text, kept, place)
    trace.builder.call(callback, [trace.value(x) for x in operands], [_DONE], function=function)


for _name, _level in _LEVELS.items():

    @always_traces(getattr(logging.Logger, _name))
    def _of_logger(trace: Any, logger: Any, msg: Any, *args: Any, _level: int = _level, **options: Any) -> None:
        _log(trace, logger, _level, msg, args, **options)

    @always_traces(getattr(logging, _name))
    def _of_root(trace: Any, msg: Any, *args: Any, _level: int = _level, **options: Any) -> None:
        _log(trace, logging.root, _level, msg, args, **options)


@always_traces(logging.Logger.log)
def _at_level(trace: Any, logger: Any, level: Any, msg: Any, *args: Any, **options: Any) -> None:
    _log(trace, logger, level, msg, args, **options)
