"""Generates ``coverage.md``: every public name of NumPy's and SciPy's array, FFT, linear algebra and special function modules.

    python docs/coverage.py

Functions with a rule are found in the table of rules.  Each function that is differentiated from its Python source has a
call here, which the tests differentiate and compare with differences.  All other names are listed here with the reason why
they have no derivative.  A name in none of these tables is reported as missing, and a test fails.
"""

from __future__ import annotations

import importlib
import re
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy import polynomial
from scipy import linalg, special

from morula.core.rules import find_model, find_rule
from morula.core.rules.registry import HANDLERS

PAGE = Path(__file__).with_name("coverage.md")
MODULES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.polynomial", "scipy.linalg", "scipy.special", "scipy.fft")

random = np.random.default_rng(3)
A = random.uniform(-1, 1, (3, 4))
V = random.uniform(0.5, 1.5, 5)
W = V[:3] + 2
KNOTS = np.array([0.1, 0.4, 0.8, 1.0, 1.7])
SQUARE = random.uniform(-1, 1, (3, 3))
POSITIVE = SQUARE @ SQUARE.T + 2 * np.eye(3)
BAND = np.array([[0.3, 0.2], [4.0, 5.0]])
UNIT = np.array([0.2, 0.5, 0.8])

Call = tuple[Any, ...]
SOURCE: dict[str, dict[str, list[Call]]] = {
    "numpy": {
        "apply_along_axis": [(lambda x: np.apply_along_axis(lambda line: line * line.sum(), 1, x), A)],
        "apply_over_axes": [(lambda x: np.apply_over_axes(np.prod, x, [0, 1]), A[:2, :2])],
        "asmatrix": [(lambda x: np.asarray(np.asmatrix(x).T * x), A)],
        "bmat": [(lambda x: np.asarray(np.bmat([[x, x * 2]])), A)],
        "corrcoef": [(lambda x: np.corrcoef(x), A), (lambda x, y: np.corrcoef(x, y), V, KNOTS)],
        "cov": [
            (lambda x: np.cov(x), A),
            (lambda x, w: np.cov(x, aweights=w, ddof=0), A, V[:4]),
            (lambda x, y: np.cov(x, y, rowvar=False), A, A[:, :1] + 1),
        ],
        "c_": [(lambda x: np.c_[x, x**2], V)],
        "frompyfunc": [(lambda x: np.frompyfunc(lambda a: a * a, 1, 1)(x).astype(float), V)],
        "fromfunction": [(lambda c: np.fromfunction(lambda i, j: c**2 * i + j, (2, 3)), 2.0)],
        "gradient": [
            (lambda x: np.gradient(x), V),
            (lambda x: np.gradient(x), A),
            (lambda x: np.gradient(x, axis=0), A),
            (lambda x, h: np.gradient(x, h, edge_order=2), V, 0.3),
            (lambda x, t: np.gradient(x, t), V, KNOTS),
        ],
        "histogram2d": [(lambda w: np.histogram2d(V, V, bins=3, weights=w)[0], V)],
        "histogramdd": [(lambda w: np.histogramdd(np.stack([V, V], 1), bins=3, weights=w)[0], V)],
        "histogram_bin_edges": [(lambda x: np.histogram_bin_edges(x, 3), V)],
        "intersect1d": [(lambda x: np.intersect1d(x, x), V)],
        "kaiser": [(lambda beta: np.kaiser(5, beta), 2.0)],
        "matrix": [(lambda x: np.asarray(np.matrix(x).I), POSITIVE)],
        "mgrid": [(lambda a, b: np.mgrid[a:b:4j, 0:1:3j], 0.3, 1.2)],
        "ndenumerate": [(lambda x: sum(i[1] * e * e for i, e in np.ndenumerate(x)), A)],
        "ndindex": [(lambda x: sum(x[i] ** 2 * i[1] for i in np.ndindex(x.shape)), A)],
        "ogrid": [(lambda a, b: np.ogrid[a:b:4j, 0:b:3j][1], 0.3, 1.2)],
        "piecewise": [(lambda x: np.piecewise(x, [x < 1, x >= 1], [lambda t: t**2, lambda t: t**3]), V)],
        "poly": [(lambda x: np.poly(x), V)],
        "poly1d": [(lambda p, x: (np.poly1d(p) * np.poly1d(p).deriv())(x), W, V)],
        "polyadd": [(lambda p, q: np.polyadd(p, q), V, W)],
        "polyder": [(lambda p: np.polyder(p), V)],
        "polydiv": [(lambda p, q: np.polydiv(p, q), V, W)],
        "polyfit": [(lambda x, y: np.polyfit(x, y, 2), KNOTS, V)],
        "polyint": [(lambda p: np.polyint(p), V)],
        "polymul": [(lambda p, q: np.polymul(p, q), V, W)],
        "polysub": [(lambda p, q: np.polysub(p, q), V, W)],
        "polyval": [(lambda p, x: np.polyval(p, x), V, A)],
        "r_": [(lambda x, s: np.r_[x, s, x[:2] ** 2], V, 1.5)],
        "recarray": [(lambda x: np.rec.fromarrays([x, x * 2], names="u,v").v ** 2, V)],  # type: ignore[arg-type]
        "roots": [(lambda p: np.roots(p), np.array([1.0, -6.0, 11.0, -6.1]))],
        "row_stack": [(lambda x: getattr(np, "row_stack", np.vstack)([x, x]), V)],
        "setdiff1d": [(lambda x, y: np.setdiff1d(x, y), V, W)],
        "setxor1d": [(lambda x, y: np.setxor1d(x, y), V, W)],
        "trim_zeros": [(lambda x: np.trim_zeros(x) ** 2, V)],
        "union1d": [(lambda x, y: np.union1d(x, y), V, W)],
        "vectorize": [(lambda x, k: np.vectorize(lambda a, b: a * a * b)(x, k), A, 0.3)],
    },
    "numpy.polynomial": {
        name: [(lambda a, x, name=name: (getattr(polynomial, name)(a) ** 2).deriv()(x), W, UNIT)]
        for name in "Chebyshev Hermite HermiteE Laguerre Legendre Polynomial".split()
    },
    "scipy.linalg": {
        "cdf2rdf": [
            (lambda a: linalg.cdf2rdf(*np.linalg.eig(a))[0], np.array([[1.0, 2, 0], [-2, 1.5, 0.3], [0.1, 0, 3]]))
        ],
        "cho_solve_banded": [
            (lambda a, b: linalg.cho_solve_banded((linalg.cholesky_banded(a, lower=True), True), b), BAND[::-1], V[:2])
        ],
        "cholesky_banded": [
            (lambda a: linalg.cholesky_banded(np.vstack([np.r_[0, a[:2]], a[2:]])), np.r_[BAND.ravel(), 6])
        ],
        "clarkson_woodruff_transform": [(lambda a: linalg.clarkson_woodruff_transform(a, 2, rng=0), A)],
        "companion": [(linalg.companion, V)],
        "convolution_matrix": [(lambda a: linalg.convolution_matrix(a, 3, mode="same"), V)],
        "coshm": [(linalg.coshm, SQUARE)],
        "cosm": [(linalg.cosm, SQUARE)],
        "cossin": [(lambda a: linalg.cossin(linalg.expm(a - a.T), 1, 2)[1], SQUARE)],
        "diagsvd": [(lambda s: linalg.diagsvd(s, 3, 4), W)],
        "expm_cond": [(linalg.expm_cond, SQUARE[:2, :2])],
        "expm_frechet": [(linalg.expm_frechet, SQUARE, POSITIVE)],
        "fiedler": [(linalg.fiedler, V)],
        "fiedler_companion": [(linalg.fiedler_companion, V)],
        "funm": [(lambda a: linalg.funm(a, np.exp), POSITIVE)],
        "khatri_rao": [(linalg.khatri_rao, A, A + 1)],
        "leslie": [(linalg.leslie, V, V[:4] / 2)],
        "matmul_toeplitz": [(linalg.matmul_toeplitz, V, V[::-1] ** 2)],
        "null_space": [(lambda a: np.abs(linalg.null_space(a)), A)],
        "orth": [(lambda a: linalg.orth(a) @ linalg.orth(a).T, A.T)],
        "orthogonal_procrustes": [(linalg.orthogonal_procrustes, A.T, A.T + SQUARE[0])],
        "ordqz": [(lambda a: linalg.ordqz(a, POSITIVE)[2] / linalg.ordqz(a, POSITIVE)[3], SQUARE)],
        "qr_multiply": [(lambda a, c: linalg.qr_multiply(a, c)[0], A.T, A[:2])],
        "qz": [(lambda a: np.abs(linalg.qz(a, POSITIVE, output="complex")[0]), SQUARE)],
        "sinhm": [(linalg.sinhm, SQUARE)],
        "sinm": [(linalg.sinm, SQUARE)],
        "solve_circulant": [(linalg.solve_circulant, V + np.eye(5)[0] * 4, V[::-1] ** 2)],
        "subspace_angles": [(linalg.subspace_angles, A.T[:, :2], A.T[:, 1:] + 0.1)],
        "tanhm": [(linalg.tanhm, SQUARE / 2)],
        "tanm": [(linalg.tanm, SQUARE / 2)],
    },
    "scipy.special": {
        "comb": [(special.comb, 4.5, 2.3)],
        "diric": [(lambda x: special.diric(x, 4), UNIT)],
        "factorial": [(special.factorial, 3.5)],
        "perm": [(special.perm, 4.5, 2.3)],
        **{
            name: [(lambda x, name=name: getattr(special, name)(3)(x), UNIT)]
            for name in """chebyc chebys chebyt chebyu hermite hermitenorm laguerre legendre sh_chebyt sh_chebyu
                sh_legendre""".split()
        },
    },
    "scipy.fft": {"fhtoffset": [(lambda mu: scipy.fft.fhtoffset(0.1, mu), 0.4)]},
}
"""Names that are differentiated from their source or the source of functions they call, with calls that the tests run."""

