"""Each combination of derivatives and compilation gives the same result as recorded execution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morula as mo
from morula.core.errors import BadInput

PATHS = ("native", "xla")


def half(x):
    return x / 2


@mo.adjoint(half)
def _(x):
    return half(x), lambda dy: 7 * dy


def dot(p):
    return p["w"] @ p["w"] * p["rest"][0]


@mo.adjoint(dot)
def _(p):
    def back(dy):
        return {"w": 3 * dy * p["w"], "rest": [dy, None]}

    return dot(p), back


class Model:
    def __init__(self, w):
        self.w = w
        self.name = "m"

    def loss(self, x):
        return np.sum(self.w * x) ** 2


def same(a: Any, b: Any) -> bool:
    """Whether two results have the same structure, types and numbers."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, Model):
        return type(a) is type(b) and same(vars(a), vars(b))
    if a is None or isinstance(a, str):
        return a == b
    alike = type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype
    return alike and np.allclose(a, b, rtol=1e-10, atol=1e-12)


def power(x, n):
    r = 1.0
    while n > 0:
        n -= 1
        r *= x
    return r


def in_place(x):
    s = np.zeros(3)
    for i in range(3):
        s[i] = x[i] ** 2
    x[0] = 5.0
    return s.sum()


def pulled(x):
    y, back = mo.pullback(lambda a: (a * 2, a[0], {"b": a.sum()}), x)
    return y, back((x, 1.0, None)), back((None, 2.0, {"b": 3.0}))


def closed_over(x):
    return mo.grad(lambda a: np.sum(a * x))(x)


def with_state(x, state):
    def loss(a):
        state["n"] = state["n"] + a
        state["seen"].append(a * 2)
        return a * a

    g = mo.grad(loss)(x)
    return g, state["n"], state["seen"]


def argument_changed(p):
    def loss(p):
        p["w"][0] = 2.0
        p["new"] = p["w"] * 2
        return np.sum(p["w"] ** 2)

    return mo.grad(loss)(p), p["w"], p["new"]


def branches(x):
    return mo.value_and_grad(lambda a: a * a if a > 1 else 3 - a)(x)


def auxiliary(x):
    return mo.value_and_grad(lambda a: (a * a, {"aux": a, "text": "t"}), has_aux=True)(x)


def rows(x):
    return mo.jacobian(lambda a: [a**2, (a[0], {"s": np.outer(a, a)})])(x)


def vector(n=2):
    return np.arange(1.0, n + 1)


def by_hand_in_a_loop(x, n):
    s = x
    for _ in range(n):
        s = half(s) * x + mo.stop_gradient(s)
        s = mo.hook(lambda d: 2 * d, s)
        s = mo.checkpoint(lambda u: np.sin(u) * u, s)
    return s


def by_hand_in_a_branch(x):
    return half(x) * x if x > 1 else mo.hook(lambda d: 3 * d, x) ** 2


def by_hand_in_a_while(x):
    s = 1.0
    while s < 50:
        s = half(s) * x + s
    return s


def fixed_point(f, x0, p):
    x = x0
    while True:
        y = f(x, p)
        if np.max(np.abs(y - x)) < 1e-12:
            return y
        x = y


@mo.adjoint(fixed_point)
def _(f, x0, p):
    y = fixed_point(f, x0, p)
    _, back = mo.pullback(f, y, p)

    def implicit(dy):
        w = dy
        for _ in range(60):
            w = dy + back(w)[0]
        return None, None, back(w)[1]

    return y, implicit


def descent(x):
    log = np.zeros(4)

    def loss(a, i):
        log[i] = a[0]
        return np.sum(a**2)

    for i in range(4):
        x = x - 0.1 * mo.grad(loss)(x, i)
    return x, log


def newton(x):
    def f(a):
        return a**3 - 2

    while abs(f(x)) > 1e-10:
        x = x - f(x) / mo.grad(f)(x)
    return x


def pulled_in_a_loop(x, n):
    def f(a):
        s = a
        for _ in range(n):
            s = np.sin(s) * a
        return s

    y, back = mo.pullback(f, x)
    total = np.zeros(2)
    for i in range(2):
        unit = np.zeros(2)
        unit[i] = 1.0
        total += back(unit)[0]
    return y, total, back(np.ones(2))


