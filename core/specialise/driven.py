"""Compiled code of a library that calls Python functions: a root finder, an integrator.

``drive`` runs such code as one call at run time.  What it calls back is the body of a loop that the compiled code drives, as
often as it likes: the functions are traced as a loop's iteration is, so that they may change variables and objects, and
raise exceptions that the program catches.  The body is compiled when it is first called.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ..ir.dynamic import Block, Function, Value
from ..ir.typed import callback, debug_print
from ..passes.inline import free_values
from ..rules import find_rule
from .builtin_functions import SPECIAL
from .drivers import Driver
from .loops import Loop
from .slots import Slot
from .traced import Array, Traced


def drive(
    solver: Callable[..., Any],
    functions: tuple[Callable[[Any], Any], ...],
    points: tuple[Any, ...],
    results: Callable[..., tuple[Any, ...]],
    *given: Any,
) -> Any:
    """Return ``solver(functions, *given)``, which Python runs; only a program calls it, not Python.

    Args:
        solver: a Python function that runs compiled code; it returns a tuple.
        functions: functions of one argument, which return a number or an array of floats.
        points: for each function, a value of the type that it is called with.
        results: called with a value of the type of each function's result; returns values of the types of the result.
        *given: further arguments of ``solver``.
    """
    raise NotImplementedError


class _Driven(Loop):
    """A loop whose iterations compiled code makes."""

    def __init__(
        self,
        trace: Any,
        step: Callable[[Any], Any],
        slots: list[Slot],
        driver: Driver,
        held: dict[str, Any],
        results: Any,
    ) -> None:
        super().__init__(trace, step, None, True, slots)
        self.driver, self.held, self.results_for = driver, held, results
        self.made: list[Value] = []

    def append(
        self, body: Block, index: Value, parameters: list[Value], initial: list[Value], made: list[Value]
    ) -> None:
        trace, driver = self.trace, self.driver

        def place(holder: Any, key: str) -> int:
            slot = next(s for s in self.slots if s.holder is holder and s.key == key)
            return parameters.index(slot.parameters[0])

        count = sum(key[0] == "x" for key in self.held)
        driver.places = [(place(self.held, f"x{k}"), place(self.held, f"y{k}")) for k in range(count)]
        driver.which = place(self.held, "which") if "which" in self.held else None
        driver.go = place(self.go, "go")
        driver.count = len(parameters)
        around = free_values(body, set(parameters))
        body.parameters = []
        driver.function = Function(driver.__name__, [*parameters, *around], body)
        ys = [trace.wrap(Value("y", parameters[y].type)) for _, y in driver.places]
        with trace.builder.writing([]):
            driver.results = [trace.value(x).type for x in trace.call(self.results_for, *ys)]
        operands = [trace.value(x) for x in driver.given if isinstance(x, Traced)]
        types = [*driver.results, *(v.type for v in made)]
        found = trace.builder.call(callback, [*initial, *around, *operands], types, function=driver)
        self.made = found[: len(driver.results)]
        made[:] = found[len(driver.results) :]


def _drive(trace: Any, solver: Any, functions: Any, points: Any, results: Any, *given: Any) -> Any:
    held = trace.new({f"x{k}": x for k, x in enumerate(points)})
    if len(functions) > 1:
        held["which"] = 0
    state, errors = trace.new({"raised": False, "which": 0}), list[BaseException]()
    driver = Driver(solver, given, ())

    def hold(k: int) -> None:
        x = held[f"x{k}"]
        y = trace.call(functions[k], trace.call(np.copy, x) if isinstance(x, Array) else x)
        trace.touch(held)
        held[f"y{k}"] = y if isinstance(y, Traced) else trace.wrap(trace.value(y))

    def once(_: Any) -> bool:
        if len(functions) == 1:
            hold(0)
        else:
            is_first = trace.value(trace.call(operator.eq, held["which"], 0))
            trace.branch(is_first, lambda: hold(0), lambda: hold(1))
        return True

    names = [*(f"x{k}" for k in range(len(functions))), *(["which"] if len(functions) > 1 else [])]
    slots = [Slot(held, name, "carried") for name in names]
    loop = _Driven(trace, trace.loops.iteration(once, state, errors), slots, driver, held, results)
    region = trace.run_region(lambda _: loop.run())
    trace.commit(region)
    trace.loops.throw_after(state, errors)
    return tuple(trace.wrap(v) for v in loop.made)


def interpreted(program: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a function does in a program: what a Python function does that stands for it."""
    return lambda trace, *args, **kwargs: trace.calls.interpret(program, args, kwargs)


def again(f: Callable[..., Any], *args: Any) -> Any:
    """Return the number or array ``f(*args)`` of a function that has run before: its effects are not repeated.

    Only a program calls it, not Python.
    """
    raise NotImplementedError


def _again(trace: Any, f: Any, *args: Any) -> Any:
    tries, trace.tries = trace.tries, []  # it has run before, so it raises no exception that the program must catch
    try:
        region = trace.run_region(lambda _: trace.value(trace.call(f, *args)))
    finally:
        trace.tries = tries
    trace.builder.out += _silent(region.block).operations
    return trace.wrap(region.result)


def _silent(block: Block) -> Block:
    """Remove the prints from a block."""
    block.operations = [op for op in block.operations if op.callee is not debug_print]
    for op in block.operations:
        for inner in op.blocks:
            _silent(inner)
    return block


def of_library(function: Any) -> Callable[..., Any] | None:
    """Return what a function of SciPy that is written in C and takes functions does in a program; None for others."""
    if type(function) is not BuiltinFunctionType or not (function.__module__ or "").startswith("scipy."):
        return None
    find_rule(function)  # loads what stands for the functions of the library
    return SPECIAL.get(function)


def stands_for(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a Python function, whose calls of ``drive`` run a compiled function, as what a program contains for that."""

    def register(program: Callable[..., Any]) -> Callable[..., Any]:
        SPECIAL[function] = interpreted(program)
        return program

    return register


SPECIAL[drive] = _drive
SPECIAL[again] = _again
