"""``checkpoint`` with a policy or a budget: gradients on every path, runs of iterations, memory, errors."""

from __future__ import annotations

import contextlib
import functools
import threading
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import morula as mo
from morula.core.compilation.compilation_cache import fingerprint
from morula.core.eager.recorded import recomputed_loops
from morula.core.ir import memory_policies
from morula.core.ir.evaluate import Evaluation
from morula.core.ir.memory_policies import Costs, planned, policy_of
from morula.core.ir.schedules import advances, split
from morula.core.testing.differences import vjp_by_differences

PATHS = ["eager", "native", "xla"]
POLICIES = {
    "none": {},
    "store": {"policy": "store"},
    "recompute": {"policy": "recompute"},
    "sqrt": {"policy": "sqrt"},
    "revolve1": {"policy": mo.revolve(1)},
    "revolve3": {"policy": mo.revolve(3)},
    "online": {"policy": "online"},
    "online4": {"policy": mo.online(4)},
    "memory": {"memory": "30kB"},
    "offload": {"policy": "offload"},
}
X, Y = np.linspace(0.1, 1.0, 4), np.linspace(0.4, 0.9, 4)


def on_path(g, path):
    return g if path == "eager" else mo.jit(g, target=path)


def by_items(x, y, n):
    """Rebinds variables, writes into arrays of the loop and from before it, and reads a number that changes."""
    u, w, total = x.copy(), np.zeros(3), 0.0
    for i in range(3, 3 + 2 * n, 2):
        u = np.sin(u) * y + 0.1 * x * i
        total = total + u.sum()
        u[1] = total * u[0]
        w[i % 3] = w[(i + 1) % 3] * 0.5 + u[2]
        w += 0.1 * u[:3]
    return total + (u * u).sum() + (w**3).sum()


def by_condition(x, y, n):
    """A ``while`` loop that writes into one array all the time, with a loop within."""
    u, s, t = x.copy(), 0.0, 0
    while t < n or u[0] > 2:
        u[t % 3] = np.sin(u).sum() * y[0]
        for k in range(2):
            s = s * u[k] + y[1]
        t = t + 1
    return s + (u * u).sum()


def over_an_array(x, y, n):
    """Iterates over the elements of an array that is differentiated, and skips some."""
    s = y[0]
    for v in x * np.ones(n)[:, None] if n else x[:, None]:
        if v[0] > 0.5:
            continue
        s = np.sin(s * v[0]) + y[1]
    return s


CASES = [
    (kind, path)
    for kind in POLICIES
    for path in PATHS
    if path != "xla" or kind in ("none", "revolve3", "online4", "offload")
]