NOTHING: dict[str, dict[str, str]] = {
    "numpy": {
        "text": """array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific
            datetime_as_string datetime_data info typename""",
        "settings": """errstate get_include get_printoptions getbufsize geterr geterrcall printoptions set_printoptions
            setbufsize seterr seterrcall show_config show_runtime test""",
        "query about types": """can_cast common_type isdtype isfortran issubdtype iterable min_scalar_type mintypecode
            promote_types finfo iinfo""",
        "dates": "busday_count busday_offset busdaycalendar is_busday",
        "an index": "s_ index_exp",
    },
    "scipy.linalg": {
        "only integer arguments (orders or sizes)": "dft hadamard helmert hilbert invhilbert invpascal pascal",
        "a query, a function lookup or an exception": """bandwidth ishermitian issymmetric find_best_blas_type get_blas_funcs
            get_lapack_funcs LinAlgError LinAlgWarning""",
    },
    "numpy.polynomial": {"settings": "set_default_printstyle"},
    "numpy.linalg": {"a query, a function lookup or an exception": "LinAlgError"},
    "scipy.special": {
        "only integer arguments (orders or sizes)": """ai_zeros bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros c_roots cg_roots erf_zeros
            euler factorial2 factorialk fresnel_zeros fresnelc_zeros fresnels_zeros h_roots he_roots jn_zeros jnjnp_zeros
            jnp_zeros jnyn_zeros kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros l_roots p_roots ps_roots
            roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_hermite roots_hermitenorm roots_laguerre
            roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_legendre s_roots stirling2 t_roots ts_roots u_roots
            us_roots y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros""",
        "settings": "errstate geterr seterr SpecialFunctionError SpecialFunctionWarning",
    },
    "scipy.fft": {
        "settings": """get_workers register_backend set_backend set_global_backend set_workers skip_backend
            next_fast_len prev_fast_len"""
    },
}
"""Names through which no derivative passes, because no argument or no result is a number that can vary; by kind."""

