"""Rules of rearranging, joining, splitting, repeating and padding, and of array methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rule_tester import check_rule

import morula as mo
from morula.core.rules import load
from morula.core.rules.methods import ATTRIBUTES, METHODS
from morula.core.rules.table import RULES, pull

load()

random = np.random.default_rng(5)
A = random.uniform(-2, 2, (2, 3))
B = random.uniform(-2, 2, (2, 3, 4))
Z = A + 1j * random.uniform(-2, 2, (2, 3))
V = random.uniform(0.5, 2, 5)
W = random.uniform(0.5, 2, 3)
S = A.astype(np.float32)
ZERO_D = np.array(0.7)
EMPTY = np.zeros((0, 3))


def case(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    def show(x: Any) -> str:
        if isinstance(x, (list, tuple)):
            return "[" + ", ".join(map(show, x)) + "]"
        return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else str(x)

    named = [f"{k}={show(v)}" for k, v in kwargs.items()]
    return pytest.param(f, args, kwargs, id=f"{f.__name__}({', '.join([*map(show, args), *named])})")


REARRANGED = [
    case(np.reshape, A, (3, 2)),
    case(np.reshape, A, -1),
    case(np.reshape, B, (4, -1), "F"),
    case(np.reshape, Z, 6),
    case(np.reshape, S, (6, 1)),
    case(np.reshape, 1.5, (1, 1)),
    case(np.reshape, [[1.0, 2.0], [3.0, 4.0]], 4),
    case(np.reshape, EMPTY, (3, 0)),
    case(np.ravel, B),
    case(np.ravel, B, "F"),
    case(np.ravel, ZERO_D),
    case(np.ravel, 2.0),
    case(np.squeeze, A[:, None]),
    case(np.squeeze, A[:, None], axis=1),
    case(np.squeeze, A[:1, :1]),
    case(np.expand_dims, A, 0),
    case(np.expand_dims, A, (0, -1)),
    case(np.atleast_1d, 1.5),
    case(np.atleast_2d, V),
    case(np.atleast_3d, A),
    case(np.atleast_2d, 1.5, V, A),
    case(np.transpose, A),
    case(np.transpose, B, (2, 0, 1)),
    case(np.transpose, B, (-1, 0, -2)),
    case(np.transpose, Z),
    case(np.matrix_transpose, B),
    case(np.linalg.matrix_transpose, B),
    case(np.swapaxes, B, 0, -1),
    case(np.moveaxis, B, 0, -1),
    case(np.moveaxis, B, (0, 1), (-1, 0)),
    *(case(np.rollaxis, B, axis, start) for axis in (0, 1, -1) for start in (0, 1, 2, 3, -1)),
    case(np.flip, B),
    case(np.flip, B, 1),
    case(np.flip, B, (0, -1)),
    case(np.fliplr, A),
    case(np.flipud, A),
    *(case(np.rot90, A, k) for k in (1, 2, 3, -1)),
    case(np.rot90, B, 1, (1, 2)),
    case(np.roll, A, 2),
    case(np.roll, A, -1, 1),
    case(np.roll, B, (1, -2), (0, 2)),
    case(np.roll, B, 1, (0, 1)),
    case(np.tril, A),
    case(np.triu, B, 1),
    case(np.tril, Z, -1),
    case(np.tril, V),
    case(np.diag, V),
    case(np.diag, V, -1),
    case(np.diag, A),
    case(np.diag, A, 1),
    case(np.diagonal, A, -1),
    case(np.diagonal, B, 1, 2, 0),
    case(np.diagonal, B, 0, -1, 0),
    case(np.diagonal, Z),
    case(np.linalg.diagonal, B),
    case(np.linalg.diagonal, B, offset=-1),
    case(np.diagflat, A),
    case(np.diagflat, A, 2),
    case(np.astype, A, complex),
    case(np.copy, A),
    case(np.ascontiguousarray, B.T),
    case(np.asfortranarray, A),
]

REPEATED = [
    case(np.broadcast_to, W, (2, 3)),
    case(np.broadcast_to, A[:, None], (4, 2, 5, 3)),
    case(np.broadcast_to, 1.5, (2,)),
    case(np.broadcast_to, [1.0, 2.0], (3, 2)),
    case(np.tile, A, 2),
    case(np.tile, A, (2, 1, 3)),
    case(np.tile, B, (2, 2)),
    case(np.tile, 1.5, 3),
    case(np.tile, A, ()),
    case(np.repeat, A, 2),
    case(np.repeat, A, 3, axis=1),
    case(np.repeat, A, [2, 0, 1], axis=1),
    case(np.repeat, A, np.array([1, 3]), axis=0),
    case(np.repeat, V, np.array([1, 0, 2, 3, 1])),
    case(np.repeat, A, [2], axis=0),
    case(np.repeat, 1.5, 3),
    case(np.resize, A, (4, 2)),
    case(np.resize, A, (2, 2)),
    case(np.resize, A, 12),
    case(np.broadcast_arrays, W, A, 2.0),
    case(np.meshgrid, V, W),
    case(np.meshgrid, V, W, indexing="ij"),
    case(np.meshgrid, V, W, [0.5, 0.25], sparse=True),
    case(np.meshgrid, V, 1.5, W),
    case(np.meshgrid, V),
]

JOINED = [
    case(np.concatenate, (A, A[:1])),
    case(np.concatenate, [A, W[:2, None]], axis=-1),
    case(np.concatenate, [A, V], axis=None),
    case(np.concatenate, B),
    case(np.concatenate, [[1.0, 2.0], V]),
    case(np.concatenate, [A, Z], axis=1),
    case(np.concatenate, [S, S + 1]),
    case(np.concatenate, [EMPTY, A]),
    case(np.stack, (A, 2 * A)),
    case(np.stack, [V, V + 1], axis=1),
    case(np.stack, [V, V + 1], axis=-2),
    case(np.stack, B, axis=1),
    case(np.stack, [1.0, 2.0, 3.0]),
    case(np.vstack, [W, A]),
    case(np.vstack, (1.5, 2.5)),
    case(np.hstack, [V, W]),
    case(np.hstack, [A, A[:, :1]]),
    case(np.hstack, [1.5, V]),
    case(np.dstack, [A, A + 1]),
    case(np.dstack, [V, V + 1]),
    case(np.column_stack, [V, V + 1]),
    case(np.column_stack, [A, W[:2]]),
    case(np.block, [V, W]),
    case(np.block, [[A, A[:, :1]], [W, 2.0]]),
    case(np.block, [[1.0, 2.0], [3.0, 4.0]]),
    case(np.block, [[[B], [B + 1]], [[B + 2], [B + 3]]]),
    case(np.block, A),
    case(np.append, A, V),
    case(np.append, A, [[1.0, 2.0, 3.0]], axis=0),
    case(np.append, V, 1.5),
    case(np.split, V, [1, 3]),
    case(np.split, V, [3, 1]),
    case(np.split, V, [-2]),
    case(np.split, B, 2, axis=2),
    case(np.array_split, V, 3),
    case(np.array_split, A, 2, axis=1),
    case(np.hsplit, B, [1]),
    case(np.hsplit, V, [2]),
    case(np.vsplit, A, 2),
    case(np.dsplit, B, 2),
    case(np.unstack, B, axis=1),
    case(np.delete, V, 2),
    case(np.delete, V, [0, -1]),
    case(np.delete, V, slice(1, 4, 2)),
    case(np.delete, V, np.array([True, False, False, True, False])),
    case(np.delete, B, 1, axis=1),
    case(np.delete, A, [0, 3]),
]


@pytest.mark.parametrize(("f", "args", "kwargs"), REARRANGED + REPEATED + JOINED)
def test_the_cotangents_of_moved_elements_agree_with_differences(f, args, kwargs):
    known = {np.append: (0, 1)}.get(f)
    check_rule(f, *args, known=known, **kwargs)


@pytest.mark.parametrize(
    ("arr", "obj", "values", "axis"),
    [
        (V, 2, 1.5, None),
        (V, -1, np.array([1.0, 2.0]), None),
        (V, [1, 3], np.array([1.0, 2.0]), None),
        (V, [3, 1], np.array([1.0, 2.0]), None),
        (V, [1, 1], np.array([1.0, 2.0]), None),
        (V, [1], np.array([1.0, 2.0]), None),
        (V, slice(0, 4, 2), 0.5, None),
        (V, np.array([True, False, False, True, False]), 0.5, None),
        (A, 3, 1.5, None),
        (A, 1, W, 0),
        (A, 1, W[:2], 1),
        (A, [1], W[:2, None], 1),
        (A, [0, 2], np.array([[1.0, 2.0]]), 1),
        (A, 1, np.array([[1.0, 2.0], [3.0, 4.0]]), 1),
        (B, 1, np.array([1.5]), 1),
        (B, 1, B[:, 0], 1),
        (B, [0, 2], 0.5, 2),
    ],
)
def test_insert_gives_each_part_its_own_cotangent(arr, obj, values, axis):
    check_rule(np.insert, arr, obj, values, axis, known=(0, 2))


@pytest.mark.parametrize(
    ("width", "kwargs"),
    [
        (1, {}),
        (((1, 2), (0, 1)), {"constant_values": 3.0}),
        (1, {"mode": "edge"}),
        ((2, 1), {"mode": "reflect"}),
        (((4, 3), (5, 6)), {"mode": "reflect"}),
        (2, {"mode": "reflect", "reflect_type": "odd"}),
        (3, {"mode": "symmetric"}),
        (3, {"mode": "symmetric", "reflect_type": "odd"}),
        (((4, 3), (5, 6)), {"mode": "wrap"}),
        (((0, 2), (3, 0)), {"mode": "linear_ramp"}),
        (2, {"mode": "linear_ramp", "end_values": 1.5}),
        (((1, 2), (2, 1)), {"mode": "mean"}),
        (2, {"mode": "mean", "stat_length": 2}),
        (((1, 0), (2, 1)), {"mode": "maximum"}),
        (1, {"mode": "minimum", "stat_length": ((1, 2), (2, 3))}),
        (((1, 0), (0, 2)), {"mode": "median"}),
    ],
    ids=str,
)
def test_pad_in_every_mode(width, kwargs):
    check_rule(np.pad, A, width, **kwargs)
    if kwargs.get("mode") not in ("maximum", "minimum", "median"):
        check_rule(np.pad, Z, width, order=0, **kwargs)


def test_pad_of_the_axes_that_a_dict_names():
    (g, *_) = pull(RULES[np.pad], np.ones((2, 6)), np.pad(A, ((0, 0), (1, 2)), "edge"), (A, {-1: (1, 2)}, "edge"), {})
    assert g.tolist() == [[2.0, 1.0, 3.0]] * 2


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize(
    "x",
    [B, np.asfortranarray(B), np.transpose(B, (1, 2, 0)), np.transpose(B, (2, 0, 1))[::-1], B[:, ::-1, ::2], B.T],
    ids=["C", "F", "permuted", "reversed", "strided", "transposed"],
)
def test_reading_in_the_order_of_memory_sends_each_cotangent_to_its_own_element(x, order):
    for f in (np.ravel, METHODS["flatten"][0]):
        y = f(x, order)
        (g, *_) = pull(RULES[f], 3 * y, y, (x, order), {})
        np.testing.assert_array_equal(g, 3 * x)
    if order != "K":
        y = np.reshape(x, (-1, 4), order)
        (g, *_) = pull(RULES[np.reshape], 3 * y, y, (x, (-1, 4), order), {})
        np.testing.assert_array_equal(g, 3 * x)


def test_the_cotangent_of_a_conversion_has_the_dtype_of_the_argument():
    for f in (np.astype, METHODS["astype"][0]):
        (g, *_) = pull(RULES[f], S, S, (A, np.float32), {})
        assert g.dtype == np.float64
        assert pull(RULES[f], None, A.astype(int), (A, int), {})[0] is None


NESTED = [
    1.5,
    ZERO_D,
    A,
    [1.0, 2.0],
    [[1.0, 2.0], [3.0, 4.0]],
    [A, (W, [1.0, 2.0, 3.0])],
    [np.float64(1.0), np.array(2.0)],
    [1.0, 2 + 1j],
    ([1.0], [2.0]),
    [],
]


@pytest.mark.parametrize("x", NESTED, ids=repr)
@pytest.mark.parametrize("f", [np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray])
def test_an_array_made_of_nested_lists_gives_its_cotangent_back_nested(f, x):
    check_rule(f, x)


def test_the_cotangent_of_a_list_of_numbers_is_a_list_of_numbers():
    x = [1.0, [2.0, 3.0][0]]
    (g,) = pull(RULES[np.array], np.array([5.0, 6.0]), np.array(x), (x,), {})
    assert g == [5.0, 6.0]
    assert [type(e) for e in g] == [float, float]


def test_an_array_with_more_axes_than_its_lists():
    check_rule(np.array, [1.0, 2.0], ndmin=3)


def test_an_array_made_integer_has_no_derivative():
    (g,) = pull(RULES[np.array], np.array([0.0]), np.array([1]), ([1.7],), {"dtype": int})
    assert g is None


@pytest.mark.parametrize("value", [1.5, W, W[:, None]], ids=np.shape)
def test_full_arrays_pass_their_cotangent_to_the_value_that_fills_them(value):
    check_rule(np.full, (3, 3), value, known=(1,))
    check_rule(np.full_like, np.zeros((3, 3)), value, known=(1,))


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize(("start", "stop", "axis"), [(0.5, 2.0, 0), (W, 3.0, 0), (W, A, -1), (1.0, W, 1)])
def test_even_and_logarithmic_scales(start, stop, axis, endpoint):
    stop = np.abs(stop) + 0.5
    check_rule(np.linspace, start, stop, num=4, endpoint=endpoint, axis=axis)
    check_rule(np.linspace, start, stop, num=4, endpoint=endpoint, axis=axis, retstep=True)
    check_rule(np.logspace, start, stop, num=4, endpoint=endpoint, axis=axis)
    check_rule(np.geomspace, start, stop, num=4, endpoint=endpoint, axis=axis, rtol=1e-6)


def test_scales_of_complex_numbers_and_of_one_point():
    check_rule(np.linspace, 1 + 1j, 2 - 1j, num=3)
    check_rule(np.geomspace, 1 + 1j, 2 - 1j, num=3)
    check_rule(np.linspace, 1.0, 2.0, num=1)
    check_rule(np.logspace, 1.0, 2.0, 3, True, 2.5, known=(0, 1, 4))


def test_ranges_move_with_their_start_and_step():
    check_rule(np.arange, 0.5, 3.2, 0.7)
    check_rule(np.arange, 0.5, 3.2)
    check_rule(np.arange, 3.2)


@pytest.mark.parametrize("increasing", [False, True])
def test_vandermonde_matrices(increasing):
    check_rule(np.vander, V, 4, increasing=increasing)
    check_rule(np.vander, V[:3] + 0.5j, increasing=increasing)
    check_rule(np.vander, np.array([0.0, 1.0]), 3, increasing=increasing)


METHOD_CASES: list[tuple[str, np.ndarray, tuple[Any, ...], dict[str, Any]]] = [
    ("reshape", A, (3, 2), {}),
    ("reshape", A, ((3, 2),), {}),
    ("reshape", A, (-1,), {}),
    ("reshape", A, (3, 2), {"order": "F"}),
    ("transpose", B, (), {}),
    ("transpose", B, (None,), {}),
    ("transpose", B, (2, 0, 1), {}),
    ("transpose", B, ((2, 0, 1),), {}),
    ("sum", A, (), {"axis": 0}),
    ("sum", A, (1,), {"keepdims": True}),
    ("mean", A, (0,), {}),
    ("std", A, (), {"ddof": 1}),
    ("var", A, (), {}),
    ("prod", A, (0,), {}),
    ("max", A, (1,), {}),
    ("min", A, (), {}),
    ("cumsum", A, (1,), {}),
    ("cumprod", A, (), {}),
    ("dot", A, (W,), {}),
    ("astype", A, (np.float32,), {}),
    ("astype", A, (int,), {}),
    ("copy", A, (), {}),
    ("flatten", A, (), {}),
    ("flatten", B, ("F",), {}),
    ("flatten", np.transpose(B, (1, 2, 0)), ("K",), {}),
    ("ravel", A, (), {}),
    ("item", A, (2,), {}),
    ("item", A, (1, 2), {}),
    ("item", A, ((1, 2),), {}),
    ("item", ZERO_D, (), {}),
    ("tolist", A, (), {}),
    ("tolist", ZERO_D, (), {}),
    ("clip", A, (-1, 1), {}),
    ("conj", Z, (), {}),
    ("conjugate", Z, (), {}),
    ("take", A, ([1, 0],), {"axis": 1}),
    ("repeat", A, (2,), {"axis": 0}),
    ("squeeze", A[None], (), {}),
    ("swapaxes", B, (0, 2), {}),
    ("diagonal", A, (1,), {}),
    ("trace", A, (), {}),
    ("round", A, (1,), {}),
    ("argmax", A, (), {"axis": 1}),
    ("argmin", A, (), {}),
    ("argsort", A, (), {}),
    ("argpartition", V, (2,), {}),
    ("nonzero", A, (), {}),
    ("searchsorted", np.sort(V), (1.0,), {}),
    ("compress", A, ([True, False],), {"axis": 0}),
    ("choose", np.array([1, 0, 1]), ([W, V[:3]],), {}),
    ("all", A, (), {}),
    ("any", A, (0,), {}),
    ("view", Z, (float,), {}),
    ("view", A, (), {}),
    ("__array__", A, (), {}),
    ("__copy__", A, (), {}),
    ("__deepcopy__", A, ({},), {}),
    ("__float__", ZERO_D, (), {}),
    ("__complex__", ZERO_D, (), {}),
    ("__getitem__", A, ((0, slice(1, 3)),), {}),
    ("__matmul__", A, (W,), {}),
]


@pytest.mark.parametrize(("name", "x", "args", "kwargs"), METHOD_CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_method_of_an_array_is_the_function_that_stands_for_it(name, x, args, kwargs):
    function, adapt = METHODS[name]
    given, named = adapt(x, *args, **kwargs) if adapt else ((x, *args), kwargs)
    expected = getattr(x, name)(*args, **kwargs)
    found = function(*given, **named)
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "x", "args", "kwargs"),
    [c for c in METHOD_CASES if np.asarray(getattr(c[1], c[0])(*c[2], **c[3])).dtype.kind in "fc" and c[0] != "round"],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_the_gradient_of_a_method_agrees_with_differences(name, x, args, kwargs):
    if x.dtype.kind != "i" and x.flags.c_contiguous and not any(a is np.float32 for a in args):
        mo.testing.check_gradients(lambda x: getattr(x, name)(*args, **kwargs), x)


def test_every_method_that_stands_for_a_function_has_a_case():
    assert {name for name, *_ in METHOD_CASES} == set(METHODS)


def test_every_function_that_a_method_stands_for_has_a_rule():
    assert [name for name, (function, _) in METHODS.items() if function not in RULES] == []
    assert [name for name, function in ATTRIBUTES.items() if function not in RULES] == []


OWN_METHODS = [
    ("astype", A, (complex,)),
    ("astype", S, (float,)),
    ("flatten", B, ("F",)),
    ("item", A, (1, 2)),
    ("item", A, (-1,)),
    ("item", ZERO_D, ()),
    ("tolist", B, ()),
    ("tolist", ZERO_D, ()),
    ("view", Z, (float,)),
    ("view", np.ascontiguousarray(B), (complex,)),
    ("__float__", ZERO_D, ()),
]


@pytest.mark.parametrize(("name", "x", "args"), OWN_METHODS)
def test_the_methods_with_rules_of_their_own(name, x, args):
    check_rule(METHODS[name][0], x, *args, known=(0,))


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (lambda x: np.split(x, [1, 3])[1] ** 2, (V,)),
        (lambda x: np.array_split(x**2, 3)[0], (V,)),
        (lambda x: np.unstack(x**2, axis=1)[2], (A,)),
        (lambda x, y: np.meshgrid(x, y)[0] ** 2, (V, W)),
        (lambda x, y: np.broadcast_arrays(x**2, y)[1] * 2, (A, W)),
        (lambda x, y: np.atleast_2d(x, y)[1] ** 2, (V, W)),
        (lambda x, y: np.linspace(x, y, 4, retstep=True)[1] ** 2, (1.0, 3.0)),
        (lambda x: np.average(x, weights=x, returned=True)[1] ** 2, (V,)),
        (lambda x: np.histogram(x, 3)[1] ** 2, (V,)),
        (lambda x: np.unique(x, return_inverse=True)[0] ** 2, (V,)),
        (lambda x, y: np.concatenate([x, [y, 2 * y], x[:2]]) ** 2, (V, 1.5)),
        (lambda x, y: np.stack([x, [y, y, y]]) ** 2, (W, 1.5)),
        (lambda x, y: np.array([[x, y], [y, x * y]]) ** 2, (0.5, 1.5)),
        (lambda x: np.array([x.sum(), *x, 3.0]) ** 2, (W,)),
        (lambda x: np.block([[x, x**2], [np.eye(2, 3), x[:, ::-1]]]), (A,)),
    ],
)
def test_only_the_results_that_are_used_carry_cotangents(program, args):
    mo.testing.check_gradients(program, *args)