@pytest.fixture(scope="module", autouse=True)
def short_segments():
    """Offloads often, as large states would."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_policies, "OFFLOADED_SEGMENT", 600)
        yield


@pytest.mark.parametrize("kind, path", CASES)
@pytest.mark.parametrize("f", [by_items, by_condition], ids=lambda f: f.__name__)
def test_the_gradient_is_that_without_checkpoints(f, kind, path):
    g = on_path(lambda x, y, n: mo.gradient(lambda x, y: mo.checkpoint(f, x, y, n, **POLICIES[kind]), x, y), path)
    for n in (0, 1, 7, 23):
        found, expected = g(X, Y, np.int64(n)), mo.gradient(lambda x, y: f(x, y, n), X, Y)  # noqa: B023
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", [by_items, by_condition, over_an_array], ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_differences(f, path):
    g = on_path(lambda x, y: mo.gradient(lambda x, y: mo.checkpoint(f, x, y, 6, policy=mo.revolve(2)), x, y), path)
    expected, _ = vjp_by_differences(lambda x, y: f(x, y, 6), 1.0, (X, Y), step=0.01)
    for a, b in zip(g(X, Y), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)


STATEMENTS = st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 2))


def random_body(x, statements, n):
    a, b = x.copy(), x * x
    for i in range(n):
        for kind, j, k in statements:
            if kind == 0:
                a[j] = np.sin(a[k]) * b[j]
            elif kind == 1:
                a = a * 0.9 + b[k]
            elif kind == 2:
                b[j:] += 0.1 * a[j:]
            elif kind == 3:
                a, b = b, a.copy()
            else:
                b = np.tanh(b) + a[i % 3]
    return a.sum() + (a * b).sum()


@given(
    statements=st.lists(STATEMENTS, min_size=1, max_size=4).map(tuple),
    n=st.integers(0, 12),
    snapshots=st.integers(1, 5),
)
@settings(max_examples=60)
def test_random_bodies_with_writes_in_place(statements, n, snapshots):
    x = np.array([0.3, 0.7, 1.1])
    expected = mo.grad(lambda x: random_body(x, statements, n))(x)
    for chosen in ({"policy": mo.revolve(snapshots)}, {"policy": "sqrt"}, {"policy": "offload"}):
        found = mo.grad(lambda x: mo.checkpoint(random_body, x, statements, n, **chosen))(x)  # noqa: B023
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


@given(statements=st.lists(STATEMENTS, min_size=1, max_size=3).map(tuple), snapshots=st.integers(1, 4))
@settings(max_examples=8)
def test_random_bodies_compiled(statements, snapshots):
    x = np.array([0.3, 0.7, 1.1])
    expected = mo.grad(lambda x: random_body(x, statements, 9))(x)
    f = lambda x: mo.checkpoint(random_body, x, statements, 9, policy=mo.revolve(snapshots))  # noqa: E731
    np.testing.assert_allclose(mo.jit(mo.grad(f), target="native")(x), expected, rtol=1e-10, atol=1e-13)


# How often iterations run


@given(n=st.integers(1, 40), snapshots=st.integers(1, 8))
@settings(max_examples=30)
def test_revolve_runs_the_fewest_iterations(n, snapshots):
    """The first run, the optimum to get from state to state, and each iteration once with its records."""

    def f(x):
        for _ in range(n):
            x = x * x + 0.1
        return x

    count = 0
    step = recomputed_loops._For.step

    def counted(self, tape, k, state):
        nonlocal count
        count += 1
        return step(self, tape, k, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recomputed_loops._For, "step", counted)
        mo.grad(lambda x: mo.checkpoint(f, x, policy=mo.revolve(snapshots)))(0.2)
    assert count == n + advances(n, snapshots) - (n - 1) + n


@given(n=st.integers(2, 10**4), snapshots=st.integers(1, 500))
def test_the_schedule_is_optimal(n, snapshots):
    """The recurrence of Griewank and Walther's table holds at the split that is chosen."""
    m = split(n, snapshots)
    assert 0 < m < n and (snapshots > 1 or m == n - 1)
    behind = advances(n - m, snapshots - 1) if snapshots > 1 else 0
    assert advances(n, snapshots) == m + behind + advances(m, snapshots)


@functools.cache
def fewest(n, snapshots):
    if n == 1:
        return 0
    if snapshots == 1:
        return n * (n - 1) // 2
    return min(m + fewest(n - m, snapshots - 1) + fewest(m, snapshots) for m in range(1, n))


def test_the_closed_formula_is_that_of_dynamic_programming():
    assert all(advances(n, s) == fewest(n, s) for n in range(1, 50) for s in range(1, 12))


class Counting(Evaluation):
    """Counts the numbers of which the program takes sines."""

    count = 0

    def ran(self, op):
        self.count += np.size(self.get(op.results[0])) if op.callee is np.sin else 0


def sines(g, *args, target):
    run = Counting()
    compilation = mo.jit(g, target=target).lower(*args).compilation
    run.call(compilation.function, args)
    return run.count


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_checkpointed_call_in_a_loop_is_run_again_there(target):
    def layer(x, w):
        return np.sin(x @ w) @ w

    def run(wrap):
        def f(x, w):
            for _ in range(5):
                x = wrap(layer, x, w)
            return x.sum()

        return mo.grad(f, 1)

    call = lambda f, *args: f(*args)  # noqa: E731
    x, w = np.ones(3), 0.1 * np.arange(9.0).reshape(3, 3)
    assert sines(run(call), x, w, target=target) == 15
    assert sines(run(mo.checkpoint), x, w, target=target) == 30
    np.testing.assert_allclose(mo.jit(run(mo.checkpoint), target=target)(x, w), run(call)(x, w), rtol=1e-12)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_checkpointed_calls_in_each_other(target):
    def inner(x):
        for _ in range(4):
            x = np.sin(x) * x
        return x

    def outer(x):
        for _ in range(3):
            x = mo.checkpoint(inner, x)
        return x

    def f(x):
        for _ in range(2):
            x = mo.checkpoint(outer, x)
        return x

    g = mo.grad(f)
    assert mo.jit(g, target=target)(0.7) == pytest.approx(mo.grad(lambda x: outer(outer(x)))(0.7), rel=1e-12)
    assert g(0.7) == pytest.approx(mo.grad(lambda x: outer(outer(x)))(0.7), rel=1e-12)
    assert sines(g, 0.7, target=target) > 48


