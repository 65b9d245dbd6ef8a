"""Loops in two parts (``fission``): values, derivatives and errors are those of the loop as it stands."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sample_sizes import drawn

import morula as mo
from morula.core.emit.native import compile_function, control, fission, fission_loops, machine
from morula.core.emit.native.real_functions import vector_variants
from morula.core.ir import typed
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import STACK, ArrayType

F8, I8 = np.dtype(np.float64), np.dtype(np.int64)
NEVER = 1 << 63
TRIPS = (0, 1, 7, 8, 9, 17, 40)

needs_vectors = pytest.mark.skipif(
    not vector_variants("exp", 1, False, machine.host()), reason="the C library has no vector functions"
)


@pytest.fixture(autouse=True)
def short_strips(monkeypatch):
    """Split loops of any length, into several strips; without the cache, which does not know of this."""
    monkeypatch.setattr(fission, "LEAST", 1)
    monkeypatch.setattr(fission_loops, "SIZE", 16)
    monkeypatch.setenv("MORULA_CACHE", "0")


def compiled(f, monkeypatch):
    """The function as a native program with loops in two parts, and with loops as they stand."""

    def run(least):
        def call(*args):
            monkeypatch.setattr(fission, "LEAST", least)
            return program(*args)

        program = mo.jit(f, target="native")
        return call

    return run(1), run(NEVER)


def splits(f, monkeypatch, *args):
    """How many loops of a program are split."""
    found = []

    def noted(*of_loop):
        found.append(fission.parts(*of_loop))
        return found[-1]

    with monkeypatch.context() as patched:
        patched.setattr(control, "parts", noted)
        mo.jit(f, target="native")(*args)
    return sum(part is not None for part in found)


class RandomLoop:
    """Loops that sum, branch, push, check and write, with expensive functions of what they read."""

    FUNCTIONS = (np.exp, np.sin, np.cos, np.tanh, np.log1p, np.sqrt, np.arctan)

    def __init__(self, choose: random.Random, n: int) -> None:
        self.choose, self.n, self.b = choose, n, Builder()
        self.array = ArrayType(F8, (n,))

    def function(self) -> Function:
        b = self.b
        x, y, k = Value("x", self.array), Value("y", self.array), Value("k", ArrayType(I8))
        with b.block() as block:
            stop = k if self.choose.random() < 0.5 else b.constant(self.choose.choice(TRIPS), I8)
            total, other, written = self.forward(x, y, stop)
            block.results = [total, other, written]
        return verify(Function("random", [x, y, k], block))

    def forward(self, x, y, stop):
        """A loop that may push, and then one that pops in reverse order."""
        b, choose = self.b, self.choose
        zero, one = b.constant(0, I8), b.constant(1, I8)
        self.pushes = choose.random() < 0.6
        self.writes = choose.random() < 0.6

        def body(i, total, written, stack):
            values = [self.read(x, i), self.read(y, i), self.read(written, i)]
            values = values[: 3 if choose.random() < 0.3 else 2]
            values = self.expressions([*values, b.cast(i, F8)], total)
            if choose.random() < 0.5:
                b.raise_if(b.ufunc(np.greater, values[-1], b.constant(1e9)), ValueError, "too large")
            v = values[-1]
            if choose.random() < 0.4:
                test = b.ufunc(np.greater, choose.choice(values), total)
                (v,) = b.if_(test, lambda: [self.expressions(values, total)[-1]], lambda: [values[-2]])
            if self.writes:
                callee = choose.choice([typed.setitem, typed.add_at])
                written = b.call(callee, [written, self.index(i), values[-1]], [written.type], spec=("i",))[0]
            if self.pushes:
                stack = b.push(stack, [values[-2], total])
            total = b.ufunc(np.add, b.ufunc(np.multiply, total, b.constant(0.7)), v)
            return [total, written, stack]

        stack = b.call(typed.stack_new, [], [STACK])[0]
        total, written, stack = b.range_(zero, stop, one, body, [b.constant(0.3), y, stack])
        if not self.pushes:
            return total, total, written

        def back(i, other, written, stack):
            first, second, stack = b.pop(stack, [ArrayType(F8)] * 2)
            values = self.expressions([first, second, self.read(x, i)], other)
            other = b.ufunc(np.add, b.ufunc(np.multiply, other, b.constant(0.5)), values[-1])
            written = b.call(typed.add_at, [written, self.index(i), values[-2]], [written.type], spec=("i",))[0]
            return [other, written, stack]

        last, down = b.ufunc(np.subtract, stop, one), b.constant(-1, I8)
        other, written, _ = b.range_(last, down, down, back, [b.constant(0.1), written, stack])
        return total, other, written

    def index(self, i):
        b = self.b
        if self.choose.random() < 0.6:
            return b.ufunc(np.minimum, i, b.constant(self.n - 1, I8))
        return i

    def read(self, x, i):
        return self.b.getitem(x, [self.index(i)], ("i",), [])

    def expressions(self, values, carried):
        b, choose = self.b, self.choose
        values = list(values)
        for _ in range(choose.randrange(2, 6)):
            kind = choose.randrange(6)
            v = choose.choice(values)
            if kind < 3:
                small = b.ufunc(np.absolute, b.ufunc(np.sin, v)) if choose.random() < 0.5 else b.ufunc(np.tanh, v)
                values.append(b.ufunc(choose.choice(self.FUNCTIONS[:4]), small))
            elif kind == 3:
                values.append(b.ufunc(np.multiply, v, choose.choice(values)))
            elif kind == 4:
                values.append(b.ufunc(np.divide, v, b.ufunc(np.add, b.ufunc(np.square, v), b.constant(1.5))))
            else:
                values.append(b.where(b.ufunc(np.isnan, v), v, choose.choice([*values, carried])))
        return values


@settings(max_examples=drawn(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choose=st.randoms(use_true_random=False), n=st.sampled_from([17, 40]), k=st.sampled_from(TRIPS))
def test_random_loops_run_as_in_numpy(monkeypatch, choose, n, k):
    rng = np.random.default_rng(0)
    function = RandomLoop(choose, n).function()
    arguments = [*rng.uniform(0.1, 1.0, (2, n)), np.int64(k)]

    def outcome(run):
        try:
            return run()
        except (IndexError, ValueError) as error:
            return type(error), str(error)

    monkeypatch.setattr(fission, "LEAST", 1)
    found = outcome(lambda: compile_function(function)(arguments))
    monkeypatch.setattr(fission, "LEAST", NEVER)
    unsplit = outcome(lambda: compile_function(function)(arguments))
    with np.errstate(all="ignore"):
        wanted = outcome(lambda: evaluate(function, arguments))
    assert isinstance(found, tuple) == isinstance(unsplit, tuple)
    if isinstance(found, tuple):
        assert found == unsplit
        return
    for x, y, z in zip(found, unsplit, wanted):
        np.testing.assert_allclose(x, y, 1e-12, 1e-12, err_msg=str(function))
        np.testing.assert_allclose(x, z, 1e-9, 1e-9, err_msg=str(function))


def log_sum_exp(x):
    top = x[0]
    for i in range(1, len(x)):
        top = max(top, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - top)
    return math.log(total) + top


def powers(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            total -= (x[i] - 0.5) ** j * x[j]
    return total * total


def in_a_branch(x):
    total, steps = 1.0, 0
    for i in range(len(x)):
        e = math.exp(-x[i])
        if total > 1.5:
            total = 0.5 * total + math.sin(e)
        else:
            total += e * math.cos(x[i])
            steps += 1
    return total * steps


def every_second_backwards(x):
    total = 0.0
    for i in range(len(x) - 1, -1, -2):
        total = 0.9 * total + math.log(1.0 + x[i] * x[i]) / (1.0 + x[i])
    return total


def with_break(x):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i])
        if total > 12.0:
            break
    return total * total


def of_what_the_loop_writes(x):
    y = np.zeros(len(x) + 1)
    y[0] = 0.3
    for i in range(len(x)):
        y[i + 1] = math.sin(y[i]) + math.exp(-x[i])
    return np.sum(y * y)


def recurrence(x):
    y = 0.2
    for i in range(len(x)):
        y = y + 0.1 * (math.tanh(x[i]) * (1.0 - y) - math.sqrt(x[i]) * y / (1.0 + x[i]))
    return y


def pairs(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            total += x[j] * math.exp(-d * d) / (0.1 + abs(d))
    return total


def complex_phases(x):
    total = 0.0 + 0.0j
    for i in range(len(x)):
        total += complex(math.cos(x[i]), math.sin(x[i])) * (0.5 + 0.1j)
    return abs(total)


PROGRAMS = (
    log_sum_exp,
    powers,
    in_a_branch,
    every_second_backwards,
    with_break,
    of_what_the_loop_writes,
    recurrence,
    pairs,
    complex_phases,
)


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("n", [1, 9, 35])
def test_values_and_gradients_are_those_of_the_loop_as_it_stands(monkeypatch, f, n):
    x = np.random.default_rng(n).uniform(0.1, 1.0, n)
    split, whole = compiled(mo.value_and_grad(f), monkeypatch)
    eager = mo.value_and_grad(f)(x)
    for found, unsplit, wanted in zip(split(x), whole(x), eager):
        np.testing.assert_allclose(found, unsplit, 1e-12, 1e-13)
        np.testing.assert_allclose(found, wanted, 1e-11, 1e-12)


@pytest.mark.parametrize("f", [log_sum_exp, in_a_branch, recurrence])
def test_second_derivatives(monkeypatch, f):
    x, v = np.random.default_rng(3).uniform(0.1, 1.0, (2, 35))

    def along(x):
        return np.sum(mo.grad(f)(x) * v)

    split, whole = compiled(mo.grad(along), monkeypatch)
    np.testing.assert_allclose(split(x), whole(x), 1e-11, 1e-12)
    np.testing.assert_allclose(split(x), mo.grad(along)(x), 1e-10, 1e-11)


def test_single_precision(monkeypatch):
    def f(x):
        total = np.float32(0.0)
        for i in range(len(x)):
            total = np.float32(0.5) * total + np.exp(-x[i]) * np.sin(x[i]) ** np.float32(1.5)
        return total

    x = np.random.default_rng(0).uniform(0.1, 1.0, 35).astype(np.float32)
    split, whole = compiled(mo.value_and_grad(f), monkeypatch)
    for found, unsplit in zip(split(x), whole(x)):
        assert found.dtype == unsplit.dtype == np.float32
        np.testing.assert_allclose(found, unsplit, 2e-6, 2e-6 * np.max(np.abs(unsplit)))


def sum_of_exponentials(x, n):
    total = 0.0
    for i in range(n):
        total += math.exp(x[i]) + math.log(x[i])
    return total


@pytest.mark.parametrize(
    "place, value, n, error",
    [
        (20, 1000.0, 30, OverflowError),
        (20, -1.0, 30, ValueError),
        (None, 1.0, 31, IndexError),
        (None, 1.0, 100, IndexError),
        (29, 1000.0, 31, OverflowError),
        (0, 0.0, 31, ValueError),
    ],
)
def test_the_first_error_is_raised(monkeypatch, place, value, n, error):
    x = np.full(30, 0.5)
    if place is not None:
        x[place] = value
        x[place + 1 :] = -1.0 if error is OverflowError else 1000.0
    for f in compiled(sum_of_exponentials, monkeypatch):
        with pytest.raises(error):
            f(x, n)
    with pytest.raises(error):
        sum_of_exponentials(x, n)


def test_errors_before_an_index_out_of_range(monkeypatch):
    def f(x, scale, n):
        total = 0.0
        for i in range(n):
            total += math.exp(scale * i)
            total += math.log(total) * x[i]
            total -= math.exp(-x[i])
        return total

    x = np.full(30, 0.5)
    for run in compiled(f, monkeypatch):
        with pytest.raises(IndexError):
            run(x, 0.01, 31)
        with pytest.raises(IndexError):
            run(x, 0.01, 33)
        with pytest.raises(OverflowError):
            run(x, 709.0 / 28.5, 40)
        with pytest.raises(OverflowError):
            run(x, 709.0 / 29.5, 40)  # in the iteration whose index is out of range, before it is read
    assert compiled(f, monkeypatch)[0](x, 0.01, 30) == pytest.approx(f(x, 0.01, 30), 1e-13)


def test_writes_before_an_error_are_the_same(monkeypatch):
    def f(x, out):
        total = 0.0
        for i in range(len(x)):
            total += math.exp(x[i])
            out[i] = total
        return total

    x = np.full(40, 0.5)
    x[21] = 1000.0
    outs = []
    for run in compiled(f, monkeypatch):
        outs.append(np.zeros(40))
        with pytest.raises(OverflowError):
            run(x, outs[-1])
    np.testing.assert_allclose(*outs, 1e-14)


def test_indices_that_grow_by_several(monkeypatch):
    def f(x, n):
        total = 1.0
        for i in range(n):
            total = 0.5 * total + math.exp(x[2 * i + 1]) * math.exp(-x[29 - i])
        return total

    x = np.random.default_rng(0).uniform(size=60)
    split, whole = compiled(f, monkeypatch)
    for n in (0, 1, 16, 17, 30):
        np.testing.assert_allclose(split(x, n), whole(x, n), 1e-14)
    for run in (split, whole):
        with pytest.raises(IndexError):
            run(x[:59], 30)


@pytest.mark.parametrize("n", range(1, 40, 3))
def test_a_number_that_decides_is_the_same_in_every_loop(monkeypatch, n):
    def f(x):
        top = 0.0
        for i in range(len(x)):
            top = max(top, math.exp(x[i]))
        count = 0
        for i in range(len(x) - 1, -1, -1):
            if math.exp(x[i]) == top:
                count += 1
        return count

    x = np.random.default_rng(n).uniform(size=n)
    assert compiled(f, monkeypatch)[0](x) == 1


@needs_vectors
def test_which_loops_are_split(monkeypatch):
    x = np.random.default_rng(0).uniform(0.1, 1.0, 30)

    def additions(x):
        total, other = 0.0, 0.0
        for i in range(len(x)):
            total += x[i]
            other += total * 0.5
        return other

    def recursive(x):
        y = 0.1
        for i in range(len(x)):
            y = math.sin(y) + x[i]
        return y

    def element_by_element(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = np.sin(x[i])
        return y

    assert splits(log_sum_exp, monkeypatch, x) == 1
    assert splits(mo.grad(log_sum_exp), monkeypatch, x) == 1
    assert splits(mo.grad(pairs), monkeypatch, x) == 1
    assert splits(sum_of_exponentials, monkeypatch, x, 30) == 1
    for f in (additions, recursive, element_by_element):
        assert splits(f, monkeypatch, x) == 0
    monkeypatch.setattr(fission, "LEAST", 31)
    assert splits(log_sum_exp, monkeypatch, x) == 0


SPECIAL = (0, 1, 2, 0.5, np.inf, np.nan, 3, 2.5, 1e300, 1e-300, 2.0**53 + 2, 101)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_of_negative_and_special_numbers(dtype):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        a, b = (np.ravel(v) for v in np.meshgrid(*[[*SPECIAL, *(-x for x in SPECIAL)]] * 2))
        a, b = a.astype(dtype), b.astype(dtype)
        wanted = a**b

    def one_by_one(a, b):
        y = np.zeros(len(a), a.dtype)
        for i in range(len(a)):
            y[i] = np.power(a[i], b[i])
        return y

    for f in (lambda a, b: a**b, one_by_one):
        found = mo.jit(f, target="native")(a, b)
        np.testing.assert_allclose(found, wanted, 4 * np.finfo(dtype).eps)
        is_number = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(wanted)[is_number])
