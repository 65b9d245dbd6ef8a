"""``checkpoint(f, x)`` has the value, the side effects and the derivative of ``f(x)``, for any state f uses."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


class Holder:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class Slotted:
    __slots__ = ("v",)


TOTAL = 0.0


def writes_a_list(x, wrap):
    kept = []

    def f(u):
        kept.append(u * u)
        return u

    return wrap(f, x) + kept[0]


def writes_a_dict_that_is_given(x, wrap):
    kept = {}

    def f(u, into):
        into["square"] = u * u
        return u

    return wrap(f, x, kept) + kept["square"]


def writes_an_attribute(x, wrap):
    kept = Holder(v=0.0)

    def f(u):
        kept.v += u * u
        return u

    return wrap(f, x) + kept.v + wrap(f, x) * kept.v


def writes_a_slot(x, wrap):
    kept = Slotted()

    def f(u):
        kept.v = u * u
        return u

    return wrap(f, x) + kept.v


def writes_a_nonlocal(x, wrap):
    total = 0.0

    def f(u):
        nonlocal total
        total = total + u * u
        return u

    return wrap(f, x) * wrap(f, 2 * x) + total


def writes_a_global(x, wrap):
    def f(u):
        global TOTAL
        TOTAL = u * u
        return u

    return wrap(f, x) + TOTAL


def writes_an_array(x, wrap):
    a = np.zeros(2)

    def f(u):
        a[0] = u * u
        return u

    return wrap(f, x) + a[0]


def writes_an_array_again(x, wrap):
    a = np.zeros(2)
    a[0] = x

    def f(u):
        a[0] = u * a[0]
        return u

    return wrap(f, x) + a[0]


def keeps_an_array(x, wrap):
    kept = []

    def f(u):
        a = u * np.arange(3.0)
        kept.append(a[1:])
        return a[0] + u

    return wrap(f, x) + kept[0].sum()


def keeps_what_it_returns(x, wrap):
    kept = []

    def f(u):
        a = u * np.arange(3.0)
        kept.append(a)
        return a, a * 2

    y, z = wrap(f, x)
    return (y * kept[0]).sum() + z.sum()


def returns_a_generator(x, wrap):
    def f(u):
        yield u
        yield u * u

    return sum(wrap(f, x))


def leaves_a_generator(x, wrap):
    later = []

    def squares(u):
        yield u * u
        yield u * u * u

    def f(u):
        g = squares(u)
        later.append(g)
        return next(g)

    return wrap(f, x) + next(later[0])


def leaves_a_map(x, wrap):
    later = []

    def f(u):
        later.append(map(lambda k: k * u * u, [1.0, 2.0]))
        return u

    return wrap(f, x) + sum(later[0])


def raises(x, wrap):
    def f(u):
        raise ValueError(u * u)

    try:
        return wrap(f, x)
    except ValueError as e:
        return e.args[0] + x


def pops(x, wrap):
    stack = [x, x * x]
    return wrap(lambda: stack.pop()) * stack[-1]


def has_a_counter(x, wrap):
    counter = Holder(n=0)

    def f(u):
        counter.n += 1
        return u**counter.n

    return wrap(f, x) + wrap(f, x) + wrap(f, x) * counter.n


def draws_from_an_iterator(x, wrap):
    numbers = iter([x, x * x])
    return wrap(lambda u: u * next(numbers), x) + wrap(lambda u: u * next(numbers), x)


def reads_what_changes_later(x, wrap):
    scale, box = [x], Holder(v=x * x)
    y = wrap(lambda u: u * scale[0] * box.v, x)
    scale[0] = 7.0
    del box.v
    return y * scale[0]


def reads_a_variable_that_changes_later(x, wrap):
    scale = x
    y = wrap(lambda u: u * scale, x)
    scale = x * x
    return y * scale


def nests(x, wrap):
    kept = []

    def inner(u):
        kept.append(u * u)
        return u * u

    return wrap(lambda u: wrap(inner, u) * u, x) + kept[0]


def nests_without_state(x, wrap):
    return wrap(lambda u: wrap(lambda v: [v * v * v][0], u) * u, x) * x


def caches(x, wrap):
    @functools.lru_cache
    def square(u):
        return u * u

    return wrap(lambda u: square(u) * u, x) + square(x)


def chains(x, wrap):
    state = {"h": x}

    def step(k):
        state["h"] = state["h"] * x + k
        return state["h"]

    return sum(wrap(step, k) for k in (1.0, 2.0, 3.0))


PROGRAMS = [
    writes_a_list,
    writes_a_dict_that_is_given,
    writes_an_attribute,
    writes_a_slot,
    writes_a_nonlocal,
    writes_a_global,
    writes_an_array,
    writes_an_array_again,
    keeps_an_array,
    keeps_what_it_returns,
    returns_a_generator,
    leaves_a_generator,
    leaves_a_map,
    raises,
    pops,
    has_a_counter,
    draws_from_an_iterator,
    reads_what_changes_later,
    reads_a_variable_that_changes_later,
    nests,
    nests_without_state,
    caches,
    chains,
]


def call(f, *args):
    return f(*args)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_first_order(check, program):
    check(lambda x: program(x, mo.checkpoint), 1.3)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_order(program):
    expected = mo.grad(mo.grad(lambda x: program(x, call)))(1.3)
    assert mo.grad(mo.grad(lambda x: program(x, mo.checkpoint)))(1.3) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled(target, program):
    expected = mo.grad(lambda x: program(x, call))(1.3)
    found = mo.jit(mo.grad(lambda x: program(x, mo.checkpoint)), target=target)(1.3)
    assert found == pytest.approx(expected, rel=1e-12)


# What is differentiated and is read through an object, a container or a variable


class Model:
    def __init__(self, w):
        self.w = w

    def layer(self, h):
        return np.tanh(self.w * h) * self.w


@pytest.mark.parametrize(
    "f",
    [
        lambda m, h: mo.checkpoint(m.layer, h).sum(),
        lambda m, h: mo.checkpoint(lambda u: m.layer(u), h).sum(),
        lambda m, h: mo.checkpoint(Model.layer, m, h).sum(),
        lambda m, h: mo.checkpoint(functools.partial(m.layer), h).sum() * m.w.sum(),
        lambda m, h: mo.checkpoint(lambda: m.w * h).sum(),
    ],
)
def test_the_parameters_of_a_model(f):
    model, h = Model(np.array([0.3, -0.7])), np.array([1.1, 0.4])

    def explicit(w, h):
        return f(Model(w), h)

    got = mo.gradient(f, model, h)
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1.0
        numeric, _ = ridders(lambda t: float(explicit(model.w + t * step, h)), 0.02)  # noqa: B023
        assert got[0].w[k] == pytest.approx(numeric, rel=1e-8)


def test_what_the_operations_gave_is_not_kept():
    def f(x):
        return [mo.checkpoint(lambda u: (np.sin(u) * [u][0]).sum(), x)][0]

    y, back = mo.vjp(f, np.ones(1000))
    assert len(back.tape.records) < 4
    assert back(1.0)[0] == pytest.approx(np.cos(1.0) + np.sin(1.0))


def test_running_again_leaves_the_state_as_it_was():
    log, box = [], Holder(n=0)

    def f(u):
        log.append("ran")
        box.n += 1
        return u * u

    y, back = mo.vjp(lambda x: mo.checkpoint(f, x) * x, 2.0)
    assert back(1.0) == back(1.0) == (12.0,)
    assert log == ["ran"] and box.n == 1


def test_random_draws_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(mo.NoDerivative, match="returned a different result when checkpoint recomputed it"):
        mo.grad(lambda x: mo.checkpoint(lambda u: u * rng.normal() + [u][0], x))(1.0)


def test_an_error_in_the_second_run_is_refused_with_the_cause():
    class Once:
        spent = False

        def __init__(self):
            self.x = 1.0

        def take(self, u):
            if Once.spent:
                raise RuntimeError("spent")
            Once.spent = True
            return u * u

    with pytest.raises(mo.NoDerivative, match="returned a different result when checkpoint recomputed it") as error:
        mo.grad(lambda x: mo.checkpoint(Once().take, x))(1.0)
    assert isinstance(error.value.__cause__, RuntimeError)
