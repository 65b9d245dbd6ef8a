"""Random typed programs in native code against NumPy, to test ``buffers`` with every order of reads and writes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sample_sizes import drawn

from morula.core.emit.native import compile_function, strips
from morula.core.ir import typed
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import STACK, ArrayType

F8, I8 = np.dtype(np.float64), np.dtype(np.int64)


class RandomProgram:
    """Statements on some arrays of one length and some numbers; values stay of moderate size."""

    axes: tuple[int, ...] = (0,)

    def __init__(self, choose: random.Random, n: int) -> None:
        self.choose, self.n, self.b = choose, n, Builder()
        self.array = ArrayType(F8, (n,))
        self.depth = 0

    def function(self, statements: int) -> Function:
        b = self.b
        parameters = [Value("x", self.array), Value("y", self.array), Value("k", ArrayType(I8))]
        with b.block() as block:
            arrays = parameters[:2]
            numbers = [b.getitem(arrays[0], [b.constant(1, I8)], ("i",), [])]
            arrays, numbers = self.statements(arrays, numbers, [parameters[2]], statements)
            block.results = [*self.choose.sample(arrays, min(3, len(arrays))), numbers[-1]]
        return verify(Function("random", parameters, block))

    def index(self, indices):
        """An index within the arrays, known or not."""
        if self.choose.random() < 0.5:
            return self.b.constant(self.choose.randrange(self.n - 2), I8)
        i = self.b.ufunc(np.remainder, self.choose.choice(indices), self.b.constant(self.n - 2, I8))
        return self.b.cast(i, I8)

    def mean(self, x, y):
        return self.b.ufunc(np.multiply, self.b.ufunc(np.add, x, y), self.b.constant(0.5))

    def expression(self, arrays, numbers):
        b, pick = self.b, self.choose.choice
        x = pick(arrays)
        kind = self.choose.randrange(7)
        if kind == 0:
            return self.mean(x, pick(arrays))
        if kind == 1:
            return b.ufunc(np.sin, x)
        if kind == 2:
            return self.mean(x, pick(numbers))
        if kind == 3:
            return b.getitem(x, [b.constant(self.n - 1, I8)], (("s", -1),), [self.n])
        if kind == 4:
            return b.where(b.ufunc(np.less, x, pick(numbers)), x, pick(arrays))
        if kind == 5:
            return b.reshape(b.transpose(b.reshape(x, (2, self.n // 2)), (1, 0)), (self.n,))
        return b.full((self.n,), pick(numbers))

    def update(self, arrays, numbers, indices):
        """A write to a part, of a number or of something read elsewhere, perhaps from what is written to."""
        b, pick = self.b, self.choose.choice
        x, i = pick(arrays), self.index(indices)
        callee = pick([typed.setitem, typed.setitem, typed.add_at])
        kind = self.choose.randrange(4)
        if kind == 0:
            v, spec, operands = pick(numbers), ("i",), [i]
        elif kind == 1:
            v, spec, operands = self.mean(*(self.part(pick(arrays), indices) for _ in range(2))), (("s", 1),), [i]
        elif kind == 2:
            same = b.getitem(x, [i], (("s", 1),), [2])
            v, spec, operands = self.mean(same, pick(numbers)), (("s", 1),), [i]
        else:
            v, spec, operands = b.ufunc(np.cos, self.part(pick(arrays), indices)), ("a",), [b.constant([2, 0])]
        if callee is typed.add_at:
            v = b.ufunc(np.multiply, v, b.constant(0.1))
        return arrays.index(x), b.call(callee, [x, *operands, v], [x.type], spec=spec)[0]

    def part(self, x, indices):
        return self.b.getitem(x, [self.index(indices)], (("s", 1),), [2])

    def number(self, x, indices):
        return self.b.getitem(x, [self.index(indices)], ("i",), [])

    def statements(self, arrays, numbers, indices, count):
        b, pick = self.b, self.choose.choice
        arrays, numbers = list(arrays), list(numbers)
        for _ in range(count):
            kind = self.choose.randrange(12)
            if kind < 3:
                arrays.append(self.expression(arrays, numbers))
            elif kind < 7:
                at, y = self.update(arrays, numbers, indices)
                if self.choose.random() < 0.7:
                    arrays[at] = y
                else:
                    arrays.append(y)
            elif kind == 7:
                numbers.append(b.ufunc(np.sin, b.reduce(np.sum, pick(arrays), self.axes)))
            elif kind == 8:
                numbers.append(self.mean(self.number(pick(arrays), indices), pick(numbers)))
            elif kind == 9 and self.depth < 3:
                self.branch(arrays, numbers, indices)
            elif self.depth < 2:
                self.loop(arrays, numbers, indices)
        return arrays, numbers

    def nested(self, arrays, numbers, indices, carried):
        """Statements in a block of their own: what they make of the carried arrays and numbers, perhaps exchanged."""
        self.depth += 1
        inner, more = self.statements(arrays, numbers, indices, self.choose.randrange(1, 5))
        self.depth -= 1
        return self.choose.sample(inner, carried[0]) + [more[-1]] * carried[1]

    def branch(self, arrays, numbers, indices):
        b = self.b
        count = self.choose.randrange(1, min(3, len(arrays)) + 1)
        condition = b.ufunc(np.less, numbers[-1], b.constant(self.choose.uniform(-0.5, 0.5)))
        one = lambda: self.nested(arrays, numbers, indices, (count, 1))
        *found, number = b.if_(condition, one, one)
        arrays.extend(found)
        numbers.append(number)

    def loop(self, arrays, numbers, indices):
        b = self.b
        count = self.choose.randrange(1, min(3, len(arrays)) + 1)
        first = [self.choose.choice(arrays) for _ in range(count)]
        times, zero, one = (b.constant(k, I8) for k in (self.choose.randrange(4), 0, 1))
        is_while, saves = self.choose.random() < 0.3, self.choose.random() < 0.5

        def body(i, *carried):
            *own, number, stack = carried
            if saves:
                stack = b.push(stack, [self.choose.choice(own), number])
            found = self.nested([*arrays, *own], [*numbers, number], [*indices, i], (count, 1))
            return [*found, stack]

        initial = [*first, numbers[-1], b.call(typed.stack_new, [], [STACK])[0]]
        if is_while:
            test = lambda i, *carried: b.ufunc(np.less, i, times)
            step = lambda i, *carried: [b.ufunc(np.add, i, one), *body(i, *carried)]
            _, *found, number, stack = b.while_(test, step, [zero, *initial])
        else:
            *found, number, stack = b.range_(zero, times, one, body, initial)
        if saves:

            def back(i, total, stack):
                x, e, stack = b.pop(stack, [self.array, ArrayType(F8)])
                return [self.mean(b.ufunc(np.multiply, total, e), x), stack]

            found.append(b.range_(zero, times, one, back, [found[0], stack])[0])
        arrays.extend(found)
        numbers.append(number)


class RandomMatrices(RandomProgram):
    """Statements on matrices: most of them one operation after the other, on all elements, by rows, or from rows."""

    axes = (0, 1)

    def __init__(self, choose: random.Random, m: int, n: int) -> None:
        super().__init__(choose, n)
        self.m, self.array = m, ArrayType(F8, (m, n))
        self.column = ArrayType(F8, (m, 1))

    def function(self, statements: int) -> Function:
        b = self.b
        parameters = [
            Value("x", self.array),
            Value("y", self.array),
            Value("c", self.column),
            Value("k", ArrayType(I8)),
        ]
        with b.block() as block:
            numbers = [b.getitem(parameters[0], [b.constant(1, I8)] * 2, ("i", "i"), [])]
            self.columns = [parameters[2]]
            arrays, numbers = self.statements(parameters[:2], numbers, [parameters[3]], statements)
            block.results = [
                *self.choose.sample(arrays, min(3, len(arrays))),
                numbers[-1],
                self.choose.choice(self.columns),
            ]
        return verify(Function("random", parameters, block))

    def statements(self, arrays, numbers, indices, count):
        known = list(self.columns)  # those of a block end with it
        found = super().statements(arrays, numbers, indices, count)
        if self.depth:
            self.columns = known
        return found

    def expression(self, arrays, numbers):
        b, pick = self.b, self.choose.choice
        x = pick(arrays)
        kind = self.choose.randrange(12)
        if kind < 3:
            return self.mean(x, pick(arrays))
        if kind == 3:
            return b.ufunc(pick([np.sin, np.exp]), b.ufunc(np.multiply, x, b.constant(0.1)))
        if kind < 6:
            rows = b.reduce(pick([np.sum, np.max, np.min]), x, (1,))
            if self.choose.random() < 0.3:
                rows = b.ufunc(np.sin, rows)
            self.columns.append(b.ufunc(np.tanh, b.reshape(rows, (self.m, 1))))
        if kind < 8:
            return b.ufunc(pick([np.subtract, np.multiply]), b.ufunc(np.sin, x), pick(self.columns))
        if kind == 8:
            return b.broadcast_to(self.mean(pick(self.columns), pick(self.columns)), (self.m, self.n))
        if kind == 9:
            return b.getitem(
                x, [b.constant(k - 1, I8) for k in (self.m, self.n)], (("s", -1), ("s", -1)), [self.m, self.n]
            )
        if kind == 10:
            return b.where(b.ufunc(np.less, x, pick(numbers)), x, pick(arrays))
        return b.full((self.m, self.n), pick(numbers))

    def index(self, indices):
        return self.b.constant(self.choose.randrange(self.m), I8)

    def part(self, x, indices):
        return self.b.getitem(x, [self.index(indices)], ("i", ":"), [self.n])

    def window(self):
        """Where a part begins that has a row and two columns less."""
        return [self.b.constant(self.choose.randrange(k), I8) for k in (2, 3)]

    def update(self, arrays, numbers, indices):
        b, x = self.b, self.choose.choice(arrays)
        if self.choose.random() < 0.7:
            spec, shape = (("s", 1), ("s", 1)), [self.m - 1, self.n - 2]
            v = self.mean(*(b.getitem(self.choose.choice(arrays), self.window(), spec, shape) for _ in range(2)))
            v, y = b.ufunc(np.multiply, b.ufunc(np.sin, v), v), x
            for _ in range(self.choose.randrange(1, 4)):
                callee = self.choose.choice([typed.setitem, typed.add_at, typed.add_at])
                w = b.ufunc(np.multiply, v, b.constant(0.1)) if self.choose.random() < 0.5 else v
                y = b.call(callee, [y, *self.window(), w], [x.type], spec=spec)[0]
            return arrays.index(x), y
        v = self.mean(self.part(self.choose.choice(arrays), indices), self.part(x, indices))
        return arrays.index(x), b.call(typed.setitem, [x, self.index(indices), v], [x.type], spec=("i", ":"))[0]

    def number(self, x, indices):
        return self.b.getitem(x, [self.index(indices)] * 2, ("i", "i"), [])


def small_strips(monkeypatch):
    """Let strips be short, and of small arrays."""
    monkeypatch.setattr(strips, "LEAST", 2)
    monkeypatch.setattr(strips, "LEAST_ROW", 2)
    monkeypatch.setattr(strips, "SIZES", (3, 7))


@pytest.mark.parametrize("n", [6, 80])
@pytest.mark.parametrize("by_strips", [False, True])
@settings(max_examples=drawn(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choose=st.randoms(use_true_random=False))
def test_random_programs_run_as_in_numpy(monkeypatch, by_strips, n, choose):
    if by_strips:
        small_strips(monkeypatch)
    check(RandomProgram(choose, n).function(8), *np.random.default_rng(0).normal(size=(2, n)))


@settings(max_examples=drawn(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choose=st.randoms(use_true_random=False), m=st.sampled_from([3, 5]), n=st.sampled_from([5, 20]))
def test_random_programs_of_matrices(monkeypatch, choose, m, n):
    small_strips(monkeypatch)
    rng = np.random.default_rng(0)
    check(RandomMatrices(choose, m, n).function(12), *rng.normal(size=(2, m, n)), rng.normal(size=(m, 1)))


def check(function, *arrays):
    arguments = [*arrays, np.int64(3)]
    kept = [np.array(a) for a in arguments]
    found = compile_function(function)(arguments)
    for a, b in zip(arguments, kept):
        np.testing.assert_array_equal(a, b)
    for x, y in zip(found, evaluate(function, arguments)):
        np.testing.assert_allclose(x, y, 1e-9, 1e-9, err_msg=str(function))
