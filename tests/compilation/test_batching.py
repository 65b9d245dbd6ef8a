"""``vmap``: for all samples what the function gives for each, on every path, with derivatives of and in it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo
from morula.core.compilation import batching
from morula.core.compilation.samples import is_number

RNG = np.random.default_rng(3)
N = 11
"""One group of native code, and a part of another."""


def in_turn(f, in_axes=0, **options):
    """``vmap`` that calls the function for one sample after the other."""
    made = mo.vmap(f, in_axes, **options)
    return lambda *args, **kwargs: made.program(*args, **kwargs)


def compiled(target):
    return lambda f, in_axes=0, **options: mo.jit(mo.vmap(f, in_axes, **options), target=target)


WAYS = {"in turn": in_turn, "native": compiled("native"), "xla": compiled("xla"), "vmap": mo.vmap}


def newton(x):
    y, k = x, 0
    while abs(y * y - x) > 1e-13 * x and k < 60:
        y = 0.5 * (y + x / y)
        k += 1
    return y, k


def bisection(x):
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle**3 > x:
            high = middle
        else:
            low = middle
    return low


def left_early(x):
    for i in range(8):
        if i > x:
            break
        if i * x > 5.0:
            return 2.0 * x
        x = x + 0.25 * i
    return x


def counted(x):
    total = 0.0
    for i in range(int(x)):
        total = total + np.sin(i * x)
    return total


def written(a):
    b = np.zeros(5)
    for i in range(5):
        if a[i] > 0:
            b[i] = np.sqrt(a[i])
        elif a[i] < -1.0:
            b[4 - i] += a[i] ** 2
    b[1:4] *= a[0]
    return b


def indexed(a):
    k = np.argmax(a)
    return a[k] * a[(k + 1) % 5], a[np.argsort(a)[:3]], a[::2].sum(), a[[0, 3]]


def safe(a):
    return np.where(a > 0, np.log(np.where(a > 0, a, 1.0)), 0.0).sum() + (np.sqrt(a[0]) if a[0] > 0 else 0.0)


def algebra(a):
    m = np.outer(a, a) + 5.0 * np.eye(5)
    return np.linalg.solve(m, a), np.linalg.det(m[:2, :2]), np.linalg.eigvalsh(m), np.linalg.inv(m) @ a


def transformed(a):
    return np.fft.rfft(a).real, np.fft.ifft(a * 1j).imag, np.cumsum(a), np.sort(a), np.convolve(a, a[:2])


def recursive(x):
    return x if x < 1.0 else 0.5 * recursive(x / 3.0) + x


def listed(x):
    """A sum over a list whose length is known at run time: it begins with an int that no sample changes."""
    found = [np.array([x, i * x]) for i in range(1 + int(x) % 5)]
    return np.sum(sum(found)) + sum(y[0] for y in found)


def collatz(x):
    n, k = int(abs(x) * 10) + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


SCALARS = [newton, bisection, left_early, counted, listed, collatz]
VECTORS = [written, indexed, safe, algebra, transformed]
NUMBERS = np.array([0.5, 2.0, 3.7, 40.0, 0.1, 7.7, 300.0, 1.1, 5.5, 12.25, 0.003])
ROWS = RNG.normal(size=(N, 5))


def same(found, expected):
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    else:
        assert np.shape(found) == np.shape(expected) and np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def each(f, *batches):
    found = [f(*one) for one in zip(*batches)]
    if isinstance(found[0], tuple):
        return tuple(np.stack(parts) for parts in zip(*found))
    return np.stack(found)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [*SCALARS, *VECTORS], ids=lambda f: f.__name__)
def test_all_samples_give_what_each_gives(f, way):
    batch = NUMBERS if f in SCALARS else ROWS
    same(WAYS[way](f)(batch), each(f, batch))


def total(f):
    def value(x):
        y = f(x)
        return sum(np.sum(np.sin(e)) for e in (y if isinstance(y, tuple) else (y,)))

    return value


SMOOTH = [newton, left_early, counted, written, indexed, safe, algebra, transformed]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", SMOOTH, ids=lambda f: f.__name__)
def test_derivatives_of_samples(f, way):
    batch = NUMBERS if f in SCALARS else ROWS
    same(WAYS[way](mo.grad(total(f)))(batch), each(mo.grad(total(f)), batch))


@pytest.mark.parametrize("target", ["native", "xla", None])
@pytest.mark.parametrize("f", SMOOTH, ids=lambda f: f.__name__)
def test_derivatives_of_batches(f, target):
    batch = NUMBERS if f in SCALARS else ROWS

    def loss(x):
        return np.sum(mo.vmap(total(f))(x))

    made = mo.grad(loss) if target is None else mo.jit(mo.grad(loss), target=target)
    same(made(batch), each(mo.grad(total(f)), batch))


SYSTEMS = [
    ((2, 2), (2,)),
    ((2, 2), (2, 1)),
    ((3, 2, 2), (2,)),
    ((3, 2, 2), (2, 2)),
    ((2, 2), (3, 2, 2)),
    ((3, 2, 2), (1, 2, 1)),
]


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("of_matrix, of_right", SYSTEMS)
def test_stacks_of_systems(of_matrix, of_right, target):
    """There are as many samples as systems in a stack: axes that are taken for each other have the same length."""
    a, right = RNG.normal(size=(3, *of_matrix)) + 3.0 * np.eye(2), RNG.normal(size=(3, *of_right))
    each_one = [(0, 0), (0, None), (None, 0)]
    made = mo.jit(
        lambda a, right: [mo.vmap(np.linalg.solve, in_axes=axes)(*pick(a, right, axes)) for axes in each_one],
        target=target,
    )

    def pick(a, right, axes):
        return a if axes[0] == 0 else a[1], right if axes[1] == 0 else right[1]

    expected = [
        each(np.linalg.solve, *(x if ax == 0 else [x] * 3 for x, ax in zip(pick(a, right, axes), axes)))
        for axes in each_one
    ]
    for found, alone in zip(made(a, right), expected):
        np.testing.assert_allclose(found, alone, rtol=1e-11)

    def loss(a, right):
        return np.sum(np.sin(np.linalg.solve(a, right)))

    slopes = mo.jit(mo.grad(lambda *args: np.sum(mo.vmap(loss)(*args)), (0, 1)), target=target)(a, right)
    for found, alone in zip(slopes, zip(*[mo.grad(loss, (0, 1))(*one) for one in zip(a, right)])):
        np.testing.assert_allclose(found, np.stack(alone), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_forward_and_second_derivatives(target):
    def of_one(x):
        return mo.jvp(lambda v: newton(v)[0], (x,), (1.0,))[1]

    expected = 0.5 / np.sqrt(NUMBERS)
    np.testing.assert_allclose(mo.jit(mo.vmap(of_one), target=target)(NUMBERS), expected, rtol=1e-12)

    def bounded(x):
        y = x
        for _ in range(9):
            if abs(y * y - x) > 1e-9 * x:
                y = 0.5 * (y + x / y)
        return y

    second = mo.jit(mo.vmap(mo.grad(mo.grad(bounded))), target=target)
    np.testing.assert_allclose(second(NUMBERS), -0.25 * NUMBERS**-1.5, rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_axes(way):
    a, b = RNG.normal(size=(2, 3)), RNG.normal(size=(5, 2))
    outer = WAYS[way](lambda x, y: (x[:, None] * y, x.sum()), in_axes=(0, 1), out_axes=(2, 0))
    found = outer(a, b)
    same(found[0], np.stack([x[:, None] * y for x, y in zip(a, b.T)], axis=2))
    same(found[1], a.sum(1))
    same(WAYS[way](lambda x, w, k: x * w**k, in_axes=(-1, None, None))(a, 2.0, 3), a.T * 8.0)
    same(WAYS[way](lambda x, w: (x, 2.0 * w), in_axes=(0, None), out_axes=(0, None))(a, b), (a, 2.0 * b))


@dataclass
class Model:
    weights: np.ndarray
    name: str = "model"
    steps: int = 2

    def __call__(self, x):
        for _ in range(self.steps):
            x = np.tanh(self.weights @ x)
        return x


@pytest.mark.parametrize("way", WAYS)
def test_structures(way):
    x, models = RNG.normal(size=(N, 3)), Model(RNG.normal(size=(N, 3, 3)))
    expected = np.stack([Model(w)(e) for w, e in zip(models.weights, x)])
    same(WAYS[way](lambda m, e: m(e))(models, x), expected)
    one = Model(models.weights[0])
    same(WAYS[way](lambda m, e: m(e), in_axes=(None, 0))(one, x), np.stack([one(e) for e in x]))

    def of_dict(p, e):
        return {"y": p["w"] * e, "kind": p["kind"], "pair": [e.sum(), None], "model": Model(e)}

    found = WAYS[way](of_dict, in_axes=({"w": None, "kind": None}, 0))({"w": 2.0, "kind": "linear"}, x)
    same(found["y"], 2.0 * x)
    same(found["pair"][0], x.sum(1))
    assert found["kind"] == "linear" and found["pair"][1] is None
    assert type(found["model"]) is Model and found["model"].name == "model"
    same(found["model"].weights, x)


@pytest.mark.parametrize("way", WAYS)
def test_batches_of_batches(way):
    a, b = RNG.normal(size=3), RNG.normal(size=4)
    table = WAYS[way](mo.vmap(lambda x, y: left_early(x * y), in_axes=(None, 0)), in_axes=(0, None))
    same(table(a, b), np.array([[left_early(x * y) for y in b] for x in a]))


@pytest.mark.filterwarnings("ignore:print in compiled code")
@pytest.mark.parametrize("way", WAYS)
def test_each_sample_prints(way, capsys):
    def told(x):
        print("sample")
        if x > 1.0:
            print(f"large: {x:.1f}")
        return x

    same(WAYS[way](told)(NUMBERS[:4]), NUMBERS[:4])
    lines = capsys.readouterr().out.split("\n")
    assert sorted(lines) == sorted(["", *["sample"] * 4, "large: 2.0", "large: 3.7", "large: 40.0"])


@pytest.mark.parametrize("way", WAYS)
def test_samples_are_copies(way):
    def doubled(x, state):
        x *= 2.0
        state["n"] = x.sum()
        return x, state["n"]

    a, state = RNG.normal(size=(3, 2)), {"n": np.zeros(3)}
    before = a.copy()
    same(WAYS[way](doubled)(a, state), (2.0 * before, 2.0 * before.sum(1)))
    same(a, before)
    same(state["n"], np.zeros(3))


def test_what_is_not_compiled_is_called_for_each_sample():
    log = []

    def logged(x):
        log.append(x)
        return x * len(log)

    made = mo.vmap(logged)
    same(made(np.array([1.0, 2.0])), np.array([1.0, 4.0]))
    assert log == [1.0, 2.0]
    text = made.explain(np.ones(2))
    assert "one sample after the other, in Python, because it cannot be compiled: vmap: " in text
    assert "changes a list that all samples share; return the new values instead" in text
    same(
        mo.grad(lambda x: np.sum(mo.vmap(lambda v: float(format(2.0, ".1f")) * v * v)(x)))(np.ones(3)), 4.0 * np.ones(3)
    )


def test_explain_says_how_samples_are_computed(capsys):
    assert "one sample after the other, in a native loop; samples take different ways at `while`" in mo.vmap(
        collatz
    ).explain(NUMBERS)
    assert "8 samples at once, in a native loop, under masks where they take different ways: `if`" in mo.vmap(
        bisection
    ).explain(NUMBERS)
    w = RNG.normal(size=(5, 2))
    assert "all samples at once" in mo.vmap(lambda a: np.tanh(a @ w)).explain(ROWS)
    text = mo.jit(mo.vmap(newton), target="xla").explain(NUMBERS)
    assert "all samples at once, under masks where they take different ways: `while`" in text


@pytest.mark.parametrize("target", ["native", "xla"])
def test_derivatives_of_functions_of_few_numbers(target):
    """Their partial derivatives are computed with the value; ``w`` is read from outside, ``b`` the same for all samples."""
    a = RNG.normal(size=6)

    def of_one(x, b, w):
        while x * x + b * b > 0.01:
            x, b = x * b * w, 0.5 * b
        return np.sin(x) + w * b if b > 0.01 else np.sqrt(x * x + w)

    def by_vmap(b, w, a):
        return np.sum(mo.vmap(lambda x, b: of_one(x, b, w), in_axes=(0, None))(a, b) ** 2)

    def by_hand(b, w, a):
        return sum(of_one(x, b, w) ** 2 for x in a)

    made = mo.jit(
        lambda *args: (
            mo.value_and_grad(by_vmap, (0, 1, 2))(*args),
            mo.hessian(lambda b: by_vmap(b, *args[1:]))(args[0]),
        ),
        target=target,
    )
    first, second = made(0.7, 1.3, a)
    same(first, mo.value_and_grad(by_hand, (0, 1, 2))(0.7, 1.3, a))
    np.testing.assert_allclose(second, mo.grad(mo.grad(by_hand))(0.7, 1.3, a), rtol=1e-10)
    forward = mo.jit(
        lambda b: (mo.jvp(lambda b: by_vmap(b, 1.3, a), (b,), (1.0,)), mo.taylor(lambda b: by_vmap(b, 1.3, a), b, 2)),
        target=target,
    )
    (value, slope), series = forward(0.7)
    np.testing.assert_allclose([value, slope, second / 2], [first[0], first[1][0], series[2]], rtol=1e-10)
    np.testing.assert_allclose(series[:2], [value, slope], rtol=1e-10)
    text = mo.jit(mo.grad(by_vmap, 2), target=target).explain(0.7, 1.3, a)
    assert (
        "its derivatives are computed with the values" in text
        and "backward sweep: nothing that grows with a loop" in text
    )


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_slope_that_is_infinite_where_no_cotangent_is(target):
    x = np.array([0.0, 4.0])
    roots = mo.jit(mo.grad(lambda x: mo.vmap(lambda v: np.sqrt(v))(x)[1]), target=target)(x)
    same(roots, np.array([0.0, 0.25]))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 29])
def test_groups_of_samples(n):
    """Native code computes eight samples at once where they are floats: the last group overlaps the one before."""
    x = np.exp(RNG.normal(size=(n, 3)))

    def of_one(p, scale):
        y, steps = p[0], 0.0
        while y > 0.01 and steps < 40.0:
            if y > 1.0:
                y = np.sqrt(y) * p[1] * scale
            else:
                y = y * 0.7 - 0.01 * np.sin(p[2])
            steps = steps + 1.0
        z = np.zeros(3)
        for k in range(3):
            z[k] = y * p[k]
        return z, steps, y > 0.0

    found = mo.jit(mo.vmap(of_one, in_axes=(0, None)), target="native")(x, 0.9)
    expected = [of_one(p, 0.9) for p in x]
    for a, parts in zip(found, zip(*expected)):
        np.testing.assert_allclose(a, np.stack(parts), rtol=1e-12)
    slopes = mo.jit(mo.vmap(mo.grad(lambda p: np.sum(of_one(p, 0.9)[0] ** 2))), target="native")(x)
    np.testing.assert_allclose(slopes, [mo.grad(lambda p: np.sum(of_one(p, 0.9)[0] ** 2))(p) for p in x], rtol=1e-10)

    def swung(p):
        angle, velocity = p[0], p[1]
        for _ in range(20):
            velocity = velocity - 0.1 * np.sin(angle)
            angle = angle + 0.1 * velocity
        return angle * angle

    made = mo.jit(mo.vmap(mo.grad(swung)), target="native")
    np.testing.assert_allclose(made(x), [mo.grad(swung)(p) for p in x], rtol=1e-11)
    assert ("8 samples at once" in made.explain(x)) is (n >= 8)


@pytest.mark.parametrize("n", [1, 3, 4, 11])
def test_groups_of_samples_that_fit_into_the_cache(n):
    """Samples of 4,096 elements are computed in groups of four, what is the same for all of them only once."""
    x, w, u = RNG.normal(size=(n, 64)), RNG.normal(size=(64, 64)) / 8, RNG.normal(size=(64, 64))

    def of_one(v, w):
        hidden = np.tanh(np.exp(u) @ w) * v
        return np.sum(np.where(hidden > 0.1, hidden @ w, 0.0), axis=0), v[0] * np.ones(2)

    made = mo.jit(mo.vmap(of_one, in_axes=(0, None)), target="native")
    for a, parts in zip(made(x, w), zip(*[of_one(v, w) for v in x])):
        np.testing.assert_allclose(a, np.stack(parts), rtol=1e-11, atol=1e-13)
    assert ("4 samples at once, in a native loop" in made.explain(x, w)) is (n > 4)

    def loss(v, w):
        return np.sum(of_one(v, w)[0] ** 2) * v[1]

    slopes = mo.jit(mo.vmap(mo.grad(loss, 1), in_axes=(0, None)), target="native")(x, w)
    np.testing.assert_allclose(slopes, [mo.grad(loss, 1)(v, w) for v in x], rtol=1e-9, atol=1e-12)
    whole = mo.jit(mo.grad(lambda x, w: np.sum(mo.vmap(loss, in_axes=(0, None))(x, w)), (0, 1)), target="native")(x, w)
    np.testing.assert_allclose(whole[1], np.sum(slopes, axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole[0], [mo.grad(loss)(v, w) for v in x], rtol=1e-9, atol=1e-12)


def test_errors_in_groups_of_samples():
    def checked(x):
        while x < 100.0:
            if x > 50.0:
                raise ValueError(f"{x:.2f} is reached")
            x = x * 3.0
        return x

    made = mo.jit(mo.vmap(checked), target="native")
    x = np.full(20, 200.0)
    same(made(x), x)
    x[[9, 15]] = 6.0, 2.0
    with pytest.raises(ValueError, match="54.00 is reached"):
        made(x)


# Operations on all samples


def softmax(x):
    e = np.exp(x - mo.pmax(x, "i"))
    return e / mo.psum(e, "i")


def whitened(x):
    d = {"x": x - mo.pmean(x, "i")}
    return d["x"] / np.sqrt(mo.pmean(d["x"] ** 2, "i")), mo.pmin(x, "i")


def ranked(x):
    everyone = mo.all_gather(x, "i")
    return np.sum(everyone < x), mo.axis_index("i"), mo.psum({"a": x, "b": [2 * x]}, "i")["b"][0]


@pytest.mark.parametrize("target", ["native", "xla"])
def test_collectives(target):
    x = np.array([1.0, -2.0, 3.0, 0.5])

    def run(f):
        return mo.jit(mo.vmap(f, axis_name="i"), target=target)(x)

    same(run(softmax), np.exp(x) / np.exp(x).sum())
    d = x - x.mean()
    same(run(whitened), (d / np.sqrt((d**2).mean()), np.full(4, -2.0)))
    same(run(ranked), (np.array([2, 0, 3, 1]), np.arange(4), np.full(4, 5.0)))
    rows = mo.jit(mo.vmap(mo.vmap(softmax, axis_name="i")), target=target)(np.stack([x, 2.0 * x]))
    same(rows, np.stack([np.exp(k * x) / np.exp(k * x).sum() for k in (1, 2)]))
    columns = mo.jit(mo.vmap(mo.vmap(softmax), axis_name="i"), target=target)(np.stack([x, 2.0 * x], axis=1))
    same(columns, rows.T)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_derivatives_of_collectives(target):
    x = np.array([1.0, -2.0, 3.0, 0.5])
    p = np.exp(x) / np.exp(x).sum()
    jacobian = mo.jit(mo.jacobian(mo.vmap(softmax, axis_name="i")), target=target)(x)
    np.testing.assert_allclose(jacobian, np.diag(p) - np.outer(p, p), atol=1e-14)

    def loss(v):
        return np.sin(mo.psum(v * v, "i")) * v + np.sum(mo.all_gather(v, "i") ** 3) * v

    def whole(x):
        return np.sum(np.sin(np.sum(x * x)) * x + np.sum(x**3) * x)

    same(mo.jit(mo.vmap(mo.grad(loss), axis_name="i"), target=target)(x), mo.grad(whole)(x))
    _, along = mo.jit(lambda x, dx: mo.jvp(mo.vmap(loss, axis_name="i"), (x,), (dx,)), target=target)(x, 0.1 * x)
    np.testing.assert_allclose(along.sum(), mo.grad(whole)(x) @ (0.1 * x), rtol=1e-12)


# Errors


@pytest.mark.parametrize("way", WAYS)
def test_errors_of_the_program(way):
    def checked(x):
        if x > 2.5:
            raise ValueError(f"{x} is too large")
        return x

    def out_of_range(a):
        return a[int(a[0])]

    with pytest.raises(ValueError, match="3.7 is too large"):
        WAYS[way](checked)(NUMBERS)
    with pytest.raises(IndexError):
        WAYS[way](out_of_range)(np.array([[0.0, 1.0], [7.0, 2.0]]))


ADD = {"f": lambda a, b: a + b}


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda vmap: vmap(ADD["f"])(np.ones(3), np.ones((4, 2))), "axis 0 of argument 0 has length 3, but axis 0 of argument 1 has length 4"),
        (lambda vmap: vmap(ADD["f"])(np.ones(3), {"b": [2.0]}), r"argument 1\['b'\]\[0\] is a number and has no axis 0; pass an array"),
        (lambda vmap: vmap(ADD["f"], in_axes=(0, 2))(np.ones(3), np.ones((3, 3))), r"argument 1 is an array of shape \(3, 3\) and has no axis 2"),
        (lambda vmap: vmap(np.sin)(np.ones((0, 3))), "there are no samples: axis 0 of argument 0 has length 0"),
        (lambda vmap: vmap(np.sin, in_axes=None)(np.ones(3)), "no argument of numpy.sin has an array with samples"),
        (lambda vmap: vmap(np.sin, in_axes=(0, 1))(np.ones(3)), "in_axes has 2 entries, but numpy.sin was given 1 arguments"),
        (lambda vmap: vmap(np.sin, out_axes=1)(np.ones(3)), "out_axes is 1, but the results of all samples have 1 axes"),
        (lambda vmap: vmap(np.sin, out_axes=None)(np.arange(3.0)), "out_axes is None for a result"),
        (lambda vmap: vmap(np.sin, out_axes=(0, 0))(np.arange(3.0)), "the axes of the result are 2 entries"),
        (lambda vmap: vmap(lambda x: mo.psum(x, "j"), axis_name="i")(np.ones(3)), "no vmap around this call has axis_name='j'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", WAYS)
def test_arguments_that_do_not_fit(call, text, way):
    with pytest.raises(mo.BadInput, match=text):
        call(WAYS[way])


def test_other_errors():
    with pytest.raises(mo.BadInput, match="in_axes must be an int, None, or lists, tuples and dicts of these, not 'x'"):
        mo.vmap(np.sin, in_axes=("x",))
    with pytest.raises(
        mo.BadInput, match=r"returned results of shapes \(1,\) for one sample, and of \(2,\) for another"
    ):
        mo.vmap(lambda a: a[a > 0])(np.array([[1.0, -1.0], [1.0, 2.0]]))
    with pytest.raises(mo.BadInput, match="has another length in each sample; use a mask"):
        mo.jit(mo.vmap(lambda a: a[a > 0]), target="xla")(np.array([[1.0, -1.0], [1.0, 2.0]]))
    for target in ("native", "xla"):
        with pytest.raises(
            mo.BadInput, match="psum over the axis 'i' stands in a branch or loop that samples take differently"
        ):
            mo.jit(mo.vmap(lambda v: mo.psum(v, "i") if v > 1.5 else v, axis_name="i"), target=target)(NUMBERS)
    with pytest.raises(
        mo.BadInput, match="samples take different ways in a derivative, in a function that combines samples"
    ):
        mo.jit(mo.vmap(lambda v: mo.grad(lambda u: newton(u)[0])(v) + mo.psum(v, "i"), axis_name="i"), target="native")(
            NUMBERS
        )
    with pytest.raises(mo.BadInput, match="psum: no vmap around this call has axis_name='i'"):
        mo.psum(1.0, "i")
    with pytest.raises(mo.BadInput, match="cannot be compiled"):
        in_turn(softmax, axis_name="i")(NUMBERS)


DIFFERING = {
    "containers": lambda a: {"k": a} if a > 0 else [a],
    "keys": lambda a: {"k": a} if a > 0 else {"l": a},
    "lengths": lambda a: [a] if a > 0 else [a, a],
    "none": lambda a: a if a > 0 else None,
    "texts": lambda a: (a, "positive" if a > 0 else "negative"),
    "numbers in texts": lambda a: (a, f"{a:.2f}"),
}


@pytest.mark.parametrize("kind", DIFFERING)
def test_results_of_different_structures(kind):
    f, x = DIFFERING[kind], np.array([1.0, -1.0, 2.0])
    for call in (mo.vmap(f), in_turn(f), mo.grad(lambda x: np.sum(mo.vmap(lambda a: f(a))(x)[0]))):
        with pytest.raises(mo.BadInput, match="vmap: .*returns another structure for each sample"):
            call(x)
    for target in ("native", "xla"):
        with pytest.raises(
            mo.BadInput, match="returns values of different kinds, or texts of numbers|must be known while compiling"
        ):
            compiled(target)(f)(x)


def test_a_batched_function_is_a_function():
    made = mo.vmap(left_early)
    assert repr(made) == "vmap(left_early)" and made.__name__ == "left_early"
    assert copy.deepcopy(made) is made and "explain" in dir(made) and "program" not in dir(made)
    same(pickle.loads(pickle.dumps(made))(NUMBERS), made(NUMBERS))

    class Scaled:
        def __init__(self, k):
            self.k = k

        rows = mo.vmap(lambda self, x: self.k * x.sum(), in_axes=(None, 0))

    same(Scaled(2.0).rows(ROWS), 2.0 * ROWS.sum(1))
    same(mo.vmap(mo.jit(lambda x: 2.0 * x))(NUMBERS), 2.0 * NUMBERS)
    assert is_number(np.True_) and not is_number("a")


def test_programs_are_kept_where_vmap_is_written_in_a_call(monkeypatch):
    made = []
    compile_now = batching.Jitted._made
    monkeypatch.setattr(batching.Jitted, "_made", lambda self, *args: made.append(self) or compile_now(self, *args))
    data = np.array([2.0, 3.0])

    def gradients(x, scale):
        return mo.vmap(mo.grad(lambda v, w: np.sum(scale * w * v * v)), in_axes=(0, None))(x, data)

    for _ in range(3):
        same(gradients(NUMBERS, 2.0), 20.0 * NUMBERS)
    assert len(made) == 1
    same(gradients(NUMBERS, float("3.0")), 30.0 * NUMBERS)


def test_programs_are_not_shared_when_what_they_close_over_has_changed():
    factor = 2.0

    def made():
        k = factor

        def change(x):
            nonlocal k
            k = x

        return mo.vmap(lambda v: k * v), change

    first, change = made()
    same(first(NUMBERS), 2.0 * NUMBERS)
    second, _ = made()
    same(second(NUMBERS), 2.0 * NUMBERS)
    change(5.0)
    same(second(NUMBERS), 2.0 * NUMBERS)
    same(first(NUMBERS), 5.0 * NUMBERS)
    same(second(NUMBERS), 2.0 * NUMBERS)


# Rules for batches


def measured(x, w):
    return mo.callback(lambda x, w: np.array(x @ w), np.array(0.0), x, w)


def extremes(x):
    return x.min(), x.max()


RULED: list[tuple[bool, ...]] = []


@mo.batch_rule(measured)
def _(varies, x, w):
    RULED.append(varies)
    return np.sum(x * w, axis=-1)


@mo.batch_rule(extremes)
def _(varies, x):
    RULED.append(varies)
    return x.min(1), x.max(1)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_rules_for_batches(target):
    w = np.array([1.0, -2.0, 0.5, 3.0, 1.0])

    def run(f, *args, **options):
        RULED.clear()
        return mo.jit(mo.vmap(f, **options), target=target)(*args)

    same(run(measured, ROWS, w, in_axes=(0, None)), ROWS @ w)
    assert RULED == [(True, False)]
    same(run(lambda x: measured(w, x) * measured(w, w), ROWS), (ROWS @ w) * (w @ w))
    assert RULED == [(False, True)]
    same(run(extremes, ROWS), (ROWS.min(1), ROWS.max(1)))
    same(run(lambda x: measured(x, w) if x[0] > 0 else measured(w, w), ROWS), np.where(ROWS[:, 0] > 0, ROWS @ w, w @ w))
    gradient = mo.jit(mo.grad(lambda x: np.sum(mo.vmap(lambda v: measured(v, w))(x) ** 2)), target=target)
    same(gradient(ROWS), 2.0 * (ROWS @ w)[:, None] * w)
    within = run(mo.grad(lambda x: extremes(x)[1] * x[0]), ROWS)
    assert not RULED  # a derivative within the batch is that of the function
    same(within, each(mo.grad(lambda x: extremes(x)[1] * x[0]), ROWS))


def test_rules_that_do_not_fit():
    def f(x):
        return 2.0 * x

    with pytest.raises(
        mo.BadInput, match=r"must return 1 arrays, as .*f .* does, with the samples along their first axes"
    ):
        mo.batch_rule(f)(lambda varies, x: (x, x))
        mo.jit(mo.vmap(f))(NUMBERS)
    with pytest.raises(
        mo.BadInput,
        match=r"returned an array of shape \(\); .* returns \(\) for one sample, so an axis of samples must",
    ):
        mo.batch_rule(f)(lambda varies, x: x.sum())
        mo.jit(mo.vmap(f))(NUMBERS)
    mo.batch_rule(f)(lambda varies, x: x + x)
    with pytest.raises(
        mo.BadInput, match="has a rule for batches, so its positional arguments must be numbers and arrays"
    ):
        mo.jit(mo.vmap(lambda x: f([x])))(NUMBERS)
    same(mo.vmap(f)(NUMBERS), 2.0 * NUMBERS)


def endpoint(w, dt):
    x, v = np.array([0.0, 2.0]), np.array([0.75, 0.0])
    while True:
        new = x + dt * v
        if new[1] <= 0.0:
            break
        x, v = new, v - dt * np.array([0.0, 1.0 + w])
    return x[0] * w


def slope_by_vmap(x, dt):
    return mo.vmap(lambda u: mo.jvp(lambda w: endpoint(w[0], dt), (x,), (u,))[1])(np.eye(1))


def slope_by_columns(x, dt):
    return mo.jacfwd(lambda w: endpoint(w[0], dt))(x)


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("slope", [slope_by_vmap, slope_by_columns])
def test_loops_within_samples_within_a_loop_that_may_keep_its_arrays(slope, target):
    def descend(x, rate, dt):
        best = endpoint(x[0], dt)
        for _ in range(5):
            new = x - rate * slope(x, dt)
            found = endpoint(new[0], dt)
            if found < best:
                x, best = new, found
            else:
                rate = 0.5 * rate
        return x

    args = np.ones(1), 0.1, 0.125
    np.testing.assert_allclose(mo.jit(descend, target=target)(*args), descend(*args), rtol=1e-12)
