"""``logging``: a program logs when it runs, with the levels and handlers of that time and the user's source lines."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.exceptions import Recipe, exception_of
from ..ir.places import calls_to, raised_at
from ..ir.traced_text import Text, braced, filled
from ..ir.typed import ArrayType, callback
from .arguments import has_traced
from .left_to_python import leave
from .raising import Raised
from .traced import Array, Scalar, Traced, always_traces

_DONE = ArrayType(np.dtype(np.int64), (), True)
_LEVELS = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error", "critical")}


class Caught:
    """The exceptions of which a handler has caught one, to be made when the program runs, with their tracebacks."""

    def __init__(self, trace: Any, raised: Raised) -> None:
        around = len(calls_to(trace.builder.line)) - 1  # a traceback begins with the function of the handler
        self.recipes = [Recipe(e, trace.contexts, lambda x: isinstance(x, Traced)) for e in raised.errors]
        self.calls = [calls_to(trace.line_of(e))[max(around, 0) :] for e in raised.errors]
        self.operands = [raised.which, *(x for recipe in self.recipes for x in recipe.values)]

    def info(self, which: Any, *values: Any) -> tuple[Any, Any, Any]:
        """Return what ``sys.exc_info()`` gives in the handler."""
        i = int(which)
        first = sum(len(recipe.values) for recipe in self.recipes[:i])
        recipe = self.recipes[i]
        error = exception_of(recipe.exception, recipe.text, values[first : first + len(recipe.values)])
        raised_at(error, self.calls[i])
        return type(error), error, error.__traceback__


class Logged:
    """The function that the program calls, with the numbers of the message, of its arguments, and of the exception.

    ``args`` holds a place for each argument: a known value, or the index and kind of a number of the program.
    """

    def __init__(
        self, logger: Any, level: int, text: Text, args: list[Any], place: tuple[str, str, int], caught: Caught | None
    ) -> None:
        self.logger, self.level, self.template, self.args, self.place = logger, level, text.template, args, place
        self.in_text = [x.type.weak for x in text.values]
        self.caught = caught
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
            info = None if self.caught is None else self.caught.info(*rest)
            record = self.logger.makeRecord(self.logger.name, self.level, filename, line, message, args, info, function)
            self.logger.handle(record)
        return np.asarray(0)


class Silent:
    """The guard of a program that leaves out what a logger does not log at a level, as its level is set now."""

    found = None

    def __init__(self, logger: Any, level: int) -> None:
        self.logger, self.level = logger, level

    def holds(self) -> bool:
        return not self.logger.isEnabledFor(self.level)


def _is_silent(trace: Any, logger: Any, level: int) -> bool:
    """Return whether nothing is logged, and guard that."""
    own = type(logger) in (logging.Logger, logging.RootLogger)
    if not own or logger is logging.root and not logger.handlers or logger.isEnabledFor(level):
        return False
    trace.outside.guards.setdefault(("logged", id(logger), level), Silent(logger, level))
    return True


def _shown(x: Any, is_python: bool) -> Any:
    shown = np.array(x)[()]
    return shown.item() if is_python else shown


def _log(
    trace: Any,
    logger: Any,
    level: int,
    message: Any,
    args: Any,
    stacklevel: int = 1,
    exc_info: Any = None,
    **options: Any,
) -> None:
    given = [name for name, x in options.items() if x]
    if given or not isinstance(level, int):
        raise BadInput(
            f"logging with {', '.join(given) or 'a level that is not a known int'} cannot be compiled; log only the text, with a "
            "constant level"
        )
    if _is_silent(trace, logger, level):
        return
    if trace.leaves_effects:
        return leave(trace)
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
    caught = caught_now(trace, exc_info)
    if caught is not None:
        operands += caught.operands
    calls = calls_to(trace.builder.line)
    place: Any = calls[-stacklevel] if 0 < stacklevel <= len(calls) else ("(unknown file)", "(unknown function)", 0)
    function = Logged(logger, level, text, kept, place, caught)
    trace.builder.call(callback, [trace.value(x) for x in operands], [_DONE], function=function)


def caught_now(trace: Any, exc_info: Any) -> Caught | None:
    """Return the exceptions that are logged; None if there is none."""
    if not isinstance(exc_info, (bool, int, BaseException, type(None))):
        raise BadInput(
            "logging with an exc_info that is neither True nor an exception cannot be compiled; pass exc_info=True in the handler"
        )
    if isinstance(exc_info, BaseException):
        return Caught(trace, Raised.of(exc_info))
    return Caught(trace, trace.handled[-1]) if exc_info and trace.handled else None


for _name, _level in _LEVELS.items():

    @always_traces(getattr(logging.Logger, _name))
    def _of_logger(trace: Any, logger: Any, msg: Any, *args: Any, _level: int = _level, **options: Any) -> None:
        _log(trace, logger, _level, msg, args, **options)

    @always_traces(getattr(logging, _name))
    def _of_root(trace: Any, msg: Any, *args: Any, _level: int = _level, **options: Any) -> None:
        _log(trace, logging.root, _level, msg, args, **options)


@always_traces(logging.Logger.exception)
def _exception(trace: Any, logger: Any, msg: Any, *args: Any, exc_info: Any = True, **options: Any) -> None:
    _log(trace, logger, logging.ERROR, msg, args, exc_info=exc_info, **options)


@always_traces(logging.exception)
def _exception_of_root(trace: Any, msg: Any, *args: Any, exc_info: Any = True, **options: Any) -> None:
    _log(trace, logging.root, logging.ERROR, msg, args, exc_info=exc_info, **options)


@always_traces(logging.Logger.log)
def _at_level(trace: Any, logger: Any, level: Any, msg: Any, *args: Any, **options: Any) -> None:
    _log(trace, logger, level, msg, args, **options)
