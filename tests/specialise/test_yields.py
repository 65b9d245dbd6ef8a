"""A ``yield`` anywhere: in expressions, in ``with``, in handlers; what is sent, thrown and returned."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo


class Log:
    def __init__(self, swallows=False):
        self.seen = []
        self.swallows = swallows

    def __enter__(self):
        self.seen.append("in")
        return self

    def __exit__(self, kind, error, _):
        self.seen.append("out" if kind is None else kind.__name__)
        return self.swallows


def in_with(x):
    log, total = Log(), 0.0

    def items():
        with log as entered:
            for i in range(3):
                yield x * i
            entered.seen.append("end")

    for v in items():
        total += v * v
    return total * len(log.seen)


def in_the_test_of_a_while(x):
    def items():
        total = 1.0
        while (a := (yield total)) is not None:
            total += a * (yield 2.0) + [(yield 3.0)][0]
        return (yield total) * 2

    made = items()
    total = next(made) + made.send(x) + made.send(x * x) + made.send(3 * x) + made.send(None) * 5
    try:
        made.send(x)
    except StopIteration as stop:
        total += stop.value
    return total


def weighted(a, b, c=0.0, **more):
    return a + 2 * b + 3 * c + sum(more.values())


def in_expressions(x):
    def items():
        y = weighted(x, (yield 1.0), c=(yield 2.0), d=x) if (yield 3.0) else (yield 4.0)
        y += (yield 5.0) or (yield 6.0)
        held = {"a": x}
        held["a"] += (yield 7.0) and (yield 8.0)
        held[(yield 9.0)] = y
        with Log(True):
            yield held["a"]
            raise ValueError
        yield sum(held.values())

    made = items()
    total = next(made)
    for sent in (True, x, x * x, 0, x, 1, 2 * x, "b"):
        total += made.send(sent) * x
    return total + next(made) * 3


def before_it_is_evaluated(x):
    """What stands before a ``yield`` has the value of then."""

    def items():
        a = x
        held = [x]
        y = a * held[0] + (yield 1.0)
        found = a + held[0] + (yield y)
        yield found

    def change(v):
        return v * 2

    made = items()
    return next(made) + made.send(change(x)) * 3 + made.send(x)


def in_handlers(x):
    def items():
        try:
            try:
                with Log():
                    yield x
                    raise ValueError(1)
            except ValueError:
                yield x * x
                raise
            finally:
                yield 3 * x
        except ValueError as error:
            yield len(error.args) * x

    total = 0.0
    for i, v in enumerate(items()):
        total += v * (i + 1)
    return total


def in_a_context_manager(x):
    @contextlib.contextmanager
    def doubled(x):
        with Log() as log:
            yield x * 2
            log.seen.append(1)

    def items():
        with Log(), doubled(x) as y, Log():
            yield y
            return y * y

    def all_items():
        r = 1 + (yield from items())
        yield r

    return sum(all_items())


def drawn_by_computed_weights(x):
    random = np.random.RandomState(3)
    weights = np.atleast_1d([1.0, 3.0]).astype(float)
    weights /= np.sum(weights)
    order = np.arange(4) % 2
    random.shuffle(order)
    return x * random.choice([3.0, 4.0], p=weights) + x * x * order[0] + order[1]


PROGRAMS = [
    in_with, in_the_test_of_a_while, in_expressions, before_it_is_evaluated, in_handlers, in_a_context_manager,
    drawn_by_computed_weights,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_yields(path, program):
    check_gradient(path, program, 1.3)


@pytest.mark.parametrize("path", PATHS)
def test_the_elements_of_an_array_in_order(path):
    def program(m):
        a, b, c, d = m.flat
        return a * b - c * d + sum(x * x for x in m.flat)

    check_gradient(path, program, np.array([[1.0, 2.0], [3.0, 4.0]]))


def test_a_generator_left_inside_a_with_is_refused():
    def program(x):
        def items():
            with Log():
                yield x
                yield 2 * x

        return next(items())

    with pytest.raises(mo.BadInput, match="is left before its end, inside a with whose __exit__"):
        mo.jit(program, target="native")(1.0)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_yield_in_a_match(target):
    def program(x):
        def items():
            match x:
                case 1.0:
                    yield x

        return sum(items())

    compiled, slope = mo.jit(program, target=target), mo.jit(mo.grad(program), target=target)
    assert [compiled(1.0), compiled(2.0)] == [1.0, 0.0]
    assert [slope(1.0), slope(2.0)] == [1.0, 0.0]


def test_what_is_kept_before_a_yield_is_no_variable_of_the_program():
    def items(x):
        held = [x, (yield x)]
        yield len(locals()) * x + held[0]

    def program(x):
        made = items(x)
        return next(made) + made.send(2 * x)

    before = set(globals())
    check_gradient("native", program, 1.3)
    assert set(globals()) == before
