"""The calling forms of NumPy's functions, array methods and ufunc methods, generated from their signatures.

A form is one way to call a function: each required argument by position or by name, one or two of the optional ones by
position or by name, and ``out`` as new memory, as an argument itself, as a view with strides, or as a view that overlaps an
argument.  ``verdict`` runs a form plainly and differentiated, and compares.
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import morula as mo
from morula.core.testing.differences import ridders

SHAPE = (3, 3)
X = np.array([[0.427, 0.312, 0.671], [0.344, 0.578, 0.462], [0.633, 0.373, 0.543]])
"""Away from each other, from the bounds below, and from the jumps of what rounds."""

VALUES: dict[str, tuple[str, ...]] = {
    "axis": ("1", "0", "None", "(0, 1)", "-1"),
    "axes": ("(0, 1)",),
    "keepdims": ("True", "False"),
    "dtype": ("float", "np.float32", "complex"),
    "where": ("MASK", "True", "MASK[0]"),
    "initial": ("0.9", "x[0, 0] * 3"),
    "ddof": ("1",),
    "correction": ("1",),
    "mean": ("np.mean(a)",),
    "weights": ("b", "np.array([1.0, 2.0, 3.0])"),
    "casting": ("'unsafe'", "'no'"),
    "order": ("'F'", "'K'"),
    "subok": ("False",),
    "mode": ("'wrap'", "'clip'"),
    "method": ("'hazen'", "'nearest'"),
    "overwrite_input": ("False",),
    "interpolation": (),
    "offset": ("1",),
    "axis1": ("1",),
    "axis2": ("0",),
    "decimals": ("1",),
    "include_initial": ("True",),
    "returned": ("True",),
    "min": ("0.4", "b", "None"),
    "max": ("0.6", "None"),
    "a_min": ("0.4", "b", "None"),
    "a_max": ("0.6", "None"),
    "kind": ("'stable'",),
    "stable": ("True",),
    "edge_order": ("2",),
    "n": ("2",),
    "s": ("(2, 2)",),
    "norm": ("'ortho'",),
    "ord": ("1", "2"),
    "prepend": ("0.2", "a[:, :1]"),
    "append": ("0.2",),
    "nan": ("1.5",),
    "posinf": ("1.5",),
    "neginf": ("1.5",),
    "copy": ("False", "True"),
    "k": ("1",),
    "side": ("'right'",),
    "sorter": ("np.array([2, 0, 1])",),
    "equal_nan": ("True",),
    "return_counts": ("True",),
    "sorted": ("True",),
    "left": ("0.1",),
    "right": ("0.2",),
    "x": ("np.array([0.1, 0.4, 0.9])",),
    "dx": ("0.3",),
    "period": ("1.1",),
    "discont": ("0.5",),
    "ndmin": ("3",),
    "start": ("1",),
    "shape": ("(9,)",),
    "deg": ("True",),
    "upper": ("True",),
    "UPLO": ("'U'",),
    "hermitian": ("False",),
    "rtol": ("1e-10",),
    "rcond": ("1e-10",),
    "compute_uv": ("False",),
    "tol": ("1e-9",),
    "default": ("0.3", "b"),
    "bins": ("4",),
    "range": ("(0.0, 1.0)",),
    "density": ("True",),
    "base": ("2.0",),
    "num": ("4",),
    "endpoint": ("False",),
    "axes_of_square": ("[(0, 1), (0, 1), (0, 1)]",),
}
"""What is given for an optional argument of this name.  The first is also what pairs of arguments use."""

FUNCTIONS: dict[str, tuple[str, ...]] = {
    # name: its required arguments
    **{f"np.{n}": ("a",) for n in """all amax amin any argmax argmin around average cumprod cumsum cumulative_prod cumulative_sum
        count_nonzero diff flip max mean median min nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean
        nanmedian nanmin nanprod nanstd nansum nanvar prod ptp round sort squeeze std sum trace trapezoid unstack var
        argsort unwrap copy ravel diagonal real imag angle tril triu transpose gradient nonzero array asarray
        asanyarray ascontiguousarray atleast_2d fliplr sinc fix isneginf isposinf real_if_close swapaxes
        matrix_transpose""".split() if hasattr(np, n)},
    "np.swapaxes": ("a", "0", "1"),
    "np.append": ("a", "b"),
    "np.choose": ("np.array([0, 1, 0])", "[a[0], b[0]]"),
    "np.clip": ("a", "0.4", "0.6"),
    "np.compress": ("[True, False, True]", "a"),
    "np.concatenate": ("[a, b]",),
    "np.stack": ("[a, b]",),
    "np.vstack": ("[a, b]",),
    "np.hstack": ("(a, b)",),
    "np.cross": ("a", "b"),
    "np.delete": ("a", "1"),
    "np.dot": ("a", "b"),
    "np.expand_dims": ("a", "1"),
    "np.inner": ("a", "b"),
    "np.insert": ("a", "1", "0.5"),
    "np.kron": ("a", "b"),
    "np.moveaxis": ("a", "0", "1"),
    "np.nanpercentile": ("a", "30.0"),
    "np.nanquantile": ("a", "[0.3, 0.8]"),
    "np.outer": ("a", "b"),
    "np.partition": ("a", "1"),
    "np.percentile": ("a", "[30.0, 80.0]"),
    "np.quantile": ("a", "0.3"),
    "np.repeat": ("a", "2"),
    "np.reshape": ("a", "(9, 1)"),
    "np.roll": ("a", "1"),
    "np.searchsorted": ("np.sort(a[0])", "b"),
    "np.select": ("[MASK, ~MASK]", "[a, b]"),
    "np.take": ("a", "[1, 0, 1]"),
    "np.take_along_axis": ("a", "np.array([[0, 1, 1]])"),
    "np.tensordot": ("a", "b"),
    "np.tile": ("a", "2"),
    "np.vdot": ("a", "b"),
    "np.where": ("MASK", "a", "b"),
    "np.interp": ("b", "np.array([0.1, 0.4, 0.9])", "a[0]"),
    "np.full_like": ("a", "a[0, 0]"),
    "np.full": ("(2, 2)", "a[0, 0]"),
    "np.linspace": ("a[0]", "b[1]"),
    "np.einsum": ("'ij,jk->ik'", "a", "b"),
    "np.linalg.norm": ("a",),
    "np.linalg.multi_dot": ("[a, b, a]",),
    "np.linalg.det": ("a",),
    "np.linalg.inv": ("a + 3 * np.eye(3)",),
    "np.linalg.solve": ("a + 3 * np.eye(3)", "b"),
    "np.linalg.cholesky": ("a @ a.T + np.eye(3)",),
    "np.linalg.eigvalsh": ("a + a.T",),
    "np.linalg.matrix_power": ("a", "3"),
    **{
        f"np.linalg.{n}": ("a",)
        for n in ("vector_norm", "matrix_norm", "diagonal", "trace", "svdvals", "matrix_transpose")
        if hasattr(np.linalg, n)
    },
    **{f"np.linalg.{n}": ("a", "b") for n in ("vecdot", "outer", "cross", "matmul") if hasattr(np.linalg, n)},
    **{f"np.fft.{n}": ("a",) for n in "fft ifft rfft irfft hfft ihfft fft2 ifft2 fftn rfft2 rfftn irfftn".split()},
}  # fmt: skip

METHODS: dict[str, tuple[tuple[str, ...], str]] = {
    # name: its required arguments, and the others with their defaults as the method in C has them
    **{n: ((), "axis=None, dtype=None, out=None, keepdims=False, *, where=True") for n in ("all", "any")},
    **{n: ((), "axis=None, out=None, *, keepdims=False") for n in ("argmax", "argmin")},
    **{n: ((), "axis=None, out=None, keepdims=False, initial=0.0, where=True") for n in ("max", "min")},
    **{n: ((), "axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True") for n in ("sum", "prod")},
    **{n: ((), "axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True") for n in ("std", "var")},
    **{n: ((), "axis=None, dtype=None, out=None") for n in ("cumsum", "cumprod")},
    **{n: ((), "order='C'") for n in ("copy", "flatten", "ravel")},
    **{n: ((), "axis=-1, kind=None, order=None") for n in ("sort", "argsort")},
    **{n: ((), "") for n in ("conj", "conjugate", "nonzero", "transpose", "item", "tolist")},
    "astype": (("float",), "order='K', casting='unsafe', subok=True, copy=True"),
    "choose": (("[a, b]",), "*, out=None, mode='raise'"),
    "clip": ((), "min=None, max=None, out=None, *, where=True, dtype=None, casting='same_kind'"),
    "compress": (("[True, False, True]",), "axis=None, out=None"),
    "diagonal": ((), "offset=0, axis1=0, axis2=1"),
    "dot": (("b",), "out=None"),
    "fill": (("a[0, 0]",), ""),
    "mean": ((), "axis=None, dtype=None, out=None, keepdims=False, *, where=True"),
    "partition": (("1",), "axis=-1, kind='introselect', order=None"),
    "put": (("[0, 4]", "[0.3, 0.4]"), "mode='raise'"),
    "repeat": (("2",), "axis=None"),
    "reshape": (("(9, 1)",), "*, order='C'"),
    "round": ((), "decimals=0, out=None"),
    "searchsorted": (("b[0]",), "side='left'"),
    "squeeze": ((), "axis=None"),
    "swapaxes": (("0", "1"), ""),
    "take": (("[1, 0, 1]",), "axis=None, out=None, mode='raise'"),
    "trace": ((), "offset=0, axis1=0, axis2=1, dtype=None, out=None"),
}

UFUNC_METHODS: dict[str, tuple[tuple[str, ...], str]] = {
    "reduce": (("a",), "axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True"),
    "accumulate": (("a",), "axis=0, dtype=None, out=None"),
    "reduceat": (("a", "[0, 2]"), "axis=0, dtype=None, out=None"),
    "outer": (("a[0]", "b"), "*, out=None, where=True, dtype=None, casting='same_kind', order='K'"),
    "at": (("a", "[0, 1, 0]", "b"), ""),
}

FOLDED = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "fmin",
    "hypot",
    "logaddexp",
    "logical_and",
    "arctan2",
    "power",
)
"""The ufuncs whose methods are called."""

SHIFTED = {"arccosh": "a + 1", "matvec": "a", "vecmat": "a[0]"}
"""The first argument of a ufunc, where it is not ``a``."""

OUT = {
    "new": "np.full({shape}, 0.5) + a[0, 0]",
    "itself": "a",
    "strided": "np.ones({wide})[{stride}]",
    "overlapping": "a[::-1]",
    "transposed": "a.T",
}
"""The memory that a result is written to."""


@dataclass(frozen=True)
class Callee:
    """A function as it is written, its required arguments, and the names and defaults of the others."""

    text: str
    required: tuple[str, ...]
    names: tuple[str | None, ...]  # of the required arguments, None where they have to stand by position
    positional: tuple[tuple[str, str], ...] = ()  # name and default, "" if it cannot be written
    keywords: tuple[str, ...] = ()
    results: int = 1


@dataclass(frozen=True)
class Form:
    """One call: its text, and what ``out`` is, if it is given."""

    callee: Callee
    arguments: tuple[str, ...]
    out: str = ""

    @property
    def text(self) -> str:
        return f"{self.callee.text}({', '.join(self.arguments)})"

    @property
    def name(self) -> str:
        return self.text + (f"  # out: {self.out}" if self.out else "")


def callees() -> Iterator[Callee]:
    """Every function, array method, ufunc and method of a ufunc that is called."""
    for name, required in FUNCTIONS.items():
        yield of_signature(name, required, inspect.signature(eval(name)))
    for name, (required, others) in METHODS.items():
        receiver = "np.array([0, 1, 0])" if name == "choose" else "np.sort(a[0])" if name == "searchsorted" else "a"
        yield of_signature(f"{receiver}.{name}", required, inspect.signature(eval(f"lambda {others}: 0")), False)
    for ufunc in sorted({f for f in vars(np).values() if isinstance(f, np.ufunc)}, key=lambda f: f.__name__):
        required = (SHIFTED.get(ufunc.__name__, "a"), "b")[: ufunc.nin]
        if any(kinds.startswith("i" * ufunc.nin) for kinds in ufunc.types) and not any("d" in k for k in ufunc.types):
            continue  # of integers or of dates
        if ufunc.__name__ in ("ldexp",):
            required = ("a", "np.array([0, 1, 2])")
        keywords = ["dtype", "casting", "order", "subok", *(["axis", "keepdims"] if ufunc.signature else ["where"])]
        outs = tuple((f"out{i}" if ufunc.nout > 1 else "out", "None") for i in range(ufunc.nout))
        names = (None,) * ufunc.nin
        yield Callee(f"np.{ufunc.__name__}", required, names, outs, ("out", *keywords), ufunc.nout)
    for name in FOLDED:
        for method, (required, others) in UFUNC_METHODS.items():
            signature = inspect.signature(eval(f"lambda {others}: 0"))
            yield of_signature(f"np.{name}.{method}", required, signature, False)


def of_signature(text: str, required: tuple[str, ...], signature: inspect.Signature, named: bool = True) -> Callee:
    """``named``: the signature begins with the required arguments, which may be given by name where it says so."""
    parameters = list(signature.parameters.values())
    names: list[str | None] = [None] * len(required)
    if named:
        for i, p in enumerate(parameters[: len(required)]):
            if p.kind is p.VAR_POSITIONAL:
                break
            names[i] = p.name if p.kind is p.POSITIONAL_OR_KEYWORD else None
        parameters = parameters[len(required) :]
    positional = [
        (p.name, written(p.default)) for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    keywords = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if text == "np.clip":
        keywords += ["where", "dtype", "casting"]
    return Callee(text, required, tuple(names), tuple(positional), tuple(keywords))


def written(default: Any) -> str:
    return repr(default) if default is None or isinstance(default, (bool, int, float, str)) else ""


def forms(callee: Callee) -> Iterator[Form]:
    """The forms of one function: none, each one and each two of the optional arguments, in every way of passing them."""
    styles = [callee.required]
    if any(callee.names):
        first = next(i for i, name in enumerate(callee.names) if name)
        styles.append(
            tuple(f"{n}={x}" if n and i >= first else x for i, (n, x) in enumerate(zip(callee.names, callee.required)))
        )
    for required in styles:
        yield Form(callee, required)
    names = list(dict.fromkeys([*(name for name, _ in callee.positional), *callee.keywords]))
    names = [name for name in names if name.startswith("out") or VALUES.get(name)]
    for size in (1, 2):
        for chosen in itertools.combinations(names, size):
            if sum(name.startswith("out") for name in chosen) > 1:
                continue
            values = [tuple(OUT) if n.startswith("out") else VALUES[n] if size == 1 else VALUES[n][:1] for n in chosen]
            for given in itertools.product(*values):
                for arguments in passed(callee, dict(zip(chosen, given))):
                    out = next((x for n, x in zip(chosen, given) if n.startswith("out")), "")
                    yield Form(callee, (*callee.required, *arguments), out)
                if any(callee.names) and all(n in callee.keywords for n in chosen) and callee.results == 1:
                    arguments = (f"{n}={as_argument(n, x)}" for n, x in zip(chosen, given))
                    yield Form(callee, (*styles[1], *arguments), dict(zip(chosen, given)).get("out", ""))


def passed(callee: Callee, given: dict[str, str]) -> list[tuple[str, ...]]:
    """The ways to pass optional arguments: all by name, and as many as possible by position."""
    found = []
    if all(n in callee.keywords for n in given):
        if callee.results > 1 and "out" in given:
            outs = [as_argument("out", given["out"]), *["None"] * (callee.results - 1)]
            found.append(tuple(f"{n}=({', '.join(outs)})" if n == "out" else f"{n}={x}" for n, x in given.items()))
        else:
            found.append(tuple(f"{n}={as_argument(n, x)}" for n, x in given.items()))
    places = [n for n, _ in callee.positional]
    last = max((places.index(n) for n in given if n in places), default=-1)
    if last >= 0:
        front = [
            (n, as_argument(n, given[n]) if n in given else default) for n, default in callee.positional[: last + 1]
        ]
        behind = [(n, x) for n, x in given.items() if n not in places]
        if all(x for _, x in front) and all(n in callee.keywords for n, _ in behind):
            found.append((*(x for _, x in front), *(f"{n}={as_argument(n, x)}" for n, x in behind)))
    return found


def as_argument(name: str, value: str) -> str:
    return "out" if name.startswith("out") else value


@cache
def all_forms() -> tuple[Form, ...]:
    return tuple({form.name: form for callee in callees() for form in forms(callee)}.values())


# Running one


MASK = np.array([[True, False, True], [False, True, True], [True, True, False]])


@cache
def weights(shape: tuple[int, ...], k: int) -> np.ndarray:
    return np.random.default_rng([k, *shape]).uniform(0.5, 1.5, shape)


def weighed(*values: Any) -> Any:
    """A number that depends on every entry of some results."""
    total = 0.0
    for k, v in enumerate(values):
        if isinstance(v, (tuple, list)):
            total = total + weighed(*v)
        elif v is not None:
            v = np.asarray(v)
            if v.dtype.kind == "c":
                v = v.real + 0.7 * v.imag
            if v.dtype.kind in "fiub":
                total = total + np.sum(v * weights(v.shape, k))
    return total


def defined(r: Any) -> Any:
    """The elements that a ufunc was told to compute."""
    return [np.where(MASK & MASK[0], e, 0.0) for e in r] if isinstance(r, tuple) else np.where(MASK & MASK[0], r, 0.0)


def compiled_program(form: Form, out: str) -> Any:
    """``program`` with the weights of the results written out, which any path can compile."""
    lines = ["a = x * 1.0", "b = x * 0.5 + 0.3", *([f"out = {out}"] if form.out else []), f"r = {form.text}"]
    found: dict[str, Any] = {"np": np, "MASK": MASK, "x": X.copy()}
    exec("\n".join(lines), found)
    results = (
        {f"r[{i}]": e for i, e in enumerate(found["r"])} if isinstance(found["r"], (tuple, list)) else {"r": found["r"]}
    )
    results |= {name: found[name] for name in ("out", "a") if name in found}
    scope: dict[str, Any] = {"np": np, "MASK": MASK}
    terms = []
    for i, (name, e) in enumerate(results.items()):
        if e is not None:
            scope[f"W{i}"] = weights(np.shape(e), i)
            terms.append(f"np.sum(np.real({name}) * W{i})" if np.iscomplexobj(e) else f"np.sum({name} * W{i})")
    return function_of([*lines, f"return {' + '.join(terms)}"], f"<{form.name}>", scope)


def function_of(lines: list[str], filename: str, scope: dict[str, Any]) -> Any:
    text = "\n".join(["def f(x):", *("    " + line for line in lines)])
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), scope)
    return scope["f"]


def program(form: Form, out: str, recorded: bool) -> Any:
    """A program that calls the form; ``out``: the expression for what the result is written to."""
    lines = ["a = x * 1.0", "b = x * 0.5 + 0.3"]
    if form.out:
        lines.append(f"out = {out}")
    if form.out or recorded:
        kept = "r" if is_defined(form) else "defined(r)"
        lines += [f"r = {form.text}", f"return weighed({kept}, {'out' if form.out else '0.0'}, a)"]
        lines = ["try:", *("    " + line for line in lines), "finally:", "    pass"]
    else:
        lines.append(f"return np.sum({form.text})" if not is_complex(form) else f"return np.sum(np.real({form.text}))")
    scope = {"np": np, "MASK": MASK, "weighed": weighed, "defined": defined}
    return function_of(lines, f"<{form.name} {recorded}>", scope)


def is_defined(form: Form) -> bool:
    """What a ufunc leaves where its condition does not hold is not defined, unless it was given memory.

    NumPy's ``choose`` with a mode other than "raise" writes the result one element after the other, past the strides of ``out``.
    """
    if "choose" in form.text and ("wrap" in form.text or "clip" in form.text):
        return form.out in ("", "new", "itself")
    if "where=MASK" not in form.text or form.out and form.callee.results == 1:
        return True
    name = form.callee.text.removeprefix("np.").removesuffix(".outer")
    return not isinstance(getattr(np, name, None), np.ufunc) and form.callee.text not in ("np.clip", "a.clip")


def is_complex(form: Form) -> bool:
    try:
        return np.iscomplexobj(eval(form.text, {"np": np, "MASK": MASK, "a": X * 1.0, "b": X * 0.5 + 0.3, "x": X}))
    except Exception:
        return False


def out_of(form: Form) -> str | None:
    """The expression for ``out``; None if it cannot be made for the shape of the result."""
    kind = form.out
    if not kind or kind in ("itself", "overlapping", "transposed"):
        return OUT.get(kind, "")
    arguments = [x for x in form.arguments if x != "out" and not x.startswith("out=")]
    if len(arguments) < len(form.arguments) and "out" in form.arguments:
        i = form.arguments.index("out")
        arguments = [
            *form.arguments[:i],
            *(["None"] if i + 1 < len(form.arguments) or True else []),
            *form.arguments[i + 1 :],
        ]
    scope = {"np": np, "MASK": MASK, "a": X * 1.0, "b": X * 0.5 + 0.3, "x": X}
    try:
        y = eval(f"{form.callee.text}({', '.join(arguments)})", scope)
    except Exception:
        y = X
    y = np.asarray(y[0] if isinstance(y, tuple) else y)
    if y.dtype.kind not in "fc":
        text = f"np.zeros({y.shape}, np.{y.dtype})"
        return text if kind == "new" else None
    if kind == "strided":
        if not y.shape:
            return None
        wide = (*y.shape[:-1], 2 * y.shape[-1])
        made = OUT[kind].format(wide=wide, stride="..., ::2")
    else:
        made = OUT[kind].format(shape=y.shape)
    return made if y.dtype == float else f"({made}).astype(np.{y.dtype})"


@dataclass
class Verdict:
    form: Form
    kind: str  # right, refused, raises, wrong, crashes
    message: str = ""


def verdict(form: Form, recorded: bool = True) -> Verdict | None:
    """Return the gradient of a form; None if it is not defined or cannot be differenced."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        out = out_of(form)
        if out is None or not recorded and (form.out or not is_defined(form)):
            return None
        f = program(form, out, recorded)
        expected, error = attempt(lambda: f(X.copy()))
        if error is None and expected is None:
            return None  # a method that writes into its array, which the form without a tape does not look at
        try:
            value, gradient = mo.value_and_grad(f)(X.copy())
        except mo.MorulaError as refusal:
            if error is not None:
                return Verdict(form, "crashes", f"{type(refusal).__name__} for {error!r}: {refusal}")
            return Verdict(form, "refused", str(refusal))
        except Exception as found:
            if error is None:
                return Verdict(form, "crashes", f"{type(found).__name__}: {found}")
            if isinstance(found, type(error)):
                return Verdict(form, "raises")
            return Verdict(form, "crashes", f"{type(found).__name__}: {found}; NumPy: {error!r}")
        if error is not None:
            return Verdict(form, "wrong", f"runs where NumPy raises {error!r}")
        single = "float32" in form.text
        close = 1e-6 if single else 1e-10
        if not np.allclose(value, expected, close, close, equal_nan=True):
            return Verdict(form, "wrong", f"the value is {value}, NumPy's {expected}")
        direction = weights(SHAPE, 99)
        slope = difference(lambda t: f(X + t * direction), single)
        if not np.isfinite(slope):
            return None
        found = float(np.sum(gradient * direction))
        if not abs(slope - found) <= (2e-2 if single else 1e-6) * max(1, abs(slope)):
            return Verdict(form, "wrong", f"the slope is {found}, differences give {slope}")
    return Verdict(form, "right")


