"""What a gradient means: structure, number types, complex convention, kinks, identity.  (docs: semantics)"""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import morula as mo


class Point:
    def __init__(self, x, y, label):
        self.x, self.y, self.label = x, y, label


# Structure


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (2.0, 4.0),
        (2, 4),
        (True, None),
        ("text", None),
        (None, None),
        ([2.0, 3], [4.0, 6]),
        ((2.0, (3.0,)), (4.0, (6.0,))),
        ({"a": 2.0, "b": [3.0]}, {"a": 4.0, "b": [6.0]}),
        ([], []),
        ((), ()),
        ({}, {}),
        ([2.0, "a", None, True, b"b"], [4.0, None, None, None, None]),
    ],
    ids=repr,
)
def test_a_gradient_has_its_arguments_structure(tree, expected):
    def squares(t):
        if isinstance(t, (bool, str, bytes)) or t is None:
            return 0.0
        if isinstance(t, dict):
            t = list(t.values())
        if isinstance(t, (list, tuple)):
            return sum([squares(u) for u in t], 0.0)
        return t * t

    (gradient,) = mo.gradient(lambda t: squares(t) + 0.0, tree)
    assert gradient == expected
    assert isinstance(gradient, (int, float)) or type(gradient) is type(expected)


def test_an_object_has_an_object_of_its_class():
    (g,) = mo.gradient(lambda p: p.x * p.y, Point(2.0, 3.0, "p"))
    assert type(g) is Point and (g.x, g.y, g.label) == (3.0, 2.0, None)


def test_arrays_that_are_not_inexact_have_none():
    for a in (np.arange(3), np.array([True, False]), np.array(["a"]), np.array([1, 2], dtype=np.uint8)):
        assert mo.gradient(lambda x, a: x * len(a), 2.0, a)[1] is None


def test_unused_leaves_have_zeros():
    p = {"used": 2.0, "not": [np.ones((2, 3)), 1.0, 1j, np.float32(1.0)], "empty": np.zeros((0, 2))}
    (g,) = mo.gradient(lambda p: p["used"] ** 2, p)
    assert g["used"] == 4.0
    assert g["not"][0].shape == (2, 3) and not g["not"][0].any()
    assert g["not"][1:] == [0.0, 0.0, 0.0]
    assert g["empty"].shape == (0, 2)


def test_an_array_gradient_has_shape_and_dtype_of_its_argument():
    for dtype in (np.float16, np.float32, np.float64, np.complex64, np.complex128):
        for shape in ((), (1,), (3,), (2, 1, 3), (0,), (2, 0)):
            (g,) = mo.gradient(lambda a: (a * 2).real.sum(), np.ones(shape, dtype))
            assert type(g) is np.ndarray and g.shape == shape and g.dtype == dtype
            assert np.all(g == 2)


def test_a_gradient_through_broadcasting_has_the_shape_of_its_argument():
    a, b = np.ones((3, 1)), np.ones(4)
    da, db = mo.gradient(lambda a, b: (a * b + 2.0 * a).sum(), a, b)
    assert da.tolist() == [[12.0]] * 3 and db.tolist() == [3.0] * 4


@pytest.mark.parametrize(
    "read",
    [
        lambda a: a[[1, 1, 0]],
        lambda a: a[np.array([1, 1, 0])],
        lambda a: a.take([1, 1, 0]),
        lambda a: np.take(a, [[1, 1], [0, 2]])[:, 0],
        lambda a: a[[-3, 1, 0]],
        lambda a: np.stack([a, a])[[0, 0, 1], [1, 1, 0]],
    ],
)
def test_an_element_read_twice_collects_both_cotangents(read):
    (g,) = mo.gradient(lambda a: (read(a) * 1.0).sum() * a[0], np.array([1.0, 2.0, 3.0]))
    reads = read(np.arange(3)).tolist()
    expected = [float(reads.count(k)) for k in range(3)]
    expected[0] += read(np.array([1.0, 2.0, 3.0])).sum()
    assert g.tolist() == expected


# Numbers


