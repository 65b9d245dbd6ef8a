"""`while` and `for range(n)` with conditions and bounds that are known only at run time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from path_tester import gradient_of, run_on

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])


def halved(x):
    while x > 1:
        x = x / 2
    return x * x


@pytest.mark.parametrize("x", [0.7, 1.7, 13.0])
def test_while(check, x):
    check(halved, x)


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_bound_that_is_an_argument(check, n):
    check(power, 1.2, n)


def steps(a, start, stop, step):
    total = 0.0
    for i in range(start, stop, step):
        total = total + a[i] * i
    return total


@pytest.mark.parametrize("bounds", [(0, 4, 1), (3, -1, -1), (1, 4, 2), (3, 0, -2), (2, 2, 1)])
def test_range_with_start_stop_and_step(check, bounds):
    check(steps, A, *bounds)


def triangle(a, n):
    total = 0.0
    for i in range(n):
        for j in range(i, n):
            for k in range(j):
                total = total + a[i] * a[j] * a[k]
    return total


def test_nested_loops_with_bounds_of_the_outer_ones(check):
    check(triangle, A, 4)


def newton(x):
    y = x
    for _ in range(50):
        better = 0.5 * (y + x / y)
        if abs(better - y) < 1e-14:
            break
        y = better
    return y


def test_break(check):
    check(newton, 2.0)


def skipped(a, limit):
    total = 0.0
    for i in range(len(a)):
        if a[i] < limit:
            continue
        total = total + a[i] ** 2
        if total > 100:
            break
    return total


@pytest.mark.parametrize("limit", [-2.0, 0.2, 9.0])
def test_continue_and_break(check, limit):
    check(skipped, A, limit)


def first_above(a, limit):
    for i in range(len(a)):
        if a[i] > limit:
            return a[i] * limit + i
    return limit


@pytest.mark.parametrize("limit", [0.2, 1.7, 9.0])
def test_return_from_inside(check, limit):
    check(first_above, A, limit)


def deep_return(a, limit):
    n = 0
    while n < 5:
        for i in range(len(a)):
            if a[i] * n > limit:
                return a[i] * limit
            if a[i] < 0:
                break
        n = n + 1
    return limit * limit


@pytest.mark.parametrize("limit", [0.9, 50.0])
def test_return_and_break_from_nested_loops(check, limit):
    check(deep_return, A, limit)


def with_else(a, limit):
    total = 0.0
    for i in range(len(a)):
        total = total + a[i]
        if total > limit:
            break
    else:
        total = total * 2
    while total > limit:
        total = total - 1
    else:
        total = total * 2
    return total


@pytest.mark.parametrize("limit", [1.2, 3.5])
def test_else_of_loops(check, limit):
    check(with_else, A, limit)


def after(n):
    i = -1
    for i in range(n):
        pass
    return i


@pytest.mark.parametrize("n", [0, 4])
def test_the_loop_variable_outlives_the_loop(value, n):
    value(after, n)


def settles(x, n):
    total = 0
    for _ in range(n):
        total = total + x
    return total * x


@pytest.mark.parametrize("n", [1, 3])
def test_an_int_that_becomes_a_float(check, n):
    check(settles, 1.5, n)


def settles_late(x):
    a = b = c = 0
    while c < 3:
        c = b + 1
        b = a + 1
        a = a + x
    return a + b + c


def test_types_that_settle_after_several_iterations(check):
    check(settles_late, 0.75)


def of_tuples(x, n):
    pair = (x, 1.0)
    for _ in range(n):
        pair = (pair[1] * 0.5, pair[0] + pair[1])
    a, b = pair
    return a * b


def of_dicts(x, n):
    state = {"position": x, "velocity": 0.0, "path": {"length": 0.0}}
    for _ in range(n):
        state["velocity"] -= 0.1 * state["position"]
        state["position"] += 0.1 * state["velocity"]
        state["path"]["length"] += state["velocity"] ** 2
    return state["position"] * state["path"]["length"]


class Body:
    def __init__(self, x, v):
        self.x = x
        self.v = v

    def kick(self, dt):
        self.v = self.v - dt * self.x
        self.x = self.x + dt * self.v


def of_objects(x, n):
    body = Body(x, 0.0)
    for _ in range(n):
        body.kick(0.1)
    return body.x * body.v


@dataclass
class Totals:
    sum: float = 0.0
    squares: float = 0.0


def of_dataclasses(a):
    totals = Totals()
    for i in range(len(a)):
        totals = Totals(totals.sum + a[i], totals.squares + a[i] ** 2)
    return totals.squares - totals.sum**2


def of_lists(x, n):
    values = [x, x * 2, 1.0]
    while n > 0:
        values[0] = values[1] * 0.5
        values[1], values[2] = values[2], values[0] + values[1]
        n -= 1
    return values[0] + values[1] * values[2]


@pytest.mark.parametrize("f", [of_tuples, of_dicts, of_objects, of_lists], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0, 5])
def test_loops_that_carry(check, f, n):
    check(f, 1.3, n)


def test_loops_that_carry_new_objects(check):
    check(of_dataclasses, A)


def of_arrays(a, n):
    b = np.zeros_like(a)
    for i in range(n):
        b = 0.5 * b + a * i
        a = np.roll(a, 1)
    return (a * b).sum()


@pytest.mark.parametrize("n", [0, 3])
def test_loops_that_carry_arrays(check, n):
    check(of_arrays, A, n)


def of_differences(a, n):
    for _ in range(n):
        between = a - a[:, None]
        a = a + 0.1 * (between * between).sum() * a
    return (a * a).sum()


def test_what_is_saved_in_one_shape_and_read_in_another(check):
    check(of_differences, A, 2)


def collatz(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def test_integers(value):
    assert value(collatz, 27) == 111


def forever(x):
    n = 0
    while True:
        x = x * 0.5
        n += 1
        if x < 0.1:
            break
    return x * n


def test_while_true(check):
    check(forever, 3.0)


def geometric(x, n):
    y, i = x, 0
    while i < n:
        y = y * 0.999 + 0.001 * x * y
        i += 1
    return y


def geometric_slope(x, n):
    y, dy = x, 1.0
    for _ in range(n):
        y, dy = y * 0.999 + 0.001 * x * y, dy * (0.999 + 0.001 * x) + 0.001 * y
    return y, dy


@pytest.mark.parametrize("n", [0, 1, 10, 1000, 20_000])
def test_reverse_of_an_unknown_number_of_steps(path, n):
    value, (dx,) = run_on(path)(gradient_of(geometric, (0,)))(1.01, n)
    expected = geometric_slope(1.01, n)
    assert np.allclose([value, dx], expected, rtol=1e-9)


def test_one_program_for_every_number_of_steps(target):
    compiled = mo.jit(mo.value_and_grad(geometric, (0,)), target=target)
    for n in (0, 10, 1000, 1_000_000):
        value, (dx,) = compiled(1.01, n)
        assert np.allclose([value, dx], geometric_slope(1.01, n), rtol=1e-7)


def lorenz(state, n, dt):
    x, y, z = state[0], state[1], state[2]
    t = 0.0
    while t < n * dt - 0.5 * dt:
        x, y, z = x + dt * 10.0 * (y - x), y + dt * (x * (28.0 - z) - y), z + dt * (x * y - 8.0 / 3.0 * z)
        t = t + dt
    return x * x + y + z


@pytest.mark.parametrize("n", [0, 30])
def test_a_system_in_a_while(check, n):
    check(lorenz, np.array([1.0, 1.1, 0.9]), n, 0.005, argnums=(0,))


def bisection(a, b, c):
    while b - a > 1e-12:
        m = 0.5 * (a + b)
        if m * m * m < c:
            a = m
        else:
            b = m
    return a


def test_a_search_that_stops_by_itself(value):
    assert abs(value(bisection, 0.0, 3.0, 2.0) - 2 ** (1 / 3)) < 1e-11


def formed_in_the_first_iteration(a):
    last = None
    total = 0.0
    for v in a:
        if last is not None:
            total = total + abs(v - last[0]) * last[1]
        last = (v, v * v)
    return total


def formed_in_the_first_step(x, n):
    before, i = None, 0
    p = x
    while i < n:
        p = x * 1.5 if before is None else p * before[1] + before[0]
        before = (x, p)
        i += 1
    return p


def test_what_a_loop_carries_may_get_its_form_in_the_first_iteration(check):
    check(formed_in_the_first_iteration, np.linspace(-1.0, 2.0, 7) ** 2)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_same_in_a_while(check, n):
    check(formed_in_the_first_step, 0.8, n)


def raised_in_a_loop(a, n):
    total = 0.0
    try:
        for i in range(n):
            if a[i] < 0:
                raise ValueError(i)
            total = total + a[i]
    except ValueError:
        total = -1.0
    return total


@pytest.mark.parametrize("n", [0, 3, 9])
def test_an_exception_that_leaves_a_loop_for_a_handler(check, n):
    check(raised_in_a_loop, np.array([1.0, 2.0, 0.5, 4.0, -1.0, 3.0, 2.0, 1.0, 5.0]), n)


def orbit(state, rate, n):
    x, y, z = state
    i = 0
    while i < n:
        dx, dy, dz = 10.0 * (y - x), x * (rate - z) - y, x * y - 2.5 * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
        i += 1
    return x + y * z


def orbit_of_few_states(state, rate, n):
    return mo.checkpoint(orbit, state, rate, n)


def rows_of_few_states(a, n):
    def advance(b):
        for k in range(n):
            for i in range(1, len(b)):
                b[i] = np.sin(b[i]) * b[i - 1] + 0.1 * k
        return b.sum()

    return mo.checkpoint(advance, a.copy())


@pytest.mark.parametrize("n", [0, 1, 7, 3000])
def test_checkpointed_loops(n, target):
    compiled = mo.jit(gradient_of(orbit_of_few_states, (0, 1)), target=target)
    value, (state, rate) = compiled((1.0, 2.0, 3.0), 20.0, n)
    expected, (states, rates) = mo.jit(gradient_of(orbit, (0, 1)), target=target)((1.0, 2.0, 3.0), 20.0, n)
    assert np.allclose([value, *state, rate], [expected, *states, rates], rtol=1e-9)
    assert "stack_push" not in compiled.lower((1.0, 2.0, 3.0), 20.0, n).as_text("ir")


@pytest.mark.parametrize("n", [1, 9])
def test_checkpointed_loops_within_loops(check, n):
    check(rows_of_few_states, A, n)