REFUSED: dict[str, dict[str, str]] = {
    "numpy": {
        "operates on the bits of numbers": "packbits unpackbits",
        "reads or writes bytes or files, which carry no derivative": """frombuffer fromfile fromregex fromstring genfromtxt
            load loadtxt memmap save savetxt savez savez_compressed""",
        "shares memory with another library": "from_dlpack",
    },
}
"""Names without derivative: their result is a constant, or the call is refused; by reason."""

MISSING: dict[str, dict[str, str]] = {
    "scipy.special": {
        "inverse of a distribution function with respect to a parameter": """bdtrik bdtrin btdtria btdtrib chdtriv chndtridf chndtrinc
            fdtridfd gdtria gdtrib nbdtrik nbdtrin ncfdtridfd ncfdtridfn ncfdtrinc nctdtridf nctdtrinc nrdtrimn nrdtrisd
            pdtrik stdtridf""",
        "SciPy has no function for the derivative": """zetac besselpoly kolmogorov kolmogi smirnov smirnovi
            ncfdtr ncfdtri gdtrix bdtri nbdtri pdtri mathieu_a mathieu_b obl_cv pro_cv mathieu_even_coef
            mathieu_odd_coef obl_cv_seq pro_cv_seq ellip_harm ellip_harm_2 ellip_normal""",
        "SciPy's values for negative arguments differ from the function's": "modfresnelm modfresnelp",
        "formula known, not implemented": "elliprc elliprd elliprf elliprg elliprj kelvin",
        "no derivative with respect to the parameters of the polynomials": """assoc_laguerre gegenbauer genlaguerre jacobi sh_jacobi j_roots js_roots
            la_roots roots_gegenbauer roots_genlaguerre roots_jacobi roots_sh_jacobi""",
    },
    "scipy.fft": {"calls compiled code that has no rule": "fht ifht"},
}
"""Names whose derivative exists but is not known to morula: a cotangent that reaches them is an error; by reason."""