def test_a_checkpointed_call_outside_of_a_loop_is_run_again():
    def layer(x):
        return np.sin(x) ** 3

    def f(x):
        for k in range(3):
            x = mo.checkpoint(layer, x) if k % 2 == 0 else x * 2
        return mo.checkpoint(layer, x).sum()

    x = np.linspace(0.1, 1.0, 5)
    plain = mo.grad(lambda x: (np.sin(np.sin(2 * np.sin(x) ** 3) ** 3) ** 3).sum())(x)
    for target in ("native", "xla"):
        np.testing.assert_allclose(mo.jit(mo.grad(f), target=target)(x), plain, rtol=1e-12)
    assert sines(mo.grad(f), x, target="native") == 25  # the last call is not run the first time: its value is not used


# Programs of all kinds


def kept_in_a_list(x):
    found = []
    for _ in range(5):
        x = np.sin(x) * 1.1
        found.append(x)
    return sum(found)


def left_early(x):
    for k in range(9):
        x = np.sin(x) * 1.1
        if k == 5:
            break
    return x


def in_two_loops(x):
    for _ in range(7):
        x = np.sin(x) * 1.1
    y = x
    while y > 0.05:
        y = y * 0.7
    return x + y


def with_text_and_none(x):
    name, last = "a", None
    for k in range(6):
        x = x * 1.1 if name == "a" else np.sin(x)
        name, last = ("b", k) if name == "a" else ("a", None)
    return x if last is None else 2 * x


def of_a_closure(x):
    a = x * x

    def f(y):
        for _ in range(5):
            y = y * a + np.sin(y)
        return y

    return mo.checkpoint(f, x, policy=mo.revolve(2))


class Model:
    def __init__(self, w):
        self.__w = w

    def run(self, x, times):
        for _ in range(times):
            x = np.tanh(self.__w * x) + self.__w
        return x


def of_a_method(x):
    return mo.checkpoint(Model(x).run, x, policy="sqrt", times=6)


def of_a_partial(x):
    return mo.checkpoint(functools.partial(Model(x).run, times=6), x, policy=mo.revolve(2))


PROGRAMS = [kept_in_a_list, left_early, in_two_loops, with_text_and_none, of_a_closure, of_a_method, of_a_partial]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f, path):
    (expected,), _ = vjp_by_differences(f, 1.0, (0.9,), step=0.01)
    policies = [{"policy": mo.revolve(2)}, {"policy": "offload"}, {"policy": "sqrt"}, {"policy": mo.online(2)}, {}]
    for chosen in policies if path != "xla" else policies[:2]:
        found = on_path(mo.grad(lambda x: mo.checkpoint(f, x, **chosen)), path)(0.9)  # noqa: B023
        assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("path", PATHS)
def test_the_second_derivative(path):
    g = lambda x: mo.checkpoint(by_items, x * X, Y, 4, policy=mo.revolve(2))  # noqa: E731
    expected = mo.grad(mo.grad(lambda x: by_items(x * X, Y, 4)))(1.1)
    assert on_path(mo.grad(mo.grad(g)), path)(1.1) == pytest.approx(expected, rel=1e-9)
    assert on_path(lambda x: mo.jvp(mo.grad(g), (x,), (1.0,))[1], path)(1.1) == pytest.approx(expected, rel=1e-9)