INSIDE = [
    (mo.grad(by_hand_in_a_loop), lambda: (1.5, 4)),
    (mo.grad(by_hand_in_a_branch), lambda: (1.5,)),
    (mo.grad(by_hand_in_a_branch), lambda: (0.5,)),
    (mo.grad(by_hand_in_a_while), lambda: (2.5,)),
    (mo.grad(lambda p: fixed_point(lambda x, t: np.cos(x) * t, 1.0, p)), lambda: (0.5,)),
    (mo.hessian(lambda x: np.sum(half(x) ** 2 * x)), lambda: (vector(),)),
    (descent, lambda: (vector(),)),
    (newton, lambda: (1.5,)),
    (mo.grad(newton), lambda: (1.5,)),
    (pulled_in_a_loop, lambda: (vector(), 4)),
    (mo.grad(lambda x: x**3), lambda: (2.0,)),
    (mo.grad(lambda x: x**3), lambda: (np.float32(2.0),)),
    (mo.grad(lambda z: abs(z * z)), lambda: (1 + 2j,)),
    (mo.value_and_grad(lambda x, y: np.sum(x * y) ** 2, (0, 1)), lambda: (vector(3), np.ones(3))),
    (mo.grad(lambda p: p["w"] * p["b"][0]), lambda: ({"w": 2.0, "b": [3.0, None, "s"], "f": True},)),
    (mo.grad(lambda m, x: m.loss(x)), lambda: (Model(vector()), vector())),
    (mo.grad(lambda pair: np.sum(pair[0] * pair[1] ** 2)), lambda: ([vector(), vector() + 1],)),
    (mo.hessian(lambda x: x[0] ** 2 * x[1]), lambda: (vector(),)),
    (mo.jacobian(lambda x: x**2), lambda: (vector(),)),
    (rows, lambda: (vector(),)),
    (mo.grad(power), lambda: (1.5, 7)),
    (mo.grad(mo.grad(power)), lambda: (1.5, 7)),
    (lambda x: mo.gradient(lambda a, b: a * b**2, x, 3.0), lambda: (2.0,)),
    (pulled, lambda: (vector(),)),
    (closed_over, lambda: (vector(),)),
    (mo.grad(lambda x: mo.grad(lambda y: y**2 * x)(x)), lambda: (3.0,)),
    (branches, lambda: (3.0,)),
    (branches, lambda: (0.5,)),
    (auxiliary, lambda: (3.0,)),
    (mo.grad(in_place), lambda: (vector(3),)),
    (lambda x: (mo.grad(in_place)(x), x), lambda: (vector(3),)),
    (with_state, lambda: (3.0, {"n": 1.0, "seen": []})),
    (argument_changed, lambda: ({"w": vector(3)},)),
    (mo.grad(lambda x: mo.hook(lambda d: 10 * d, x) ** 2), lambda: (3.0,)),
    (mo.grad(lambda x: x * mo.stop_gradient(x)), lambda: (3.0,)),
    (mo.grad(lambda x: mo.stop_gradient([x, {"a": x}])[1]["a"] * x), lambda: (3.0,)),
    (mo.grad(lambda x: mo.checkpoint(lambda u: u * u * u, x)), lambda: (2.0,)),
    (mo.grad(lambda x: mo.forwarddiff(lambda u: u**3, x)), lambda: (2.0,)),
    (mo.grad(lambda x: half(x) * x), lambda: (3.0,)),
    (lambda x: half(x), lambda: (3.0,)),
    (mo.grad(mo.grad(lambda x: half(x) ** 2 * x)), lambda: (3.0,)),
    (mo.grad(lambda w: dot({"w": w, "rest": [w[0], 1]})), lambda: (vector(),)),
    (lambda x: mo.nestlevel() * x, lambda: (3.0,)),
    (mo.grad(lambda x: mo.nestlevel() * x), lambda: (3.0,)),
]


