"""No function of NumPy is forgotten: each has a rule, or source that is differentiated, or a stated reason for neither."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.rules import load
from morula.core.rules.table import RULES

load()

NOT_DIFFERENTIABLE = {
    "object or string results": """array2string array_repr array_str base_repr binary_repr typename info
        format_float_positional format_float_scientific datetime_as_string datetime_data""",
    "files, buffers, settings and other input and output": """from_dlpack frombuffer fromfile fromiter fromregex
        fromstring genfromtxt load loadtxt save savetxt savez savez_compressed get_include get_printoptions getbufsize
        geterr geterrcall set_printoptions setbufsize seterr seterrcall printoptions show_config show_runtime test
        nested_iters""",
    "questions about types": """can_cast common_type isdtype issubdtype iterable min_scalar_type mintypecode
        promote_types isfortran""",
    "bits, dates and integers": """busday_count busday_offset is_busday packbits unpackbits gcd lcm bitwise_and
        bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
        invert left_shift right_shift isnat""",
    "functions that call a Python function from C, once for each element": "frompyfunc",
    "matrix objects": "asmatrix bmat",
    "source that has a test of its own below": "kaiser",
}

WRITERS = "copyto fill_diagonal place put put_along_axis putmask"
"""They write into their argument, which is the engine's part, and return nothing."""

random = np.random.default_rng(3)
A = random.uniform(-1, 1, (3, 4))
V = random.uniform(0.5, 1.5, 5)
W = V[:3] + 2
KNOTS = np.array([0.1, 0.4, 0.8, 1.0, 1.7])

VIA_SOURCE = {
    "apply_along_axis": [(lambda x: np.apply_along_axis(lambda line: line * line.sum(), 1, x), (A,))],
    "apply_over_axes": [(lambda x: np.apply_over_axes(np.prod, x, [0, 1]), (A[:2, :2],))],
    "corrcoef": [(lambda x: np.corrcoef(x), (A,)), (lambda x, y: np.corrcoef(x, y), (V, KNOTS))],
    "cov": [
        (lambda x: np.cov(x), (A,)),
        (lambda x, w: np.cov(x, aweights=w, ddof=0), (A, V[:4])),
        (lambda x, y: np.cov(x, y, rowvar=False), (A, A[:, :1] + 1)),
    ],
    "fromfunction": [(lambda c: np.fromfunction(lambda i, j: c**2 * i + j, (2, 3)), (2.0,))],
    "gradient": [
        (lambda x: np.gradient(x), (V,)),
        (lambda x: np.gradient(x), (A,)),
        (lambda x: np.gradient(x, axis=0), (A,)),
        (lambda x, h: np.gradient(x, h, edge_order=2), (V, 0.3)),
        (lambda x, t: np.gradient(x, t), (V, KNOTS)),
    ],
    "histogram2d": [(lambda w: np.histogram2d(V, V, bins=3, weights=w)[0], (V,))],
    "histogramdd": [(lambda w: np.histogramdd(np.stack([V, V], 1), bins=3, weights=w)[0], (V,))],
    "histogram_bin_edges": [(lambda x: np.histogram_bin_edges(x, 3), (V,))],
    "intersect1d": [(lambda x: np.intersect1d(x, x), (V,))],
    "piecewise": [(lambda x: np.piecewise(x, [x < 1, x >= 1], [lambda t: t**2, lambda t: t**3]), (V,))],
    "poly": [(lambda x: np.poly(x), (V,))],
    "polyadd": [(lambda p, q: np.polyadd(p, q), (V, W))],
    "polyder": [(lambda p: np.polyder(p), (V,))],
    "polydiv": [(lambda p, q: np.polydiv(p, q), (V, W))],
    "polyfit": [(lambda x, y: np.polyfit(x, y, 2), (KNOTS, V))],
    "polyint": [(lambda p: np.polyint(p), (V,))],
    "polymul": [(lambda p, q: np.polymul(p, q), (V, W))],
    "polysub": [(lambda p, q: np.polysub(p, q), (V, W))],
    "polyval": [(lambda p, x: np.polyval(p, x), (V, A))],
    "real_if_close": [(lambda x: np.real_if_close(x) ** 2, (V,))],
    "roots": [(lambda p: np.roots(p), (np.array([1.0, -6.0, 11.0, -6.1]),))],
    "row_stack": [],
    "setdiff1d": [(lambda x, y: np.setdiff1d(x, y), (V, W))],
    "setxor1d": [(lambda x, y: np.setxor1d(x, y), (V, W))],
    "trim_zeros": [(lambda x: np.trim_zeros(x) ** 2, (V,))],
    "union1d": [(lambda x, y: np.union1d(x, y), (V, W))],
}


def test_every_function_of_numpy_has_a_rule_or_source_or_a_stated_reason_for_neither():
    excused = {name for names in NOT_DIFFERENTIABLE.values() for name in names.split()}
    excused |= set(VIA_SOURCE) | set(WRITERS.split())
    public = {name for name, f in vars(np).items() if name[0] != "_" and callable(f) and not isinstance(f, type)}
    assert sorted(name for name in public - excused if getattr(np, name) not in RULES) == []


@pytest.mark.parametrize(
    ("program", "args"),
    [pytest.param(*case, id=name) for name, cases in VIA_SOURCE.items() for case in cases],
)
def test_a_function_written_in_python_is_differentiated_by_its_source(program, args):
    mo.testing.check_gradients(program, *args, rtol=1e-5)


def test_a_window_of_a_given_shape_is_differentiated_by_its_source():
    mo.testing.check_gradients(lambda beta: np.kaiser(5, beta), 2.0, order=1)


def test_arrays_are_joined_by_the_index_tricks():
    mo.testing.check_gradients(lambda x, s: np.r_[x, s, x[:2] ** 2], V, 1.5)
    mo.testing.check_gradients(lambda x: np.c_[x, x**2], V)


def test_sliding_windows_see_the_array_that_they_look_into():
    windows = np.lib.stride_tricks.sliding_window_view
    mo.testing.check_gradients(lambda x: windows(x, 2).sum(axis=1) ** 2, V)
    mo.testing.check_gradients(lambda x: windows(x**2, 3) @ x[:3], V)