def test_a_pullback_can_be_called_again():
    _, back = mo.vjp(lambda x: mo.checkpoint(by_items, x, Y, 9, policy=mo.revolve(3)), X)
    first, second = back(1.0)[0], back(1.0)[0]
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, mo.grad(lambda x: by_items(x, Y, 9))(X), rtol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_pullbacks_of_programs_can_be_called_again(f):
    for chosen in ({"policy": mo.revolve(2)}, {"policy": mo.online(2)}, {"policy": "offload"}):
        _, back = mo.vjp(lambda x: mo.checkpoint(f, x, **chosen), 0.9)  # noqa: B023
        assert back(1.0) == back(1.0) == pytest.approx((mo.grad(f)(0.9),), rel=1e-12)


def nested_sines(x):
    u = x
    for _ in range(6):
        u = np.sin(u) * x
    return u.sum()


OFFLOADED = lambda x: mo.checkpoint(nested_sines, x, policy="offload")  # noqa: E731


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize(
    "second",
    [
        lambda x: mo.grad(lambda x: mo.grad(OFFLOADED)(x).sum())(x),
        lambda x: mo.jvp(mo.grad(OFFLOADED), (x,), (x,))[1],
    ],
    ids=["reverse", "forward"],
)
def test_offloading_has_one_derivative_in_a_program(second, target):
    expected = mo.jvp(mo.grad(nested_sines), (X,), (X,))[1]
    np.testing.assert_allclose(mo.jvp(mo.grad(OFFLOADED), (X,), (X,))[1], expected, rtol=1e-10)
    with pytest.raises(mo.NoDerivative, match="policy offload has one derivative only in a compiled program"):
        mo.jit(second, target=target)(X)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_offloaded_states_are_used_once(target):
    def twice(x):
        y, back = mo.pullback(OFFLOADED, x)
        return back(1.0)[0] + back(2.0)[0]

    with pytest.raises(mo.NoDerivative, match="are dropped when its derivative has used them"):
        mo.jit(twice, target=target)(X)


def kept_outside(x):
    """A list keeps states of the loop, which are used later."""
    kept, u = [], x * 1.0
    for _ in range(6):
        u = np.sin(u) + 0.1 * x
        kept.append(u)
    return sum((k + 1) * (v**3).sum() for k, v in enumerate(kept))


def keeps_the_state_before(x):
    """A list keeps each state when the next one is computed."""
    kept, u = [], x * 1.0
    for _ in range(6):
        kept.append(u)
        u = np.sin(u) + 0.1 * x
    return sum((k + 1) * (v**3).sum() for k, v in enumerate(kept))


def keeps_states_of_a_while_loop(x):
    kept, u, k = [], x * 1.0, 0
    while k < 9:
        kept.append(u)
        u = np.sin(u) + 0.1 * x
        k += 1
    return sum((k + 1) * (v**3).sum() for k, v in enumerate(kept))


def overwrites_the_state_before(x):
    u, v = x * 1.0, x * 0.5
    for k in range(6):
        u[k % 3] = np.cos(v[k % 2])
        u, v = np.sin(u) + 0.1 * v, u
    return (u * v).sum()


ELSEWHERE = [kept_outside, keeps_the_state_before, keeps_states_of_a_while_loop, overwrites_the_state_before]


@pytest.mark.parametrize("f", ELSEWHERE, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "policy", ["offload", "sqrt", "recompute", mo.revolve(2), mo.revolve(9), mo.online(2)], ids=str
)
def test_states_that_stand_elsewhere_too(f, policy):
    expected, _ = vjp_by_differences(f, 1.0, (X,), step=0.01)
    _, back = mo.vjp(lambda x: mo.checkpoint(f, x, policy=policy), X)
    for _ in range(2):
        np.testing.assert_allclose(back(1.0)[0], expected[0], rtol=1e-7)


@pytest.mark.parametrize("path", PATHS)
def test_offloaded_states_take_no_memory(path, tmp_path):
    """2,000 states of 80 kB: the peak of what NumPy and Python allocate, and of what the process holds."""

    def f(x):
        for _ in range(2000):
            x = x + 0.001 * x * x
        return x.sum()

    g = on_path(mo.grad(lambda x: mo.checkpoint(f, x, policy=mo.offload(tmp_path))), path)
    expected = on_path(mo.grad(f), "native")(np.linspace(0.0, 0.1, 10_000))
    x = np.linspace(0.0, 0.1, 10_000)
    found = g(x)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    g(x)
    assert resident("VmHWM") - before < 40e6  # all states: 160 MB
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert not [*tmp_path.iterdir()]