@pytest.mark.parametrize("target", PATHS)
@pytest.mark.parametrize("f, arguments", INSIDE)
def test_derivatives_in_a_compiled_program(f, arguments, target):
    given, compared = arguments(), arguments()
    assert same(mo.jit(f, target=target)(*given), f(*compared))
    assert same(list(given), list(compared))


def outer(jit):
    g = jit(lambda a, b: (a * b, {"s": a.sum()}))

    def f(x):
        y, d = g(x, 2.0)
        return np.sum(y * x) + d["s"] ** 2

    return mo.grad(f)


def around_closure(jit):
    def f(w):
        return jit(lambda x: x * w)(3.0) * w

    return mo.grad(f)


def written(jit):
    def f(x):
        x[0] = x[1] * 3
        return x.sum()

    return mo.grad(jit(f))


def steps(jit):
    step = jit(lambda x, t: x - 0.1 * x * t)

    def f(x):
        for _ in range(5):
            x = step(x, 0.5)
        return x

    return mo.grad(f)


AROUND = [
    (lambda jit: mo.grad(jit(lambda x: x**3)), lambda: (2.0,)),
    (lambda jit: mo.value_and_grad(jit(lambda x, y: np.sum(x * y)), (0, 1)), lambda: (vector(), vector())),
    (lambda jit: mo.jacobian(jit(lambda x: x**2)), lambda: (vector(),)),
    (lambda jit: mo.hessian(jit(lambda x: x[0] ** 2 * x[1])), lambda: (vector(),)),
    (lambda jit: mo.grad(lambda x: mo.grad(jit(lambda y: y**3 * x))(x)), lambda: (2.0,)),
    (lambda jit: mo.grad(jit(lambda p: p["w"] @ p["w"] * p["b"])), lambda: ({"w": vector(), "b": 2.0},)),
    (lambda jit: mo.grad(jit(lambda x, n=2: x**n, static_argnums=1)), lambda: (2.0, 3)),
    (lambda jit: mo.grad(jit(lambda x, *, y: x * y)), lambda: (2.0,)),
    (lambda jit: mo.grad(jit(Model(vector()).loss)), lambda: (vector(),)),
    (lambda jit: mo.grad(jit(Model.loss)), lambda: (Model(vector()), vector())),
    (lambda jit: jit(mo.grad(jit(lambda x: x * x))), lambda: (2.0,)),
    (outer, lambda: (vector(),)),
    (around_closure, lambda: (2.0,)),
    (written, lambda: (vector(),)),
    (steps, lambda: (2.0,)),
]


@pytest.mark.parametrize("target", PATHS)
@pytest.mark.parametrize("make, arguments", AROUND)
def test_derivatives_of_compiled_functions(make, arguments, target):
    def jit(f, **options):
        return mo.jit(f, target=target, **options)

    named = {"y": 3.0} if make is AROUND[7][0] else {}
    assert same(make(jit)(*arguments(), **named), make(lambda f, **_: f)(*arguments(), **named))


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda x: mo.grad(lambda a: a)(x), "a gradient needs a real scalar output.*of shape \\(2,\\)"),
        (lambda x: mo.grad(lambda a: np.sum(a) * 1j)(x), "returned a complex number"),
        (lambda x: mo.grad(lambda a: np.sum(a), 1)(x), "argnums 1 is out of range"),
        (lambda x: mo.grad(lambda a, b: np.sum(a), 1)(x, "s"), "argument 1 of .* has no derivative"),
        (
            lambda x: mo.pullback(lambda a: a, x)[1](1.0),
            "the result has shape \\(2,\\), but its cotangent has shape \\(\\)",
        ),
        (lambda x: mo.grad(lambda a: np.sum(a), has_aux=True)(x), "must return a pair"),
    ],
)
def test_errors_are_those_of_the_recorded_path(f, message):
    with pytest.raises(BadInput, match=message):
        mo.jit(f, target="native")(vector())


def test_a_pullback_made_in_a_loop_stays_in_it():
    def f(x, n):
        for _ in range(n):
            _, back = mo.pullback(np.sin, x)
        return back(1.0)

    with pytest.raises(BadInput, match="back is assigned inside a loop, but used after it"):
        mo.jit(f, target="native")(1.0, 5)


