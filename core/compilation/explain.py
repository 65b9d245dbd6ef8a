"""Reports on a compilation: the program as text in several languages, and a summary of its stages."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..emit import typed_python
from ..errors import ENGINE, BadInput
from ..ir.dynamic import Block, Function
from ..ir.typed import stack_push
from ..specialise.outside import Code, Source
from ..values.attributes import public_names
from ..values.layout import layout_of, names_of_arguments
from . import targets
from .compiled import Compilation

LANGUAGES = ("ir", "python", "llvm", "stablehlo", "hlo")


class Lowered:
    """The program of a function for given argument types."""

    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation

    def __dir__(self) -> list[str]:
        return public_names(self, "as_text", "compile", "target")

    @property
    def target(self) -> str:
        return self.compilation.target

    def as_text(self, language: str = "ir") -> str:
        """Return the program as text.

        Args:
            language: ``"ir"`` (typed, simplified), ``"python"`` (the IR as executable NumPy calls), ``"llvm"`` for the
                target native, ``"stablehlo"`` and ``"hlo"`` (optimised by XLA) for the target xla.

        Raises:
            BadInput: the language is unknown, or belongs to another target.

        >>> import morula as mo
        >>> print(mo.jit(lambda x: 2.0 * x).lower(1.0).as_text())
        function <lambda>(%x: float):
          %t: float = numpy.multiply(2.0, %x)
          yield %t
        """
        if language not in LANGUAGES:
            raise BadInput(f"as_text: the language must be one of {', '.join(map(repr, LANGUAGES))}, not {language!r}")
        if language == "ir":
            return str(self.compilation.function)
        if language == "python":
            return typed_python.source(self.compilation.function)
        wanted = "native" if language == "llvm" else "xla"
        if self.compilation.target != wanted:
            raise BadInput(
                f"the program was compiled for the target {self.compilation.target}, which has no {language} text; "
                f"use jit(f, target={wanted!r})"
            )
        checks = self.compilation.checks
        made = targets.compile_for(wanted, self.compilation.function, checks.bounds, checks.parallel, kept=False)
        return getattr(made, f"{language}_text")

    def compile(self) -> Compilation:
        """Return the compiled program.

        >>> import morula as mo
        >>> mo.jit(lambda x: 2.0 * x).lower(1.0).compile().target
        'native'
        """
        return self.compilation.compile()


def size(function: Function) -> int:
    """Return the number of operations, including those of nested blocks."""

    def count(block: Block) -> int:
        return sum(1 + sum(map(count, op.blocks)) for op in block.operations)

    return count(function.block)


def stored_for_the_backward_sweep(function: Function) -> list[str]:
    """Describe, per loop, the bytes of residuals that the forward sweep pushes for the backward sweep."""
    found: dict[int, int] = {}

    def visit(block: Block, line: int) -> None:
        for op in block.operations:
            if op.callee is stack_push:
                pushed = (v.type for v in op.operands[1:])
                found[line] = found.get(line, 0) + sum(t.dtype.itemsize * math.prod(t.bounds) for t in pushed)
            for inner in op.blocks:
                visit(inner, op.line if op.kind in ("while", "range") else line)

    visit(function.block, 0)
    where = "{:,} bytes in each iteration of the loop at line {}"
    return [where.format(n, line) if line else f"{n:,} bytes" for line, n in found.items() if n]


def explanation(compilation: Compilation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return a summary (target, recompilation, residual memory, time), then details and the IR of each stage."""
    return "\n".join([*_summary(compilation, args, kwargs), *_details(compilation), *_stages(compilation)])


def _summary(compilation: Compilation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    names = names_of_arguments(compilation.f, layout_of((args, kwargs)))
    static = [
        f"{names[i]}, needed for {compilation.why_static.get(i, 'asked for')}" for i in sorted(compilation.static)
    ]
    assumed = [
        f"; {names[i]} is assumed to be from {low} to {high}, the lengths of loops"
        for i, (low, high) in compilation.program.ranges.items()
    ]
    static += [f"the content of {names[i]}, the pattern of a sparse matrix" for i in compilation.patterns]
    again = "another value, shape or dtype compiles again" if static else "another shape or dtype compiles again"
    stored = stored_for_the_backward_sweep(compilation.function) or ["nothing that grows with a loop"]
    chosen = list(dict.fromkeys(note.text for policy in compilation.program.policies for note in policy.notes.values()))
    seconds = {**compilation.seconds, **(getattr(compilation.executable, "seconds", None) or {})}
    parts = ", ".join(f"{name} {t:.3f}" for name, t in seconds.items() if t >= 0.0005)
    return [
        f"{compilation.function.name} for the target {compilation.target}: {compilation.reason}",
        f"static: {'; '.join(static) or 'no argument'}{''.join(assumed)}; {again}",
        f"stored for the backward sweep: {'; '.join([*stored, *chosen])}",
        f"seconds: {sum(compilation.seconds.values()):.3f} ({parts})",
    ]


def _is_own(guard: Any) -> bool:
    """Whether a place is a variable of one of the engine's own modules."""
    return (
        isinstance(guard, Source)
        and type(guard.holder) is dict
        and str(guard.holder.get("__name__", "")).startswith(ENGINE)
    )


def _details(compilation: Compilation) -> list[str]:
    program, lines = compilation.program, [*loops_in_threads(compilation), *compilation.program.batches]
    if program.locks:
        lines.append(f"locks that are held while it runs: {len(program.locks)}")
    if program.hidden:
        lines.append(f"read from outside at each call: {len(program.hidden)} array(s) and number(s)")
    guards = [guard for guard in program.guards if not isinstance(guard, Code) and not _is_own(guard)]
    if guards:
        keys = dict.fromkeys(guard.key for guard in guards if isinstance(guard, Source) and isinstance(guard.key, str))
        lines.append(f"read from outside while compiling: {', '.join(keys) or len(guards)}")
    if program.differentiates:
        again = (
            "results of NaN are computed again by a second program, in which a zero cotangent contributes exactly zero"
        )
        at_once = "a zero cotangent contributes exactly zero: all products check for it, since the program calls Python or prints"
        lines.append(again if compilation.may_repeat else at_once)
    return lines


def loops_in_threads(compilation: Compilation) -> list[str]:
    """Describe which loops of a program with ``parallel`` run in several threads, and why others do not."""
    parallel = compilation.checks.parallel
    if not parallel:
        return []
    if compilation.target != "native":
        return ["parallel: the target xla has threads of its own"]
    threads, reason = targets.threads_of(parallel)
    if reason:
        return [f"parallel: all loops run in one thread, since {reason}"]
    made = compilation.executable
    places = [made.places[place] if 0 <= place < len(made.places) else () for place, _ in made.loops]
    found = sorted((calls[-1][0], calls[-1][2], how) for calls, (_, how) in zip(places, made.loops) if calls)
    if not found:
        return ["parallel: there is no loop, and no operation on large arrays"]
    lines = [f"parallel: {threads} threads"]
    return lines + [f"  {Path(filename).name}, line {line}: {how}" for filename, line, how in dict.fromkeys(found)]


def _stages(compilation: Compilation) -> list[str]:
    lines, before = [], ""
    for name, function in compilation.stages:
        text = str(function)
        lines += ["", f"after {name}: {size(function)} operations{', as before' if text == before else ''}"]
        lines += [text] if text != before else []
        before = text
    return lines
