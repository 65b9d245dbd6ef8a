"""Facts proved about integers: indices in range, checks that never fail; and facts that must not be proved."""

from __future__ import annotations

import numpy as np
import pytest

from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.ir.integer_bounds import Bounds
from morula.core.ir.typed import INT, INT64, ArrayType, raise_if
from morula.core.passes.index_proofs import analyse, without_checks
from morula.core.specialise import specialise

VECTOR = ArrayType(np.dtype(float), (10,))


def checks(f, *args):
    """How many checks of a program are left, and the program run without the others."""
    function = specialise(f, args, {}, overflow_check=False).function
    shorter = verify(without_checks(function))
    copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    assert evaluate(shorter, args)[0] == pytest.approx(f(*copies))
    return sum(op.callee is raise_if for op in walk(shorter.block))


def stencil(a):
    n = a.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
    return a.sum()


def triangle(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(i):
            s += a[i, j] * a[i - j - 1, i - 1] + a[i, :j] @ a[:j, j]
        for j in range(i, a.shape[0]):
            s += a[j, i] * a[j - i, 0]
    return s


def backward(a):
    s = 0.0
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(i + 1, a.shape[0], 2):
            s += a[i, j] + a[j, i] - a[-1 - i, -j]
    return s


def up_to_a_number(a, n):
    i, s = 0, 0.0
    while i < n and i < a.shape[0]:
        s += a[i, i] * a[-i - 1, 0]
        i += 1
    return s


def leaves_early(a):
    i, s, last = 0, 0.0, a.shape[0] - 1
    while i < last:
        s += a[i, i] * a[i + 1, 0]
        if s > 5.0:
            break
        i += 1
    return s


def guarded(a, k):
    s = 0.0
    if 0 <= k and k < a.shape[0]:
        s += a[k, k]
        if k > 0:
            s += a[k - 1, 0]
    return s


def counted_beside_the_index(a):
    s, k = 0.0, 0
    for i in range(a.shape[0]):
        s += a[k, i]
        k += 1
    return s


def remainders(a, k):
    n = a.shape[0]
    return a[k % n, (k + 3) % n] + a[min(max(k, 0), n - 1), 0]


def largest(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i, np.argmax(a[i])]
    return s


A = np.random.default_rng(0).normal(size=(6, 6))


@pytest.mark.parametrize(
    "f, args",
    [
        (stencil, ()),
        (triangle, ()),
        (backward, ()),
        (up_to_a_number, (4,)),
        (leaves_early, ()),
        (guarded, (2,)),
        (counted_beside_the_index, ()),
        (remainders, (-8,)),
        (largest, ()),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_indices_that_are_in_range_whatever_the_inputs_are_need_no_check(f, args):
    assert checks(f, A, *args) == 0


def one_too_far(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i, i] * a[min(i + 1, 5), 0] + a[i - 1, 0]
    return s


def any_index(a, k):
    return a[k, 0]


def decreasing(a, k):
    i, s = 3, 0.0
    while s < k:
        s += 1.0
        i -= 1
        s += 0.0 * a[i, 0]
    return s


def test_what_is_not_proved_is_checked():
    assert checks(one_too_far, A) == 0  # i - 1 is -1 at first, which is in range too
    assert checks(any_index, A, 3) == 2
    assert checks(decreasing, A, 2.5) == 1  # it becomes too small, but never so small that it overflows
    function = without_checks(specialise(decreasing, (A, 100.0), {}).function)
    with pytest.raises(IndexError, match="index -7 is out of bounds for axis 0 with size 6"):
        evaluate(function, [A, 100.0])


def build(write, *types):
    parameters = [Value(n, t) for n, t in zip("xyz", types)]
    b = Builder()
    with b.block() as block:
        block.results = list(write(b, *parameters))
    return b, verify(Function("f", parameters, block))


def test_sums_that_may_overflow_are_not_trusted():
    def write(b, x, k):
        more = b.ufunc(np.add, k, b.constant(1))
        b.raise_if(b.ufunc(np.less_equal, more, k), IndexError, "overflow")
        return [more]

    _, function = build(write, VECTOR, INT64)
    assert not analyse(function).never
    with pytest.raises(IndexError):
        evaluate(function, [np.zeros(10), np.int64(2**63 - 1)])


def test_equal_sums_are_one_value():
    def write(b, k):
        one = b.constant(1)
        up = b.ufunc(np.add, k, one)
        assert b.ufunc(np.subtract, up, one) is not up
        assert b.ufunc(np.add, k, one) is up
        bounded = b.ufunc(np.remainder, k, b.constant(10))
        more = b.ufunc(np.add, bounded, one)
        assert b.ufunc(np.subtract, more, one) is bounded
        assert b.ufunc(np.maximum, bounded, b.constant(0)) is bounded
        assert b.integers.interval(b.ufunc(np.multiply, more, b.constant(3))) == (3, 30)
        return [up]

    build(write, INT)


def test_conditions_hold_in_their_branch_only():
    def write(b, k):
        is_small = b.ufunc(np.less, k, b.constant(5))

        def then():
            assert b.integers.interval(k)[1] == 4
            return [b.constant(0)]

        def other():
            assert b.integers.interval(k)[0] == 5
            return [b.constant(7)]

        (found,) = b.if_(is_small, then, other)
        assert b.integers.interval(k) == (-(2**63), 2**63 - 1)
        assert b.integers.interval(found) == (0, 7)
        return [found]

    build(write, INT)


def test_elements_of_known_index_arrays_are_bounded_by_their_extremes():
    columns = np.array([0, 4, 2, 4])

    def write(b, x, k):
        i = b.getitem(b.constant(columns), [k], ("i",), [])
        assert b.integers.interval(i) == (0, 4)
        return [b.getitem(x, [i], ("i",), [])]

    _, function = build(write, VECTOR, INT)
    assert len(analyse(function).in_range) == 1


def rows_of_a_sparse_matrix(a, starts):
    s = 0.0
    for i in range(starts.shape[0] - 1):
        s += a[0, starts[i] : starts[i + 1]].sum()
    return s


def test_slices_between_numbers_that_are_not_known_are_in_range_since_they_are_clamped():
    function = specialise(rows_of_a_sparse_matrix, (A, np.array([0, 2, 5])), {}).function
    reads = [op for op in walk(function.block) if getattr(op.callee, "__name__", "") == "getitem"]
    assert set(reads) <= set(analyse(function).in_range)


def test_a_proof_looks_at_a_bounded_number_of_forms(monkeypatch):
    builder, looked, least = Builder(), [], Bounds._least
    xs = [Value(f"x{i}", INT64) for i in range(24)]
    for i, x in enumerate(xs):
        for y in xs[i + 1 : i + 6]:
            builder.integers.assume(builder.ufunc(np.less, x, y), True)
    assert builder.integers.is_less(builder.integers.form(xs[0]), builder.integers.form(xs[10]))
    monkeypatch.setattr(Bounds, "_least", lambda self, form: (looked.append(form), least(self, form))[1])
    builder.integers.lower(builder.integers.form(xs[20]) - builder.integers.form(xs[0]))
    assert len(looked) <= 200


def test_a_condition_of_conditions_is_looked_at_once():
    builder = Builder()
    x = Value("x", INT64)
    condition = builder.ufunc(np.less, x, builder.constant(3))
    for i in range(60):
        other = builder.ufunc(np.less, x, builder.constant(i))
        condition = builder.ufunc(
            np.logical_or, builder.ufunc(np.logical_and, condition, other), builder.ufunc(np.logical_not, condition)
        )
    assert builder.integers.truth(condition) is None
    builder.integers.assume(condition, True)