def resident(name):
    return int(Path("/proc/self/status").read_text().partition(f"{name}:")[2].split()[0]) * 1024


def test_arrays_are_left_as_the_program_left_them():
    a = np.zeros(3)

    def f(x):
        for k in range(6):
            a[k % 3] = a[(k + 1) % 3] + np.sin(x)
        return (a * a).sum()

    plain = mo.grad(f)(0.4)
    left = a.copy()
    a[:] = 0
    assert mo.grad(lambda x: mo.checkpoint(f, x, policy=mo.revolve(2)))(0.4) == pytest.approx(plain, rel=1e-12)
    np.testing.assert_array_equal(a, left)
    a[:] = 0
    assert mo.grad(lambda x: mo.checkpoint(f, x))(0.4) == pytest.approx(plain, rel=1e-12)
    np.testing.assert_array_equal(a, left)


def test_a_zero_cotangent_contributes_zero():
    def f(x):
        for _ in range(4):
            x = np.where(x > 0, np.sqrt(np.abs(x)), 0.0)
        return x.sum()

    for path in PATHS:
        g = on_path(mo.grad(lambda x: mo.checkpoint(f, x, policy=mo.revolve(2))), path)
        np.testing.assert_allclose(g(np.array([0.0, 0.5])), mo.grad(f)(np.array([0.0, 0.5])), rtol=1e-12)


def test_random_draws_in_a_loop_are_refused():
    rng = np.random.default_rng(0)

    def f(x):
        for _ in range(4):
            x = x * rng.normal()
        return x

    with pytest.raises(mo.NoDerivative, match="returned a different result when checkpoint recomputed it"):
        mo.grad(lambda x: mo.checkpoint(f, x, policy=mo.revolve(2)))(1.0)


# Values that the engine cannot see from the call


LOCAL, CONTEXT = threading.local(), ContextVar("CONTEXT")


def in_a_local_of_the_thread(x, n):
    LOCAL.a = x * np.arange(4.0)
    y = x
    for _ in range(n):
        y = np.sin(y) * LOCAL.a.sum()
    return y.sum() + LOCAL.a.sum()


def in_a_cache(x, n):
    square = functools.lru_cache(lambda v: v * v)
    s, y = square(x[0]), x
    for _ in range(n):
        y = np.sin(y) * square(x[0])
    return y.sum() + s


def in_a_context(x, n):
    CONTEXT.set((x * x, x[1] * 2))
    y = x
    for _ in range(n):
        a, b = CONTEXT.get()
        a[0] = y.sum() * b
        y = np.sin(y) * a
    return y.sum() + CONTEXT.get()[0].sum() * b


@pytest.mark.parametrize("f", [in_a_local_of_the_thread, in_a_cache, in_a_context], ids=lambda f: f.__name__)
def test_hidden_values_keep_their_cotangents(f):
    expected, _ = vjp_by_differences(lambda x: f(x, 5), 1.0, (X,), step=0.01)
    for chosen in ({"policy": mo.revolve(2)}, {"policy": "sqrt"}, {}):
        found = mo.grad(lambda x: mo.checkpoint(f, x, 5, **chosen))(X)  # noqa: B023
        np.testing.assert_allclose(found, expected[0], rtol=1e-7, atol=1e-12)

    def outside(x):
        LOCAL.a = a = x * np.arange(4.0)
        CONTEXT.set((a, x[1]))
        return a.sum() + mo.checkpoint(lambda u: (LOCAL.a * CONTEXT.get()[1] * u).sum(), x)

    expected, _ = vjp_by_differences(outside, 1.0, (X,), step=0.01)
    np.testing.assert_allclose(mo.grad(outside)(X), expected[0], rtol=1e-7)


# Loops of many kinds


def downwards(x, n):
    y = x
    for i in range(n, 0, -2):
        y = np.sin(y) * i * 0.3 + x
    return y.sum()


def of_complex_numbers(x, n):
    z = x * (1 + 2j)
    for _ in range(n):
        z = z * (0.9 + 0.1j) + np.exp(1j * z.real)
    return (z * z.conj()).real.sum()


