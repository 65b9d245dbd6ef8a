"""The right-hand side of a problem and its derivatives in C, written by SymPy from the function of the problem."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..program import Problem


def written(problem: Problem, is_implicit: bool, is_differentiated: bool) -> str:
    """The functions that the templates need; those of the adjoint are empty without ``is_differentiated``."""
    import sympy

    space = SimpleNamespace(stack=list, exp=sympy.exp, sqrt=sympy.sqrt, sin=sympy.sin, cos=sympy.cos, pi=sympy.pi)
    n, t = len(problem.y0), sympy.Symbol("t", real=True)
    y, w, u = (sympy.symbols(f"{name}_:{n}", real=True) for name in "ywu")
    count, args = 0, []
    for value in problem.args:
        here = sympy.symbols(f"p_{count}:{count + np.size(value)}", real=True)
        count += np.size(value)
        args.append(list(here) if np.ndim(value) else here[0])
    p = sympy.symbols(f"p_:{count}", real=True)
    rates = [sympy.sympify(r) for r in problem.rate(space)(t, list(y), *args)]
    pulled = sum(a * r for a, r in zip(w, rates, strict=True))
    parts = [_function("rhs", "double t, const double *y, const double *p, double *dy", [("dy", rates, "=")])]
    both = "double *by, double *bp"
    derivatives = [("by", [sympy.diff(pulled, s) for s in y], "+="), ("bp", [sympy.diff(pulled, s) for s in p], "+=")]
    arguments = f"double t, const double *y, const double *p, const double *w, {both}"
    parts.append(_function("vjp", arguments, derivatives if is_differentiated else []))
    if is_implicit:
        jacobian = [[sympy.diff(r, s) for s in y] for r in rates]
        entries = [(f"J[{i}]", row, "=") for i, row in enumerate(jacobian)]
        parts.append(
            _function(
                "jacobian", "const double *y, const double *p, double J[N][WIDTH]", entries, lambda i: f"LOWER - {i}"
            )
        )
        form = sum(w[i] * jacobian[i][j] * u[j] for i in range(n) for j in range(n))
        derivatives = [("by", [sympy.diff(form, s) for s in y], "+="), ("bp", [sympy.diff(form, s) for s in p], "+=")]
        arguments = f"const double *y, const double *p, const double *w, const double *u, {both}"
        parts.append(_function("second", arguments, derivatives if is_differentiated else []))
    return "\n".join(parts)


def _function(name: str, arguments: str, results: Sequence[tuple[str, Sequence[Any], str]], shift: Any = None) -> str:
    """A function that sets or adds to arrays, with common subexpressions computed once."""
    import re

    import sympy

    common, reduced = sympy.cse([v for _, row, _ in results for v in row])
    values: Any = reduced
    code = [f"double {symbol} = {sympy.ccode(value)};" for symbol, value in common]
    k = 0
    for row_number, (array, row, sign) in enumerate(results):
        for i in range(len(row)):
            if values[k] != 0 or sign == "=":
                place = f"{i} + {shift(row_number)}" if shift else str(i)
                code.append(f"{array}[{place}] {sign} {sympy.ccode(values[k])};")
            k += 1
    body = re.sub(r"\b([ypwu])_(\d+)\b", r"\1[\2]", "\n  ".join(code))
    return f"static void {name}({arguments}) {{\n  {body}\n}}\n"