def names_of(module: str) -> list[str]:
    found = importlib.import_module(module)
    return sorted(n for n in {*getattr(found, "__all__", ()), *dir(found)} if _is_public(found, n))


def _is_public(module: Any, name: str) -> bool:
    """Whether a name is public: no module, and in ``__all__`` if there is one; SciPy keeps private names for old programs."""
    if name.startswith("_") or name not in dir(module):
        return False
    return not isinstance(getattr(module, name), types.ModuleType) and name in getattr(module, "__all__", [name])


def reasons(table: dict[str, dict[str, str]], module: str) -> dict[str, str]:
    return {name: reason for reason, names in table.get(module, {}).items() for name in names.split()}


def state(module: str, name: str) -> str:
    """The state of a public name, as in the page's tables."""
    f = getattr(importlib.import_module(module), name)
    rule = _found(find_rule, f)
    if rule is not None:
        unknown = [str(i) for i, p in enumerate(rule.partials, 1) if p is None]
        return "zero" if rule.is_zero else "rule" + f", not in argument {' or '.join(unknown)}" * bool(unknown)
    if _found(find_model, f) is not None:
        return "rule"
    if name in SOURCE.get(module, {}):
        return "source"
    for word, table in (("nothing", NOTHING), ("none", REFUSED), ("missing", MISSING)):
        reason = reasons(table, module).get(name)
        if reason is not None:
            return f"{word}: {reason}"
    if not callable(f):
        return "constant"
    if _found(HANDLERS.get, f) is not None and not (isinstance(f, type) and issubclass(f, np.generic)):
        return "engine"
    return "type" if isinstance(f, type) else "missing"


def _found(find: Callable[[Any], Any], f: Any) -> Any:
    try:
        return find(f)
    except TypeError:  # an unhashable object
        return None


def states() -> dict[str, dict[str, str]]:
    return {module: {name: state(module, name) for name in names_of(module)} for module in MODULES}


LEGEND = {
    "rule": "has a derivative rule; for the arguments that are named, counted from 1, no derivative is known",
    "zero": "the derivative is zero wherever it exists",
    "source": "differentiated from its Python source; tested",
    "engine": "handled by the engine, which follows what it writes, calls or iterates over",
    "nothing": "has no argument or no result that can vary",
    "none": "has no derivative: the result is a constant, or refused",
    "missing": "has a derivative that morula does not know: an error if a cotangent reaches it",
    "type": "a type, or a class",
    "constant": "a constant",
}

HEADER = f"""\
# Coverage

Look up here whether a function can be differentiated and compiled: the tables list every public name of NumPy's and SciPy's array,
Fourier transform, linear algebra and special function modules. [coverage.py](coverage.py) generates this page, and a test compares it with
the code. It was made with NumPy {np.__version__} and SciPy {scipy.__version__}.

The columns native and xla give the result of compiling some calls of each function for these targets: `compiles`, with
the same value and gradient; `in Python`, the same, but compiled code calls the library for a part of it;
`refused`, with an error; empty, if no argument can vary, or no call is tried.

| state | meaning |
|---|---|
"""


Columns = dict[str, dict[str, tuple[str, ...]]]


def compiled(only: Any = lambda i: True) -> Columns:
    """The state of each name with examples on each target of ``jit``; ``only`` selects names by number."""
    from coverage_compiled import TARGETS, few, rule_examples, state as tried

    by_rule = rule_examples()
    found: Columns = {}
    count = 0
    for module in MODULES:
        for name in names_of(module):
            calls = [(call[0], call[1:], {}) for call in SOURCE.get(module, {}).get(name, ())]
            f = getattr(importlib.import_module(module), name)
            rule = _found(find_rule, f)
            calls = calls or few(by_rule.get(rule.function if rule is not None else None, ()))
            if calls:
                if only(count):
                    found.setdefault(module, {})[name] = tuple(tried(calls, target) for target in TARGETS)
                count += 1
    return found


def page(found: dict[str, dict[str, str]], columns: Columns) -> str:
    lines = [HEADER + "\n".join(f"| {word} | {meaning} |" for word, meaning in LEGEND.items()), ""]
    kinds = {module: Counter(re.split("[:,]", text)[0] for text in names.values()) for module, names in found.items()}
    lines += ["| module | " + " | ".join(LEGEND) + " |", "|---" * (len(LEGEND) + 1) + "|"]
    lines += [f"| {m} | " + " | ".join(str(kinds[m][word] or "") for word in LEGEND) + " |" for m in found]
    for module, names in found.items():
        lines += ["", f"## {module}", "", "| name | state | native | xla |", "|---|---|---|---|"]
        for name, text in names.items():
            lines.append(f"| `{name}` | {text} | {' | '.join(columns.get(module, {}).get(name, ('', '')))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(states(), compiled()))