def test_integers_have_gradients():
    assert mo.gradient(lambda x, y: x * y**2, 3, 2) == (4, 12)
    assert mo.gradient(lambda x: x / 4, 3) == (0.25,)


def test_the_primal_keeps_every_type():
    seen = []

    def f(i, x, z, b, a, n):
        seen.extend([i + 1, x * 2, z * 2, b, a * 2, n * 2, -i, i**2, abs(z), a[0], a.sum(), 2 * i // 3])
        return x * 1.0

    args = (2, 1.5, 1j, True, np.ones(2, np.float32), np.float64(2.0))
    f(*args)
    plain, seen[:] = list(seen), []
    mo.gradient(f, *args)
    for got, expected in zip(seen, plain, strict=True):
        # A differentiated integer may be of a class of its own, since CPython shares its small ones.
        assert type(got) is type(expected) or (type(expected) is int and isinstance(got, int))
        assert repr(got) == repr(expected)


def test_a_function_receives_the_callers_own_lists_dicts_and_objects():
    seen = []

    def f(v, d, p):
        seen.extend([v, d, p, d["inner"]])
        return v[0] * d["inner"][0] * p.x

    v, d, p = [1.5], {"inner": [2.0]}, Point(1.0, 2.0, "p")
    mo.gradient(f, v, d, p)
    assert [s is t for s, t in zip(seen, (v, d, p, d["inner"]), strict=True)] == [True] * 4
    assert (v, d, p.x) == ([1.5], {"inner": [2.0]}, 1.0)


def test_results_keep_their_identity():
    box = []

    def f(v):
        box.append(v)
        return v

    v = [1.0]
    y, _ = mo.vjp(f, v)
    assert y is v and box[0] is v


def test_float32_stays_float32():
    a = np.array([1.0, 2.0], np.float32)
    for f in (
        lambda a: (a * 2.5).sum(),
        lambda a: np.sin(a).mean() * math.pi,
        lambda a: (a @ a) ** 2 / 3,
        lambda a: np.exp(-a / 2).max(),
    ):
        y, back = mo.vjp(f, a)
        assert y.dtype == np.float32
        assert back(np.float32(1))[0].dtype == np.float32
        assert mo.gradient(f, a)[0].dtype == np.float32


def test_mixed_precision_gives_each_argument_its_own_dtype():
    a32, a64 = np.ones(2, np.float32), np.full(2, 2.0)
    g32, g64 = mo.gradient(lambda a, b: (a * b).sum(), a32, a64)
    assert (g32.dtype, g64.dtype) == (np.float32, np.float64)


def test_numpy_scalars_have_numbers():
    (g,) = mo.gradient(lambda x: x * x, np.float64(3.0))
    assert g == 6.0 and isinstance(g, float)
    (g,) = mo.gradient(lambda x: x * x, np.float32(3.0))
    assert g == 6.0 and np.ndim(g) == 0 and np.asarray(g).dtype == np.float32


def test_a_python_float_has_a_python_number_through_arrays():
    (g,) = mo.gradient(lambda x: (x * np.ones((2, 3))).sum(), 1.5)
    assert g == 6.0 and isinstance(g, float)


def test_zero_dimensional_arrays():
    (g,) = mo.gradient(lambda a: a * a, np.array(3.0))
    assert type(g) is np.ndarray and g.shape == () and g == 6.0
    assert mo.gradient(lambda a: a[()] ** 2 + a.item(), np.array(3.0))[0] == 7.0


def test_empty_arrays():
    empty = np.zeros((0, 3))
    (g,) = mo.gradient(lambda a: (a * 2).sum() + np.concatenate([a, a]).sum(), empty)
    assert g.shape == (0, 3)
    gx, ga = mo.gradient(lambda x, a: (x * a).sum() + x, 2.0, empty)
    assert gx == 1.0 and ga.shape == (0, 3)


def test_arrays_of_size_one_count_as_scalars_only_without_dimensions():
    assert mo.gradient(lambda x: np.array(x) * 2, 1.5) == (2.0,)
    with pytest.raises(mo.MorulaError, match=r"\(1,\)"):
        mo.grad(lambda x: np.array([x]) * 2)(1.5)


def test_a_boolean_active_product(check):
    check(lambda x: x * True + (x > 1) * x**2 + np.bool_(True) * x, 1.5)


def test_integer_powers_and_negative_bases(check):
    check(lambda x: x**2 + x**3 + x**-1 + (-x) ** 0, -1.5)


def test_powers_at_zero():
    assert mo.gradient(lambda x: x**2, 0.0) == (0.0,)
    assert mo.gradient(lambda x: x**1, 0.0) == (1.0,)
    assert mo.gradient(lambda x: x**0, 0.0) == (0.0,)
    assert mo.gradient(lambda a: (a**2).sum(), np.zeros(2))[0].tolist() == [0.0, 0.0]
    assert mo.gradient(lambda x, n: x**n, 0.0, 2)[0] == 0.0


def test_overflow_and_division_by_zero_raise_as_python_does():
    with pytest.raises(ZeroDivisionError):
        mo.gradient(lambda x: 1 / x, 0.0)
    with pytest.raises(OverflowError):
        mo.gradient(lambda x: math.exp(x), 1e4)


# Complex numbers: dL/dx + i dL/dy


def test_the_gradient_of_a_real_loss_is_the_direction_of_steepest_ascent():
    z = 1.0 + 2.0j
    assert mo.gradient(lambda z: abs(z) ** 2, z)[0] == pytest.approx(2 * z)
    assert mo.gradient(lambda z: z.real, z) == (1 + 0j,)
    assert mo.gradient(lambda z: z.imag, z) == (1j,)
    assert mo.gradient(lambda z: (z * z.conjugate()).real, z)[0] == pytest.approx(2 * z)


def test_a_holomorphic_pullback_multiplies_by_the_conjugate():
    z, dy = 0.7 + 0.3j, 0.2 - 1.1j
    for f, df in ((cmath.exp, cmath.exp(z)), (lambda z: z**3, 3 * z**2), (lambda z: 1 / z, -1 / z**2)):
        _, back = mo.vjp(f, z)
        assert back(dy)[0] == pytest.approx(dy * df.conjugate())


def test_complex_programs(check):
    def f(z, w, x):
        for _ in range(3):
            z = z * z * 0.3 + w * x
        return abs(z) + (z / w).imag + cmath.exp(1j * x * w).real

    check(f, 0.7 + 0.2j, -0.3 + 0.5j, 0.6)


def test_complex_arrays(check):
    def f(z, a):
        return abs(np.fft.fft(z * a)).sum() + np.real(np.vdot(z, np.exp(1j * z))) + (z @ z).imag

    check(f, np.array([0.5 + 1j, 1.0 - 0.3j, -0.7 + 0.2j]), np.array([1.0, 2.0, 0.5]))


def test_a_real_argument_of_a_complex_computation_has_a_real_gradient(check):
    gx, ga = check(lambda x, a: abs(np.exp(1j * x * a) * a).sum() + ((x + 1j) ** 2).imag, 0.7, np.array([1.0, 2.0]))
    assert isinstance(gx, float) and ga.dtype == np.float64


# Kinks


def test_subgradients_at_kinks():
    assert mo.gradient(lambda x: abs(x), 0.0) == (0.0,)
    assert mo.gradient(lambda a: np.abs(a).sum(), np.zeros(2))[0].tolist() == [0.0, 0.0]
    assert mo.gradient(lambda x, y: np.maximum(x, y), 1.0, 1.0) == (0.5, 0.5)
    assert mo.gradient(lambda a: a.max(), np.array([1.0, 3.0, 3.0]))[0].tolist() == [0.0, 0.5, 0.5]
    assert mo.gradient(lambda a: np.min(a), np.array([1.0, 1.0, 3.0, 1.0]))[0].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("f", [np.sort, np.abs, lambda a: np.clip(a, 0.0, 1.0), lambda a: np.maximum(a, 0.0)])
def test_a_kinks_derivative_lies_between_the_one_sided_ones(f):
    (g,) = mo.gradient(lambda a: f(a).sum(), np.array([0.0, 0.0, 1.0]))
    assert np.all(g >= -1) and np.all(g <= 1)


def test_where_passes_nothing_to_the_branch_not_taken():
    a = np.array([0.0, 4.0, -1.0])
    with np.errstate(all="ignore"):
        (g,) = mo.gradient(lambda a: np.where(a > 0, np.sqrt(a), 0.0).sum(), a)
        assert g.tolist() == [0.0, 0.25, 0.0]
        (g,) = mo.gradient(lambda a: np.where(a > 0, np.log(a) / a, a).sum(), a)
        assert g[0] == 1.0 and g[2] == 1.0 and np.isfinite(g).all()


def test_if_passes_nothing_to_the_branch_not_taken():
    assert mo.gradient(lambda x: math.sqrt(x) if x > 0 else 0.0 * x, 0.0) == (0.0,)


def test_step_functions_have_gradient_zero():
    for f in (np.floor, np.sign, np.round, lambda a: (a > 0) * 1.0, np.argmax, lambda a: a.astype(int)):
        (g,) = mo.gradient(lambda a: f(a).sum() * 1.0, np.array([0.3, -1.2]))
        assert g.tolist() == [0.0, 0.0]


# Identity: constants and arguments that are one object


def test_equal_floats_in_a_list_are_separate_leaves():
    assert mo.gradient(lambda v: v[0] * 2 + v[1], [1.0, 1.0]) == ([2.0, 1.0],)
    one = 1.0
    assert mo.gradient(lambda v: v[0] * 2 + v[1], [one, one]) == ([2.0, 1.0],)


def test_equal_small_integers_are_separate_leaves():
    assert mo.gradient(lambda v, x: v[0] * 2 + v[1] * x, [1, 1], 1) == ([2, 1], 1)


def test_a_constant_that_is_the_same_float_as_the_argument():
    c = 1.0
    assert mo.grad(lambda x: x * c)(c) == 1.0


def test_one_float_for_two_arguments():
    x = 1.5
    assert mo.gradient(lambda a, b: a * b * b, x, x) == (2.25, 4.5)


def test_one_array_for_two_arguments():
    w = np.array([1.0, 2.0])
    ga, gb = mo.gradient(lambda a, b: (a * b * b).sum(), w, w)
    assert ga.tolist() == [1.0, 4.0] and gb.tolist() == [2.0, 8.0]


def test_a_closure_over_the_array_that_is_also_the_argument():
    w = np.array([1.0, 2.0])
    assert mo.gradient(lambda a: (a * w).sum(), w)[0].tolist() == [1.0, 2.0]


def test_one_array_twice_in_a_list_argument():
    w = np.array([1.0, 2.0])
    (g,) = mo.gradient(lambda v: (v[0] * 2 + v[1]).sum(), [w, w])
    total = g[0] if g[0] is g[1] else g[0] + g[1]
    assert total.tolist() == [3.0, 3.0]


def test_singletons_are_not_leaves():
    assert mo.gradient(lambda x, v: x * (v[0] is None) * (v[1] is True), 1.5, [None, True]) == (1.0, [None, None])


def test_a_result_that_is_a_constant_array_has_no_effect():
    c = np.ones(2)
    y, back = mo.vjp(lambda x: c, 1.5)
    assert y is c and back(np.ones(2)) == (0.0,)


def test_a_value_stored_outside_is_the_plain_value():
    kept = []

    def f(x):
        kept.append(x * x)
        return kept[-1] * x

    assert mo.gradient(f, 2.0) == (12.0,)
    assert kept == [4.0] and type(kept[0]) is float


def test_a_value_stored_outside_by_one_gradient_is_constant_in_the_next():
    kept = []

    def f(x):
        kept.append(x * x)
        return kept[0] * x

    assert mo.gradient(f, 2.0) == (12.0,)
    assert mo.gradient(f, 3.0) == (4.0,)


def test_determinism():
    def f(a):
        return np.sin(a @ a.T).sum()

    a = np.random.default_rng(0).normal(size=(20, 20))
    assert np.array_equal(mo.gradient(f, a)[0], mo.gradient(f, a)[0])
