"""Expressions as source code, by SymPy's printer for SciPy.

What that prints for single numbers or in a form that does not broadcast is printed as NumPy's element-wise functions.
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import Any

import sympy as sp
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.numpy import SciPyPrinter

from morula.core import BadInput

_OF_SCIPY = {
    "binomial": "binom",
    "elliptic_k": "ellipk",
    "elliptic_f": "ellipkinc",
    "erfcinv": "erfcinv",
    "erfi": "erfi",
    "erfinv": "erfinv",
    "expint": "expn",
    "hankel1": "hankel1",
    "hankel2": "hankel2",
    "jn": "spherical_jn",
    "yn": "spherical_yn",
    "zeta": "zeta",
}
"""Functions that SymPy's printer does not know, by their names in ``scipy.special``."""


CALLED = {"abs", "arranged", "broadcast", "range", "slice"}
"""Functions that printed code calls by their bare names."""


class Printer(SciPyPrinter):
    _kf = {**SciPyPrinter._kf, **{name: f"scipy.special.{known}" for name, known in _OF_SCIPY.items()}}

    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": True, "inline": True, "strict": True})

    def source(self, expr: Any) -> str:
        try:
            text = str(self.doprint(expr))
            self.check_names(text, expr)
            return text
        except (PrintMethodNotImplementedError, NotImplementedError, ValueError, AttributeError, KeyError) as error:
            raise BadInput(
                f"symbolic: {expr} has no form in NumPy and SciPy ({str(error).partition('Set the')[0].strip()}); evaluate it "
                "with .doit() or .rewrite(...), or substitute functions that SciPy has"
            ) from None

    def check_names(self, text: str, expr: Any) -> None:
        """Raise if the text calls what SymPy prints by its own name, because it has no other for it."""
        for node in ast.walk(ast.parse(text, mode="eval")):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in CALLED:
                raise NotImplementedError(f"Unsupported: {node.func.id}")

    def fold(self, name: str, args: Any) -> str:
        """Print nested calls of a function of two operands."""
        return reduce(lambda a, b: f"numpy.{name}({a}, {b})", map(self._print, args))

    def _print_Piecewise(self, expr: Any) -> str:
        *pairs, last = expr.args
        otherwise = self._print(last.expr)
        if last.cond != True:  # noqa: E712  (an expression of SymPy)
            pairs, otherwise = [*pairs, last], "numpy.nan"
        for value, condition in reversed(pairs):
            if condition.has(sp.ITE):
                condition = sp.simplify_logic(condition)
            # A condition on numbers gives an array without axes, and ``[()]`` the number in it.
            otherwise = f"numpy.where({self._print(condition)}, {self._print(value)}, {otherwise})[()]"
        return otherwise

    def _print_Pi(self, expr: Any) -> str:
        return "numpy.pi"

    def _print_And(self, expr: Any) -> str:
        return self.fold("logical_and", expr.args)

    def _print_Or(self, expr: Any) -> str:
        return self.fold("logical_or", expr.args)

    def _print_Max(self, expr: Any) -> str:
        return self.fold("maximum", expr.args)

    def _print_Min(self, expr: Any) -> str:
        return self.fold("minimum", expr.args)

    def _print_Heaviside(self, expr: Any) -> str:
        return f"numpy.heaviside({', '.join(map(self._print, expr.args))})"

    def _print_LambertW(self, expr: Any) -> str:
        text = f"scipy.special.lambertw({', '.join(map(self._print, expr.args))})"
        return f"numpy.real({text})" if expr.is_extended_real else text

    def loops(self, expr: Any) -> str:
        if any(not bound.is_finite for _, *bounds in expr.limits for bound in bounds if bound.is_number):
            raise NotImplementedError("Unsupported: an infinite sum or product")
        return " ".join(f"for {i} in range({self._print(a)}, {self._print(b)} + 1)" for i, a, b in expr.limits[::-1])

    def _print_Sum(self, expr: Any) -> str:
        return f"builtins.sum({self._print(expr.function)} {self.loops(expr)})"

    def _print_Product(self, expr: Any) -> str:
        return f"math.prod({self._print(expr.function)} {self.loops(expr)})"

    def _print_ComplexRootOf(self, expr: Any) -> str:  # type: ignore[override]
        return self._print(expr.evalf(17))

    def _print_Trace(self, expr: Any) -> str:
        return f"numpy.trace({self._print(expr.arg)})"

    def _print_Determinant(self, expr: Any) -> str:
        return f"numpy.linalg.det({self._print(expr.arg)})"

    def _print_elliptic_e(self, expr: Any) -> str:
        name = "ellipe" if len(expr.args) == 1 else "ellipeinc"
        return f"scipy.special.{name}({', '.join(map(self._print, expr.args))})"

    def _print_Shi(self, expr: Any) -> str:
        return f"scipy.special.shichi({self._print(expr.args[0])})[0]"

    def _print_Chi(self, expr: Any) -> str:
        return f"scipy.special.shichi({self._print(expr.args[0])})[1]"

    def _print_hyper(self, expr: Any) -> str:
        orders = len(expr.ap), len(expr.bq)
        if orders not in ((0, 1), (1, 1), (2, 1)):
            return self._print_not_supported(expr)
        return f"scipy.special.hyp{orders[0]}f1({', '.join(map(self._print, (*expr.ap, *expr.bq, expr.argument)))})"

    def _print_MatMul(self, expr: Any) -> str:
        factor, matrices = expr.as_coeff_matrices()
        text = " @ ".join(f"({self._print(m)})" for m in matrices)
        return f"({text})" if factor == 1 else f"({self._print(factor)}) * ({text})"

    def _print_entries(self, expr: Any) -> str:
        """Print a matrix or array of expressions: its axes stand before those of the arguments."""
        entries = list(sp.flatten(expr.tolist()))
        if not entries:
            return f"numpy.zeros({tuple(expr.shape)})"
        inside = ", ".join(map(self._print, entries))
        return f"arranged({tuple(map(int, expr.shape))}, ({inside},))"

    _print_MatrixBase = _print_NDimArray = _print_ImmutableSparseMatrix = _print_SparseRepMatrix = _print_entries


for _name in _OF_SCIPY:
    if f"_print_{_name}" not in vars(Printer):
        setattr(Printer, f"_print_{_name}", SciPyPrinter._print_besselj)  # type: ignore[attr-defined]