def with_masks_and_counts(x, n):
    m = x > 0.5
    c = np.zeros(len(x), int)
    for _ in range(n):
        x = np.where(m, np.sin(x), x * 1.01)
        m = x > 0.5
        c = c + m
        c[0] += 1
    return (x * c).sum()


def with_a_function_that_changes_a_variable(x, n):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v

    y = 0.0
    for i in range(n):
        add(x.sum())
        y = total * 0.1 + y
    return y


def left_by_an_exception(x, n):
    y = x.sum()
    with contextlib.suppress(ZeroDivisionError):
        for i in range(n):
            y = y * 1.1
            if i == 2:
                1 / 0
    return y


def in_a_dict(x, n):
    d = {"a": x, "b": 0.0}
    for _ in range(n):
        d["a"] = np.sin(d["a"]) * 1.1
        d["b"] = d["b"] + d["a"].sum()
    return d["b"]


def exchanges(x, n):
    a, b, c = x, x * 2, x * 3
    for _ in range(n):
        a, b, c = b, c, np.sin(a) * b
    return (a * b + c).sum()


def with_views(x, n):
    buf = np.zeros((3, len(x)))
    buf[0] = x
    v = buf[0]
    for k in range(n):
        buf[(k + 1) % 3] = np.sin(buf[k % 3]) * 1.1 + v
        v = buf[(k + 1) % 3]
    return v.sum() + buf.sum()


def over_rows(x, n):
    A = np.outer(x, x) * 0.1
    y = x
    for r in A:
        y = np.tanh(y * r) + r
    return y.sum()


def over_pairs(x, n):
    y = x
    for a, b in zip(x, x[::-1]):
        y = np.sin(y * a) + b
    return y.sum()


def with_states_that_are_views(x, n):
    u = v = x
    for k in range(n):
        rows = np.zeros((3, 50 + 7 * (k % 5)))
        rows[1, :4] = np.sin(u) * 1.1
        rows[2, :4] = u * v
        u, v = rows[1, :4], rows[2, :4][::-1]
    return (u * v).sum()


LOOPS = [
    with_states_that_are_views,
    downwards,
    of_complex_numbers,
    with_masks_and_counts,
    with_a_function_that_changes_a_variable,
    left_by_an_exception,
    in_a_dict,
    exchanges,
    with_views,
    over_rows,
    over_pairs,
]


@pytest.mark.parametrize("path", ["eager", "native"])
@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops(f, path):
    expected = mo.grad(lambda x: f(x, 6))(X)
    for chosen in ({"policy": mo.revolve(2)}, {"policy": "offload"}, {"policy": "sqrt"}, {}):
        found = on_path(mo.grad(lambda x: mo.checkpoint(f, x, 6, **chosen)), path)(X)  # noqa: B023
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_pullbacks_of_loops_can_be_called_again(f):
    expected = mo.grad(lambda x: f(x, 6))(X)
    for policy in (mo.revolve(2), "offload"):
        _, back = mo.vjp(lambda x: mo.checkpoint(f, x, 6, policy=policy), X)  # noqa: B023
        for _ in range(2):
            np.testing.assert_allclose(back(1.0)[0], expected, rtol=1e-10)


@pytest.mark.parametrize("policy", [mo.revolve(2), "offload"], ids=["revolve", "offload"])
@pytest.mark.parametrize("f", [downwards, with_masks_and_counts])
def test_batches(f, policy):
    xs = np.stack([X, 1.1 * X, 0.5 * X])
    g = mo.grad(lambda x: mo.checkpoint(f, x, 6, policy=policy))
    expected = np.stack([mo.grad(lambda x: f(x, 6))(x) for x in xs])
    np.testing.assert_allclose(mo.jit(mo.vmap(g))(xs), expected, rtol=1e-10)
    h = mo.grad(lambda xs: mo.vmap(lambda x: mo.checkpoint(f, x, 6, policy=policy))(xs).sum())
    np.testing.assert_allclose(mo.jit(h)(xs), expected, rtol=1e-10)


# Budgets


