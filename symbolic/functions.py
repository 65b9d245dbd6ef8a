"""``function``: a SymPy expression as a plain Python function of NumPy and SciPy, which morula differentiates and compiles."""

from __future__ import annotations

import builtins
import keyword
import linecache
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import numpy
import scipy

from morula.core import BadInput

_MODULES = {"numpy": numpy, "scipy": scipy, "math": math, "builtins": builtins}
_made = count()


def function(expr: Any, args: Any, name: str = "expression") -> Callable[..., Any]:
    """Return a SymPy expression as a plain function of NumPy and SciPy, to differentiate and to compile.

    Args:
        expr: an expression, a matrix or array of expressions, or a list, tuple or dict of these.
        args: the function's arguments in order: a symbol, or several in a list or tuple.  An argument that is itself a
            list, tuple or matrix of symbols is one argument whose entries these are.  Symbols of matrices and indexed bases
            may be arguments, too.
        name: the function's name.

    Returns:
        A function of numbers and arrays, which broadcast.  Expressions that occur several times are computed once.  A
        matrix of r by c expressions gives an array of shape (r, c), or (r, c, ...) for arguments of shape (...).
        ``inspect.getsource`` shows the source.

    Raises:
        BadInput: SymPy is not installed, the expression contains a symbol that is not an argument, or it has no form in NumPy
            and SciPy.

    >>> import sympy as sp
    >>> from morula.core import grad
    >>> x, k = sp.symbols("x k")
    >>> wave = function(sp.exp(-k * x) * sp.sin(x), (x, k))
    >>> float(grad(wave)(0.0, 2.0))
    1.0
    """
    sp = required_sympy()
    is_one = isinstance(args, (sp.Basic, sp.MatrixBase, sp.NDimArray)) and not isinstance(args, sp.Tuple)
    parameters = [args] if is_one else list(args)
    if not str(name).isidentifier() or keyword.iskeyword(name):
        raise BadInput(f"symbolic.function: name must be a Python identifier, not {name!r}")
    text = _Source(sp, name, expr, parameters).text
    filename = f"<symbolic {name} {next(_made)}>"
    linecache.cache[filename] = len(text), None, text.splitlines(True), filename
    namespace: dict[str, Any] = {"__name__": "symbolic", "arranged": _arranged, "broadcast": _broadcast, **_MODULES}
    exec(compile(text, filename, "exec"), namespace)
    return namespace[name]


def required_sympy() -> Any:
    """Import SymPy.

    Raises:
        BadInput: it is not installed.
    """
    try:
        import sympy
    except ImportError:
        raise BadInput(
            "morula.symbolic needs SymPy, which is not installed; run: pip install morula[symbolic]"
        ) from None
    return sympy


def _arranged(shape: Any, entries: Any, *others: Any) -> Any:
    """Return an array of this shape, followed by that to which the entries and the others broadcast."""
    parts = numpy.broadcast_arrays(*entries, *others)[: len(entries)]
    return numpy.reshape(numpy.stack(parts), shape + parts[0].shape)


def _broadcast(y: Any, *others: Any) -> Any:
    """Return ``y`` in the shape to which it and the others broadcast."""
    return numpy.array(numpy.broadcast_arrays(y, *others)[0])[()]