def attempt(f: Any) -> tuple[Any, Exception | None]:
    try:
        return f(), None
    except Exception as error:
        return None, error


def difference(f: Any, single: bool) -> float:
    """The slope at zero by few extrapolated differences; single precision bears little of that."""
    return ridders(f, 6e-4, levels=2 if single else 3, resolution=2.0**-24 if single else 2.0**-53)[0]


def compiled_verdict(form: Form, target: str) -> Verdict | None:
    """``verdict`` of a form that NumPy takes, compiled."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        out = out_of(form)
        if out is None or not is_defined(form):
            return None
        try:
            f = compiled_program(form, out)
            expected = f(X.copy())
        except Exception:
            return None
        try:
            value, gradient = mo.jit(mo.value_and_grad(f), target=target)(X.copy())
        except mo.MorulaError as refusal:
            return Verdict(form, "refused", str(refusal))
        except Exception as error:
            return Verdict(form, "crashes", repr(error))
        single = "float32" in form.text
        close = 1e-6 if single else 1e-10
        if not np.allclose(value, expected, close, close, equal_nan=True):
            return Verdict(form, "wrong", f"the value is {value}, NumPy's {expected}")
        direction = weights(SHAPE, 99)
        slope, found = difference(lambda t: f(X + t * direction), single), float(np.sum(gradient * direction))
        if np.isfinite(slope) and not abs(slope - found) <= (2e-2 if single else 1e-6) * max(1, abs(slope)):
            return Verdict(form, "wrong", f"the slope is {found}, differences give {slope}")
    return Verdict(form, "right")