@pytest.mark.parametrize("room, most", [(100, 1.0), (40, 2.0), (15, 3.0)])
def test_the_plan_for_a_wave_equation(room, most):
    """1,000 steps on 200 x 200 points: two fields are the state, and the adjoint of a step needs one."""
    costs = Costs(1000, 640e3, 320e3, 2e6)
    plan = planned(policy_of(None, f"{room}MB"), costs)
    assert costs.peak(plan) <= room * 1e6 and plan.extra(1000) <= most


def test_what_fits_is_stored():
    assert planned(policy_of(None, "1GB"), Costs(1000, 640e3, 320e3, 2e6)) is None


@pytest.mark.parametrize("target", ["native", "xla"])
def test_loops_of_one_call_share_its_budget(target, capsys):
    def f(x):
        for _ in range(50):
            x = np.sin(x) + x[0]
        for _ in range(50):
            x = np.cos(x) * x[1]
        return x.sum()

    x = np.linspace(0.1, 1.0, 100)
    g = mo.jit(mo.grad(lambda x: mo.checkpoint(f, x, memory="40kB")), target=target)
    text = g.explain(x)
    peaks = [float(part.split("about ")[1].split(" kB")[0]) for part in str(text or capsys.readouterr().out).split(";") if "at the peak" in part]  # fmt: skip
    assert len(peaks) == 2 and sum(peaks) <= 40
    np.testing.assert_allclose(g(x), mo.grad(f)(x), rtol=1e-9)


def decay(x):
    for _ in range(1000):
        x = x - 0.001 * x * np.sin(x)
    return x.sum()


@pytest.mark.parametrize("path", PATHS)
def test_a_budget_that_cannot_be_met(path):
    g = on_path(mo.grad(lambda x: mo.checkpoint(decay, x, memory="1kB")), path)
    with pytest.raises(mo.BadInput, match=r"memory='1 kB' is not enough: .* needs [\d.]+ .B .*; allow that much"):
        g(np.ones(100))


def test_explain_names_the_policy_and_the_extra_passes():
    g = mo.jit(mo.grad(lambda x: mo.checkpoint(decay, x, policy=mo.revolve(21))), target="native")
    text = str(g.explain(np.ones(100)))
    assert "(revolve): 21 snapshots of 800 bytes, segments of 1 iteration, 2.73 extra forward passes, about" in text


@pytest.mark.parametrize("make", [mo.grad, lambda f: f], ids=["gradient", "value"])
def test_compiled_programs_are_kept_on_disk(make):
    g = make(lambda x: mo.checkpoint(decay, x, policy="sqrt"))
    found = [fingerprint(mo.jit(g, target="native").lower(np.ones(3)).compilation.function) for _ in range(2)]
    assert found[0] is not None and found[0] == found[1]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "chosen, text",
    [
        ({"policy": "binomial"}, "there is no policy 'binomial'; use one of 'store', 'recompute', 'sqrt', 'online'"),
        ({"policy": "revolve"}, r"there is no policy 'revolve' \(morula.revolve\(n\) needs the number of snapshots\)"),
        ({"policy": 3}, "there is no policy 3"),
        ({"memory": "200"}, None),
        (
            {"memory": "20 apples"},
            "memory='20 apples' is not an amount of memory; write bytes as a number, or text like",
        ),
        ({"memory": "-5MB"}, "memory='-5MB' is not an amount of memory"),
        ({"memory": 0}, "memory=0 is not an amount of memory"),
        ({"memory": True}, "memory=True is not an amount of memory"),
        ({"policy": "sqrt", "memory": "1GB"}, "takes a policy or memory=, not both"),
    ],
)
def test_bad_input(chosen, text, path):
    g = on_path(mo.grad(lambda x: mo.checkpoint(lambda u: u * u, x, **chosen)), path)
    if text is None:
        assert g(2.0) == 4.0
        return
    with pytest.raises(mo.BadInput, match=text):
        g(2.0)
    with pytest.raises(mo.BadInput, match=text):
        mo.checkpoint(lambda u: u, 1.0, **chosen)


@pytest.mark.parametrize(
    "make, n", [(mo.revolve, 0), (mo.revolve, 2.0), (mo.online, 1), (mo.online, "3"), (mo.revolve, True)]
)
def test_bad_numbers_of_snapshots(make, n):
    with pytest.raises(mo.BadInput, match="the number of snapshots must be an int of at least"):
        make(n)