def test_a_pullback_that_changes_what_is_outside_is_refused():
    seen = []
    with pytest.raises(BadInput, match="changes"):
        mo.jit(mo.grad(lambda x: mo.hook(lambda d: seen.append(d) or d, x) ** 2), target="native")(3.0)


def train(jit, steps=3):
    rng = np.random.default_rng(0)
    params = {
        "l1": {"w": rng.normal(size=(3, 4)), "b": np.zeros(4)},
        "l2": {"w": rng.normal(size=(4, 1)), "b": np.zeros(1)},
    }
    state = {layer: {k: np.zeros_like(v) for k, v in part.items()} for layer, part in params.items()}

    def loss(p, x, y):
        h = np.tanh(x @ p["l1"]["w"] + p["l1"]["b"])
        return np.mean((h @ p["l2"]["w"] + p["l2"]["b"] - y) ** 2)

    def step(p, s, x, y):
        value, g = mo.value_and_grad(loss)(p, x, y)
        for layer in p:
            for k in p[layer]:
                s[layer][k] = 0.9 * s[layer][k] + g[layer][k]
                p[layer][k] -= 0.1 * s[layer][k]
        return value

    run = jit(step)
    x, y = rng.normal(size=(5, 3)), rng.normal(size=(5, 1))
    return [run(params, state, x, y) for _ in range(steps)], params, state, run


@pytest.mark.parametrize("target", PATHS)
def test_a_training_step_is_one_program(target):
    *found, run = train(lambda f: mo.jit(f, target=target))
    *expected, _ = train(lambda f: f)
    assert same(found, expected)
    (form,) = run.forms.values()
    assert len(form.programs) == 1


def times(n, x):
    s = 0.0
    for i in range(n):
        s = s + np.sin(x) * i
    return s


def chosen_by_kind(n, x):
    return (x * x if isinstance(n, int) else x) * (n // 2)


def of_large_int(n, x):
    return x * (n % 10)


def in_list(ns, x):
    return x[ns[0]] * x[0] * ns[1]


def pair_with_int(n, x):
    return n // 2, np.sin(x) * (n // 2)


@pytest.mark.parametrize("target", PATHS)
@pytest.mark.parametrize(
    "f, n, x",
    [
        (times, 5, 0.3),
        (chosen_by_kind, 5, 3.0),
        (of_large_int, 2**53 + 1, 3.0),
        (in_list, [1, 3], np.array([2.0, 5.0])),
    ],
)
def test_int_arguments_of_a_compiled_function_remain_ints_in_its_gradient(f, n, x, target):
    compiled = mo.jit(f, target=target)
    assert same(mo.grad(lambda x: compiled(n, x))(x), mo.grad(lambda x: f(n, x))(x))
    assert same(mo.hessian(lambda x: compiled(n, x))(x), mo.hessian(lambda x: f(n, x))(x))


@pytest.mark.parametrize("target", PATHS)
def test_int_arguments_remain_ints_in_the_pullback_of_a_compiled_function(target):
    compiled = mo.jit(pair_with_int, target=target)

    def scaled(f, x):
        n, y = f(5, x)
        return n * y * y

    assert same(mo.grad(lambda x: scaled(compiled, x))(0.3), mo.grad(lambda x: scaled(pair_with_int, x))(0.3))
    second = mo.grad(mo.grad(lambda x: scaled(compiled, x)))(0.3)
    assert same(second, mo.grad(mo.grad(lambda x: scaled(pair_with_int, x)))(0.3))


def test_a_derivative_given_by_hand_ends_with_its_level(target):
    """The solution is constant for the inner derivative, and the outer derivative goes through it."""

    def f(a):
        return mo.implicit(mo.stop_gradient(a**0.5), lambda x: x * x - a)

    assert np.isclose(mo.jit(mo.grad(mo.grad(f)), target=target)(4.0), -1 / 32)
    assert np.isclose(mo.jit(mo.grad(mo.grad(mo.grad(f))), target=target)(4.0), 3 / 256)