class _Source:
    """The text of one function."""

    def __init__(self, sp: Any, name: str, expr: Any, parameters: list[Any]) -> None:
        from .printing import CALLED, Printer

        self.sp = sp
        self.printer = Printer()
        self.expr = _sympified(sp, expr)
        self.names: set[str] = {*_MODULES, *CALLED, name}
        self.renamed: dict[Any, Any] = {}
        self.lines: list[str] = []
        heads = [self.parameter(p) for p in parameters]
        self.bound()
        self.check(parameters)
        self.body([p for p in parameters if isinstance(p, sp.Symbol)])
        document = " ".join(str(expr).split()).replace("\\", "").replace('"', "'")
        self.text = "\n    ".join(
            [f"def {name}({', '.join(heads)}):", f'"""{document[:400]} """', *self.lines]
        ) + "\n"  # fmt: skip

    def fresh(self, name: str) -> str:
        """Return an identifier like a symbol's name that is not in use."""
        base = re.sub(r"[\W_]+", "_", str(name)).strip("_") or "x"
        base = f"x{base}" if base[0].isdigit() else base
        found = f"{base}_" if keyword.iskeyword(base) or base in self.names else base
        for i in count(1):
            if found not in self.names:
                self.names.add(found)
                return found
            found = f"{base}_{i}"
        raise AssertionError

    def parameter(self, x: Any) -> str:
        """Return the name of a parameter, after those of its entries have been assigned."""
        sp = self.sp
        if isinstance(x, (sp.MatrixBase, sp.NDimArray)):
            entries: Iterable[tuple[str, Any]] = (
                (", ".join(map(str, i)), x[i]) for i in numpy.ndindex(*map(int, x.shape))
            )
            return self.entries("values", entries)
        if isinstance(x, (list, tuple, sp.Tuple)):
            return self.entries("values", ((str(i), e) for i, e in enumerate(x)))
        return self.rename(x)

    def entries(self, name: str, entries: Iterable[tuple[str, Any]]) -> str:
        name = self.fresh(name)
        for index, x in entries:
            self.lines.append(f"{self.rename(x)} = {name}[{index}]")
        return name

    def rename(self, x: Any) -> str:
        """Choose the identifier under which a symbol is printed, and return it."""
        sp = self.sp
        if not isinstance(x, (sp.Symbol, sp.MatrixSymbol, sp.IndexedBase)):
            raise BadInput(
                f"symbolic: an argument must be a symbol, or a list, tuple or matrix of symbols, not {x!r}; write "
                "function(expr, (x, y))"
            )
        if x in self.renamed:
            raise BadInput(f"symbolic: {x} is an argument twice; name each symbol once")
        found = self.fresh(str(x))
        if isinstance(x, sp.Symbol):
            self.renamed[x] = sp.Symbol(found, **x.assumptions0)
        elif isinstance(x, sp.MatrixSymbol):
            self.renamed[x] = sp.MatrixSymbol(found, *x.shape)
        else:
            self.renamed[x] = sp.IndexedBase(found)
        return found

    def bound(self) -> None:
        """Rename the variables of sums, products and integrals, which may have names of arguments or modules."""
        sp = self.sp
        limited = [e for part in _parts(self.expr) for e in part.atoms(sp.concrete.expr_with_limits.ExprWithLimits)]
        for e in sorted(limited, key=str):
            for symbol in e.bound_symbols:
                if symbol not in self.renamed:
                    self.renamed[symbol] = sp.Symbol(self.fresh(str(symbol)), **symbol.assumptions0)

    def check(self, parameters: list[Any]) -> None:
        sp = self.sp
        known = set(self.renamed)
        for part in _parts(self.expr):
            free = {s for s in part.free_symbols if s not in known and not isinstance(s, sp.Indexed)}
            free -= {s for s in free if any(str(s) == str(k) for k in known if isinstance(k, sp.IndexedBase))}
            if free:
                names = ", ".join(sorted(map(str, free)))
                raise BadInput(
                    f"symbolic: the expression contains {names}, not among the arguments {parameters}; add it to the arguments or "
                    "substitute a value with .subs"
                )

    def body(self, symbols: list[Any]) -> None:
        """Write the lines that compute common subexpressions, and the return."""
        sp = self.sp
        parts = [part.xreplace(self.renamed) for part in _parts(self.expr)]
        kept: dict[Any, Any] = {}  # sums and integrals, whose inside must stay inside
        opaque = [p.replace(_is_limited(sp), lambda e: kept.setdefault(e, sp.Dummy())) for p in parts]
        back = {dummy: e for e, dummy in kept.items()}
        common, reduced = sp.cse(opaque, symbols=(sp.Symbol(self.fresh(f"t{i}")) for i in count()), order="none")
        for symbol, e in common:
            self.lines.append(f"{symbol} = {self.printer.source(e.xreplace(back))}")
        printed = iter([self.printer.source(e.xreplace(back)) for e in reduced])
        shown = iter(parts)
        self.lines.append(f"return {self.result(self.expr, printed, shown, [self.renamed[s] for s in symbols])}")

    def result(self, expr: Any, printed: Iterator[str], parts: Iterator[Any], symbols: list[Any]) -> str:
        if isinstance(expr, dict):
            return "{" + ", ".join(f"{k!r}: {self.result(e, printed, parts, symbols)}" for k, e in expr.items()) + "}"
        if isinstance(expr, (list, tuple)):
            inside = ", ".join(self.result(e, printed, parts, symbols) for e in expr)
            return f"[{inside}]" if isinstance(expr, list) else f"({inside},)" if expr else "()"
        text, part = next(printed), next(parts)
        missing = [str(s) for s in symbols if s not in part.free_symbols]
        if missing and text.startswith("arranged("):
            return f"{text[:-1]}, {', '.join(missing)})"
        is_matrix = getattr(part, "is_Matrix", False)
        return f"broadcast({', '.join((text, *missing))})" if missing and not is_matrix else text


def _is_limited(sp: Any) -> Callable[[Any], bool]:
    return lambda e: isinstance(e, sp.concrete.expr_with_limits.ExprWithLimits)


def _sympified(sp: Any, expr: Any) -> Any:
    """Return the expression with SymPy's objects at its leaves, and derivatives in it evaluated."""
    if isinstance(expr, dict):
        return {k: _sympified(sp, e) for k, e in expr.items()}
    if isinstance(expr, (list, tuple)):
        return type(expr)([_sympified(sp, e) for e in expr])
    found: Any = None
    with suppress(sp.SympifyError, TypeError):
        found = sp.sympify(expr)
    if isinstance(found, sp.Tuple):
        return tuple(_sympified(sp, e) for e in found)
    if not isinstance(found, (sp.Expr, sp.logic.boolalg.Boolean, sp.MatrixBase, sp.NDimArray)):
        raise BadInput(f"symbolic: expected an expression of SymPy, not {expr!r}")
    if isinstance(found, sp.MatrixBase):
        found = found.as_immutable()
    derivatives = {d: d.doit() for d in found.atoms(sp.Derivative)}
    return found.xreplace(derivatives) if derivatives else found


def _parts(expr: Any) -> list[Any]:
    if isinstance(expr, dict):
        return [p for e in expr.values() for p in _parts(e)]
    if isinstance(expr, (list, tuple)):
        return [p for e in expr for p in _parts(e)]
    return [expr]
