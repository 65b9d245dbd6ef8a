"""Generated entry code for the program that was called last: guards on each argument, then the call.

Checking that an argument still has the same dtype and shape costs a tenth of computing its signature.  The code is
generated for one layout of arguments; calls that do not fit take the general path.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType, MethodType
from typing import Any

import numpy as np

from ..errors import ENGINE
from ..specialise.contents import Absent
from ..specialise.outside import Code, Source
from ..values.array_classes import array_in, is_array_class
from ..values.layout import Again, Fixed, Holder, Hole, Layout, Static
from ..values.strong_zero import is_nan
from .compiled import Compilation, calls_python, check_overlap

IDENTICAL = (type(None), bool, type, type(...))


def entry(
    compilation: Compilation,
    layout: Layout,
    leaves: list[Any],
    general: Callable[..., Any],
    strongly: Callable[..., Any],
) -> Callable[..., Any]:
    """Return a function that runs the program if its arguments fit, and calls ``general`` if not.

    It calls ``strongly`` if a result is NaN and the program may be repeated with the products of ``strong_zero``.
    """
    return _Entry(compilation, layout, leaves).build(general, strongly)


class _Refused(Exception):
    """An argument cannot be checked quickly."""


class _Entry:
    def __init__(self, compilation: Compilation, layout: Layout, leaves: list[Any]) -> None:
        self.compilation, self.layout, self.leaves = compilation, layout, leaves
        self.tests: list[str] = []
        self.namespace: dict[str, Any] = {"ndarray": np.ndarray}
        self.names: dict[int, str] = {}  # of leaves
        self.holders: dict[int, str] = {}  # by number
        self.kinds: dict[str, type] = {}  # of holders, by name

    def constant(self, x: Any) -> str:
        name = f"c{len(self.namespace)}"
        self.namespace[name] = x
        return name

    def local(self, expression: str) -> str:
        """Add a test that assigns an expression to a new local variable; return its name."""
        name = f"x{len(self.tests)}"
        self.tests.append(f"(({name} := {expression}) is {name})")
        return name

    def build(self, general: Callable[..., Any], strongly: Callable[..., Any]) -> Callable[..., Any]:
        program = self.compilation.program
        try:
            args, kwargs = self.layout.parts  # type: ignore[union-attr]
            self.tests.append(f"len(args) == {len(args.parts)}")
            for i, part in enumerate(args.parts):
                self.test(part, f"args[{i}]")
            if kwargs.parts:
                self.tests.append(f"tuple(kwargs) == {self.constant(kwargs.names)}")
                for name, part in zip(kwargs.names, kwargs.parts):
                    self.test(part, f"kwargs[{name!r}]")
            else:
                self.tests.append("not kwargs")
        except _Refused:
            return general
        parameters = [self.names[i] for i in program.leaves]
        for i, source in enumerate(program.hidden):
            kind = self.compilation.function.parameters[len(program.leaves) + i].type
            if type(source.found) is not np.ndarray:
                name = self.local(f"{self.constant(source.read)}()")
                self.tests.append(f"type({name}) is {self.constant(type(source.found))}")
                if type(source.found) is int:
                    self.tests.append(f"-0x8000000000000000 <= {name} <= 0x7fffffffffffffff")
                parameters.append(name)
                continue
            parameters.append(self.array(self.local(f"{self.constant(source.read)}()"), kind.dtype, kind.shape))
        self.tests += [
            f"{self.constant(np.array_equal)}({parameters[i]}, {self.constant(x)})" for i, x in program.contents.items()
        ]
        self.test_memory(parameters)
        for guard in program.guards:
            self.guard(guard)
        outside = {*program.outside.values()}
        self.tests += [
            f"id({x}) not in {self.constant(program.outside)}"
            for x in self.holders.values()
            if self.kinds[x] in outside
        ]
        if program.written or program.updates:
            arrays = [n for i, n in self.names.items() if isinstance(self.leaves[i], np.ndarray)]
            hidden = zip(parameters[len(program.leaves) :], program.hidden)
            arrays += [name for name, source in hidden if type(source.found) is np.ndarray]
            distinct = [f"id({n})" for n in (*arrays, *self.holders.values())]
            self.tests.append(f"len({{{', '.join(distinct)}}}) == {len(distinct)}")
        return self.function(parameters, general, strongly)

    def test_memory(self, parameters: list[str]) -> None:
        """Add the tests of strides and writeability on which the program depends.

        The first array that the program writes to needs no test: NumPy raises if it is read-only, before any effect.
        """
        program = self.compilation.program
        for i, strides in program.strides.items():
            self.tests.append(f"{parameters[i]}.strides == {self.constant(strides)}")
        fixed = [*(self.names[i] for i in self.compilation.read_only), *(parameters[i] for i in program.read_only)]
        self.tests += [f"not {name}.flags.writeable" for name in fixed]
        first = 0 if calls_python(self.compilation.function.block) else 1
        self.tests += [f"{parameters[i]}.flags.writeable" for i in program.written[first:]]
        known = {
            *program.read_only,
            *(i for i, leaf in enumerate(program.leaves) if leaf in self.compilation.read_only),
        }
        self.tests += [f"{parameters[i]}.flags.writeable" for i in program.asked if i not in known]

    def function(
        self, parameters: list[str], general: Callable[..., Any], strongly: Callable[..., Any]
    ) -> Callable[..., Any]:
        program, executable = self.compilation.program, self.compilation.executable
        space = {**self.namespace, "__name__": f"{ENGINE}generated", "general": general}
        direct = getattr(executable, "call", None)  # takes the arguments one by one
        space["run"] = direct or executable
        run = f"run({', '.join(parameters)})" if direct else "run(parameters)"
        lines = [
            "def enter(*args, **kwargs):",
            "    try:",
            f"        if not ({' and '.join(self.tests)}):",
            "            return general(*args, **kwargs)",
            "    except (LookupError, ValueError):",
            "        return general(*args, **kwargs)",
            f"    parameters = [{', '.join(parameters)}]",
        ]
        if program.written:
            space |= {"check_overlap": check_overlap, "written": program.written}
            arrays = {self.names[i] for i, x in enumerate(self.leaves) if isinstance(x, np.ndarray) and i in self.names}
            bases = " and ".join(
                f"{p}.base is None"
                for i, p in enumerate(parameters)
                if p in arrays
                or i >= len(program.leaves)
                and type(program.hidden[i - len(program.leaves)].found) is np.ndarray
            )
            lines.append(f"    if not ({bases or True}):  # else nothing can overlap")
            lines.append("        check_overlap(parameters, written)")
        if self.compilation.may_repeat:
            space |= {"strongly": strongly, "is_nan": is_nan}
            kinds = [v.type for v in self.compilation.function.block.results]
            doubts = [
                f"is_nan(results[{i}])" if kind.shape else f"results[{i}] != results[{i}]"
                for i, kind in enumerate(kinds)
                if kind.is_inexact
            ]
            lines += [f"    results = {run}", f"    if {' or '.join(doubts) or False}:"]
            lines.append("        return strongly(*args, **kwargs)")
            run = "results"
        if program.written or program.arrays or program.updates or program.knows_objects:
            space["result"] = program.result
            objects = ", ".join(f"{number}: {name}" for number, name in self.holders.items())
            run = f"result({run}, parameters, {{{objects}}})"
            if program.written:
                first = f"{parameters[program.written[0]]}.flags.writeable"
                lines += ["    try:", f"        return {run}", "    except ValueError:", f"        if {first}: raise"]
                lines.append("    return general(*args, **kwargs)")
            else:
                lines.append(f"    return {run}")
        else:
            space["plan"] = program.plan
            lines.append(f"    return plan({run}, parameters, ())")
        exec(compile("\n".join(lines), "<morula entry>", "exec"), space)
        return space["enter"]

    def guard(self, guard: Any) -> None:
        if isinstance(guard, Absent) and type(guard.holder) is dict:
            self.tests.append(f"{self.constant(guard.key)} not in {self.constant(guard.holder)}")
            return
        if not isinstance(guard, Source) or type(guard) not in (
            Source,
            Code,
        ):  # others compare in their own way, not by identity
            self.tests.append(f"{self.constant(guard.holds)}()")
            return
        self.namespace.setdefault("guards", [])
        found, holder = self.constant(guard.found), self.constant(guard.holder)
        if isinstance(guard, Code):
            self.tests.append(f"{holder}.{guard.name} is {found}")
            return
        if type(guard.holder) is CellType:
            place = f"{holder}.cell_contents"
        elif isinstance(guard.holder, (list, tuple, dict)) and type(guard.holder) not in (list, tuple, dict):
            place = f"{self.constant(guard.read)}()"  # its class may override reading
        else:
            place = f"{holder}[{self.constant(guard.key)}]"
        same = f"{place} is {found}"
        is_number = isinstance(guard.found, (int, float, complex, np.generic))
        self.tests.append(f"({same} or {self.constant(guard.holds)}())" if is_number else same)

    def array(self, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> str:
        dtype_, shape_ = self.constant(dtype), self.constant(shape)
        self.tests.append(f"type({name}) is ndarray and {name}.dtype is {dtype_} and {name}.shape == {shape_}")
        return name

    def test(self, layout: Layout, expression: str) -> None:
        if isinstance(layout, Fixed):
            self.test_fixed(layout.value, expression)
        elif isinstance(layout, Hole):
            if layout.index in self.names:  # the same array again
                self.tests.append(f"{expression} is {self.names[layout.index]}")
                return
            self.names[layout.index] = self.leaf(layout.index, expression)
        elif isinstance(layout, Again):
            raise _Refused
        else:
            self.test_holder(layout, expression)

    def leaf(self, i: int, expression: str) -> str:
        x = self.leaves[i]
        name = self.local(expression)
        if isinstance(x, np.ndarray):
            return self.array(name, x.dtype, x.shape)
        self.tests.append(f"type({name}) is {self.constant(type(x))}")
        if i in self.compilation.static:
            self.tests.append(f"{name} == {self.constant(x)}" if x else f"{self.constant(repr(x))} == repr({name})")
        elif type(x) is int:
            low, high = self.compilation.program.ranges.get(i, (-(2**63), 2**63 - 1))
            self.tests.append(f"{low} <= {name} <= {high}")
        return name

    def test_fixed(self, x: Any, expression: str) -> None:
        if isinstance(x, IDENTICAL) or callable(x):
            self.tests.append(f"{expression} is {self.constant(x)}")
        elif isinstance(x, Static):
            self.test_equal(x.value, expression)
        elif isinstance(x, (str, bytes)):
            self.test_equal(x, expression)
        else:
            raise _Refused

    def test_equal(self, x: Any, expression: str) -> None:
        name = self.local(expression)
        self.tests.append(f"type({name}) is {self.constant(type(x))} and {name} == {self.constant(x)}")

    def test_holder(self, layout: Holder, expression: str) -> None:
        kind = layout.kind
        name = self.local(expression)
        self.kinds[name] = kind
        self.tests.append(f"type({name}) is {self.constant(kind)}")
        if kind is dict:
            self.holders[layout.number] = name
            self.tests.append(f"(*{name},) == {self.constant(layout.names)}")
            for key, part in zip(layout.names, layout.parts):
                self.test(part, f"{name}[{self.constant(key)}]")
        elif kind is list or issubclass(kind, tuple):
            if kind.__dictoffset__:  # it may have attributes, for which ``scan`` has an error
                raise _Refused
            if kind is list:
                self.holders[layout.number] = name
            self.tests.append(f"len({name}) == {len(layout.parts)}")
            for i, part in enumerate(layout.parts):
                self.test(part, f"{name}[{i}]")
        elif kind in (MethodType, functools.partial):
            raise _Refused
        else:
            self.test_object(layout, name)

    def test_object(self, layout: Holder, name: str) -> None:
        keys, *attributes = layout.names if isinstance(layout.names, tuple) else (1,)
        if keys != 0 or hasattr(layout.kind, "__slots__") or not attributes:
            raise _Refused
        self.holders[layout.number] = name
        parts = layout.parts
        if is_array_class(layout.kind):
            self.test(parts[0], f"{self.constant(array_in)}({name})")
            attributes, parts = attributes[1:], parts[1:]
        held = self.local(f"{name}.__dict__")
        self.tests.append(f"(*{held},) == {self.constant(tuple(attributes))}")
        for attribute, part in zip(attributes, parts):
            self.test(part, f"{held}[{attribute!r}]")
