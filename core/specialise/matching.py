"""``match`` statements: structure is matched while compiling, only comparisons of numbers are left to the program."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence as SequenceOf
from typing import Any

from ..values.attributes import IS_ITS_OWN, IS_MAPPING, IS_SEQUENCE
from .branches import Jump
from .builtin_functions import like
from .choices import distributed
from .traced import Scalar, Traced
from .unopened import LooksInto, Part


class Matching:
    """The part of the interpreter that runs ``match``."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def run_Match(self, node: ast.Match) -> Jump | None:
        subject = self.trace.expressions.expression(node.subject)
        if type(subject) is Part:
            raise LooksInto(subject)
        return distributed(self.trace, subject, lambda x: self.cases(node.cases, x))

    def cases(self, cases: SequenceOf[ast.match_case], subject: Any) -> Jump | None:
        for i, case in enumerate(cases):
            names: dict[str, Any] = {}
            found = self.matches(case.pattern, subject, names)
            if found is False:
                continue
            for name, x in names.items():
                self.trace.expressions.store(name, x)
            if case.guard is not None:
                if found is not True:
                    guard = self.trace.branch(
                        self.trace.value(found),
                        lambda case=case: self.trace.expressions.truth(self.trace.expressions.expression(case.guard)),
                        lambda: False,
                    )
                    found = guard
                else:
                    found = self.trace.expressions.truth(self.trace.expressions.expression(case.guard))
            if found is True:
                return self.trace.statements.run(case.body)
            if found is not False:
                rest = cases[i + 1 :]
                return self.trace.branch(
                    self.trace.value(found),
                    lambda case=case: self.trace.statements.run(case.body),
                    lambda rest=rest: self.cases(rest, subject),
                )
        return None

    def matches(self, pattern: ast.pattern, x: Any, names: dict[str, Any]) -> Any:
        """Return whether x matches: a bool, or a traced bool."""
        return getattr(self, f"match_{type(pattern).__name__}")(pattern, x, names)

    def match_MatchValue(self, pattern: ast.MatchValue, x: Any, names: dict[str, Any]) -> Any:
        return self.trace.expressions.truth(
            self.trace.call(operator.eq, x, self.trace.expressions.expression(pattern.value))
        )

    def match_MatchSingleton(self, pattern: ast.MatchSingleton, x: Any, names: dict[str, Any]) -> Any:
        if isinstance(x, Scalar) and x.type.dtype.kind == "b" and isinstance(pattern.value, bool):
            return x if pattern.value else self.trace.call(operator.not_, x)
        return x is pattern.value

    def match_MatchAs(self, pattern: ast.MatchAs, x: Any, names: dict[str, Any]) -> Any:
        found = True if pattern.pattern is None else self.matches(pattern.pattern, x, names)
        if pattern.name is not None:
            names[pattern.name] = x
        return found

    def match_MatchOr(self, pattern: ast.MatchOr, x: Any, names: dict[str, Any]) -> Any:
        result: Any = False
        for p in pattern.patterns:
            found = self.matches(p, x, names)
            if found is True:
                return True
            if found is not False:
                result = found if result is False else self.trace.call(operator.or_, result, found)
        return result

    def match_MatchSequence(self, pattern: ast.MatchSequence, x: Any, names: dict[str, Any]) -> Any:
        if isinstance(x, Traced) or not type(x).__flags__ & IS_SEQUENCE:
            return False
        parts = list(self.trace.iterate(x))
        patterns = list(pattern.patterns)
        star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), None)
        if star is None:
            return self.all_match(patterns, parts, names) if len(parts) == len(patterns) else False
        after = len(patterns) - star - 1
        if len(parts) < len(patterns) - 1:
            return False
        name = patterns[star].name  # type: ignore[attr-defined]
        if name is not None:
            names[name] = self.trace.new(parts[star : len(parts) - after])
        return self.all_match(
            [*patterns[:star], *patterns[star + 1 :]], [*parts[:star], *parts[len(parts) - after :]], names
        )

    def match_MatchMapping(self, pattern: ast.MatchMapping, x: Any, names: dict[str, Any]) -> Any:
        if not type(x).__flags__ & IS_MAPPING:
            return False
        keys = [self.trace.expressions.expression(k) for k in pattern.keys]
        if any(self.trace.expressions.contains(x, k) is False for k in keys):
            return False
        if pattern.rest is not None:
            names[pattern.rest] = self.trace.new({k: v for k, v in self.trace.call(x.items) if k not in keys})
        return self.all_match(pattern.patterns, [self.trace.call(operator.getitem, x, k) for k in keys], names)

    def match_MatchClass(self, pattern: ast.MatchClass, x: Any, names: dict[str, Any]) -> Any:
        cls = self.trace.expressions.expression(pattern.cls)
        if not isinstance(like(x) if isinstance(x, Traced) else x, cls):
            return False
        own = bool(cls.__flags__ & IS_ITS_OWN)
        given = ("",) if own else getattr(cls, "__match_args__", ())
        if len(pattern.patterns) > len(given):
            allowed = f"{cls.__name__}() accepts {len(given)} positional sub-pattern{'s' * (len(given) != 1)}"
            raise TypeError(f"{allowed} ({len(pattern.patterns)} given)")
        wanted = [*given[: len(pattern.patterns)], *pattern.kwd_attrs]
        try:
            parts = [x if name == "" else self.trace.attribute(x, name) for name in wanted]
        except AttributeError:
            return False
        return self.all_match([*pattern.patterns, *pattern.kwd_patterns], parts, names)

    def all_match(self, patterns: SequenceOf[ast.pattern], parts: list[Any], names: dict[str, Any]) -> Any:
        result: Any = True
        for p, part in zip(patterns, parts):
            found = self.matches(p, part, names)
            if found is False:
                return False
            result = self.trace.expressions.both(result, found)
        return result
