"""``jit(f, partial=True)``: values, effects, exceptions and gradients are those of Python, whatever is compiled."""

from __future__ import annotations

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

LOG = io.StringIO()


def refused(x):
    """Write to a file, which compiled code does not do."""
    LOG.write(f"{x}\n")


class Pendulum:
    """An object with private names, a loop in a method, and state."""

    def __init__(self, length):
        self.length, self.__steps, self.path = length, 0, []

    def __slope(self, angle):
        return -9.81 / self.length * np.sin(angle)

    def run(self, angle):
        speed = 0.0
        refused(angle)
        for _ in range(40):
            self.__steps += 1
            speed += 0.01 * self.__slope(angle)
            angle += 0.01 * speed
            self.path.append(angle)
        return angle + 0.0 * self.__steps


def nested_loops(x):
    total = 0.0
    for i in range(3):
        refused(total)
        for j in range(5):
            total += np.sin(x * i) * j
    return total


def variables_after_the_loop(x):
    refused(x)
    last = found = 0.0
    for i in range(10):
        last = x * i
        if last > 3.0:
            found = last
            break
    else:
        found = -x
    return last + 10.0 * found + i


def while_with_state(x):
    refused(x)
    n, y = 0, x
    while y < 100.0:
        y *= 1.0 + x
        n += 1
    return y + n


def arrays_in_place(x):
    a = np.arange(6.0) * x
    b = a
    refused(x)
    for i in range(1, 6):
        a[i] += a[i - 1] * x
    return np.sum(b) + a[-1]


def swapped_buffers(x):
    old, new = np.arange(5.0) * x, np.zeros(5)
    refused(x)
    for _ in range(3):
        for i in range(1, 4):
            new[i] = 0.5 * (old[i - 1] + old[i + 1]) * x
        old, new = new, old
    return np.sum(old) + 3.0 * np.sum(new)


def aliases_into_a_loop(x):
    a = np.ones(4) * x
    views = [a[:2], a[2:]]
    refused(x)
    for v in views:
        for i in range(2):
            v[i] *= a[3 - i]
    return np.sum(a)


def captured_by_a_nested_function(x):
    factor = x

    def scaled(y):
        return factor * y

    refused(x)
    total = 0.0
    for i in range(5):
        factor = factor + 0.1
        total += scaled(i)
    return total


def closure_called_in_a_loop(x):
    k = x * x

    def spring(y):
        return -k * y

    refused(x)
    y, v = 1.0, 0.0
    for _ in range(30):
        v += 0.05 * spring(y)
        y += 0.05 * v
    return y


def assigned_on_some_paths(x):
    refused(x)
    if x > 0.0:
        scale = 2.0
    for i in range(4):
        if x > 0.0:
            x = x * scale
    return x


def leaves_a_loop_early(x):
    refused(x)
    for i in range(10):
        x = x * 1.5
        if x > 4.0:
            return x * i
    return x


def try_around_a_loop(x):
    refused(x)
    try:
        for i in range(5):
            x = x + 1.0 / (3 - i)
    except ZeroDivisionError:
        x = x * 10.0
    return x


def recursion(x, n=6):
    refused(x)
    return x if n == 0 else np.sin(recursion(x, n - 1)) + x


def generator(x):
    refused(x)

    def powers():
        y = 1.0
        for _ in range(6):
            yield y
            y *= x

    total = 0.0
    for i, y in enumerate(powers()):
        total += i * y
    return total


def comprehensions(x):
    refused(x)
    total = 0.0
    for i in range(4):
        total += sum([x * i * j for j in range(3)]) + len({j: x for j in range(i)})
    return total


def global_state(x):
    global COUNT
    COUNT = 0
    refused(x)
    for i in range(4):
        COUNT += 1
        x = x * COUNT
    return x


COUNT = 0


def method_of_an_object(x):
    p = Pendulum(2.0 + 0.1 * x)
    return p.run(x) + sum(p.path)


def containers(x):
    refused(x)
    stack, table = [x], {}
    for i in range(5):
        stack.append(stack[-1] * x)
        table[i] = stack[i]
    return sum(stack) + table[3]


def names_like_the_division(x):
    _call, _loop2 = 2.0, 3.0
    refused(x)
    for i in range(3):
        x = x * _call + _loop2
    return x


def keywords_and_stars(x):
    def g(a, *rest, scale=1.0, **others):
        for r in rest:
            a = a + scale * r + sum(others.values())
        return a

    refused(x)
    return g(x, *[x, 2.0], **{"scale": x}, other=3.0)


def strings(x):
    text = ""
    for i in range(3):
        text += f"{x * i:.3f} "
        x = x * 1.1
    return x * len(text)


def matched(x):
    refused(x)
    for kind in ("a", "b", "c"):
        match kind:
            case "a":
                x = x * 2.0
            case other:
                x = x + len(other)
    return x


PROGRAMS = [
    nested_loops,
    variables_after_the_loop,
    while_with_state,
    arrays_in_place,
    swapped_buffers,
    aliases_into_a_loop,
    captured_by_a_nested_function,
    closure_called_in_a_loop,
    assigned_on_some_paths,
    leaves_a_loop_early,
    try_around_a_loop,
    recursion,
    generator,
    comprehensions,
    global_state,
    method_of_an_object,
    containers,
    names_like_the_division,
    keywords_and_stars,
    strings,
    matched,
]


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda f: f.__name__)
def program(request):
    f = request.param
    return f, mo.jit(f, partial=True)


def test_values_and_effects_are_pythons(program):
    f, part = program
    for x in (0.3, 1.2, 0.3):
        LOG.seek(0), LOG.truncate()
        expected, written = f(x), LOG.getvalue()
        for _ in range(10):
            LOG.seek(0), LOG.truncate()
            assert part(x) == pytest.approx(expected, rel=1e-12)
            assert LOG.getvalue() == written


def test_gradients_are_right(program):
    f, part = program
    slope, error = ridders(lambda t: f(0.3 + t), 1e-2)
    for _ in range(3):
        assert mo.grad(part)(0.3) == pytest.approx(slope, rel=1e-6, abs=10 * error)
    assert mo.grad(mo.grad(part))(0.3) == pytest.approx(mo.grad(mo.grad(f))(0.3), rel=1e-8)


def test_derivatives_are_compiled_in_parts(program):
    f, _ = program
    value, slope = mo.jit(mo.value_and_grad(f), partial=True)(0.3)
    assert (value, slope) == pytest.approx(mo.value_and_grad(f)(0.3), rel=1e-8)


def test_what_can_be_compiled_is_compiled_as_a_whole(capsys):
    def f(x):
        for _ in range(3):
            x = x * x
        return x

    part = mo.jit(f, partial=True)
    assert part(2.0) == 256.0
    assert part.explain(2.0).startswith("f for the target native")
    assert part.lower(2.0).as_text() == mo.jit(f).lower(2.0).as_text()


def test_arguments_change_as_in_python():
    def f(data, a):
        refused(a[0])
        for i in range(len(a)):
            a[i] *= 2.0
            data["sum"] += a[i]
            data["seen"].append(i)

    expected = {"sum": 0.0, "seen": []}, np.arange(4.0)
    found = copy.deepcopy(expected)
    part = mo.jit(f, partial=True)
    for _ in range(5):
        f(*expected)
        part(*found)
    assert found[0] == expected[0]
    assert np.array_equal(found[1], expected[1])


def test_exceptions_are_pythons():
    def f(x, n):
        refused(x)
        a = np.zeros(3)
        for i in range(n):
            a[i] = x / (i - 2)
        return a

    part = mo.jit(f, partial=True)
    part(1.0, 2)
    for n in (3, 3):
        with pytest.raises(ZeroDivisionError):
            part(1.0, n)
    with pytest.raises(NameError, match="unknown_name"):
        mo.jit(lambda x: unknown_name(x), partial=True)(1.0)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    with pytest.raises(TypeError, match="positional argument"):
        part(1.0)


def test_an_exception_leaves_the_effects_before_it():
    def f(x, seen):
        refused(x)
        for i in range(4):
            seen.append(i)
            x = x / (2 - i)
        return x

    part, seen = mo.jit(f, partial=True), []
    with pytest.raises(ZeroDivisionError):
        part(1.0, seen)
    assert seen == [0, 1, 2]


def test_a_part_that_raises_is_run_by_python():
    def halve(v, s):
        for i in range(len(v)):
            v[i] *= 0.5
            if v[i] > s:
                raise ValueError(f"{v[i]} at {i}")
        return s

    def f(v, s):
        refused(s)
        try:
            y = halve(v, s)
        except ValueError as error:
            y = len(str(error)) * s
        return y * np.sum(v * v)

    part = mo.jit(f, partial=True)
    for s in (9.0, 1.0, 0.3):
        for _ in range(2):
            expected, found = np.array([1.0, 3.0, 5.0]), np.array([1.0, 3.0, 5.0])
            assert part(found, s) == f(expected, s)
            assert np.array_equal(found, expected)
            dv, ds = mo.grad(part, (0, 1))(np.array([1.0, 3.0, 5.0]), s)
            ev, es = mo.grad(f, (0, 1))(np.array([1.0, 3.0, 5.0]), s)
            assert np.allclose(dv, ev) and ds == pytest.approx(es)


def test_ints_have_no_limit():
    def f(n):
        refused(n)
        product = 1
        for i in range(1, n):
            product *= i
        return product

    part = mo.jit(f, partial=True)
    assert [part(n) for n in (5, 30, 6, 31)] == [f(n) for n in (5, 30, 6, 31)]


def test_output_comes_in_the_order_of_the_program(capsys):
    def f(x):
        refused(x)
        for i in range(3):
            print("step", i, x)
            for _ in range(4):
                x = x * 1.5
            print("value", x)
        if x > 1e9:
            raise OverflowError(x)
        return x

    f(1.0)
    expected = capsys.readouterr().out
    part = mo.jit(f, partial=True)
    for _ in range(3):
        part(1.0)
        assert capsys.readouterr().out == expected


def test_a_written_array_that_another_argument_holds():
    def f(m):
        held = {"m": m}
        refused(1.0)
        for i in range(2):
            m[i] = np.sum(held["m"]) * m[i]
        return np.sum(m * np.arange(3.0))

    part, m = mo.jit(f, partial=True), np.array([1.0, 2.0, 3.0])
    assert part(m.copy()) == f(m.copy())
    value, back = mo.vjp(part, m.copy())
    expected, plain = mo.vjp(f, m.copy())
    assert value == expected and np.allclose(back(1.0)[0], plain(1.0)[0])


def test_methods_of_a_view_and_read_only_arrays():
    def f(a):
        refused(1.0)
        b = a[::2]
        for i in range(len(b)):
            b[i] += a[1]
        return np.sum(a)

    part = mo.jit(f, partial=True)
    a, b = np.arange(5.0), np.arange(5.0)
    assert part(a) == f(b) and np.array_equal(a, b)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        part(a)
    assert np.allclose(mo.grad(part)(np.arange(5.0)), mo.grad(f)(np.arange(5.0)))


def test_threads_run_one_program():
    part = mo.jit(nested_loops, partial=True)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(part, np.linspace(0.1, 1.0, 40).tolist()))
    assert found == pytest.approx([nested_loops(x) for x in np.linspace(0.1, 1.0, 40).tolist()])


def test_gradients_of_captured_variables():
    def f(k, x):
        def spring(y):
            for _ in range(3):
                y = -k * y
            return y

        refused(x)
        return sum([spring(x * i) for i in range(4)])

    part = mo.jit(f, partial=True)
    for _ in range(3):
        assert mo.grad(part, (0, 1))(2.0, 3.0) == pytest.approx(mo.grad(f, (0, 1))(2.0, 3.0))


def test_gradients_of_arrays_and_objects():
    class Model:
        def __init__(self, w):
            self.w = w

        def step(self, x):
            for i in range(len(x)):
                x = np.tanh(self.w @ x)
            return x

    def loss(model, x):
        for _ in range(2):
            refused(len(x))
            x = model.step(x)
        return np.sum(x)

    model, x = Model(np.array([[0.3, -0.2], [0.5, 0.7]])), np.array([1.0, -2.0])
    part = mo.jit(loss, partial=True)
    expected = mo.grad(loss, (0, 1))(model, x)
    for _ in range(3):
        dm, dx = mo.grad(part, (0, 1))(model, x)
        assert np.allclose(dm.w, expected[0].w) and np.allclose(dx, expected[1])


def test_a_decorated_function_with_options_and_static_arguments():
    @mo.jit(partial=True, static_argnames="n", target="native")
    def f(x, n):
        refused(x)
        for _ in range(n):
            x = x * 2.0
        return x

    assert f(1.0, n=3) == 8.0
    assert f(1.0, n=4) == 16.0
    assert mo.grad(f)(1.0, n=4) == 16.0


def test_methods():
    class Counter:
        def __init__(self):
            self.count = 0

        @mo.jit(partial=True)
        def add(self, x):
            refused(x)
            for _ in range(3):
                self.count += 1
                x = x * self.count
            return x

    c = Counter()
    assert [c.add(1.0) for _ in range(3)] == [6.0, 120.0, 504.0]
    assert c.count == 9


def test_a_program_in_parts_can_be_pickled():
    part = pickle.loads(pickle.dumps(PICKLED))
    assert part(0.3) == PICKLED(0.3)


PICKLED = mo.jit(nested_loops, partial=True)


def test_explain_tells_what_python_runs_and_why(capsys):
    def nested_loops(x):
        total = 0.0
        for i in range(3):
            refused(total)
            for j in range(1000):
                total += np.sin(x * i) * j
        return total

    text = mo.jit(nested_loops, partial=True).explain(0.3)
    assert capsys.readouterr().out == text + "\n"
    first, second, *lines = text.splitlines()
    assert first.startswith("partly compiled: ") and "in compiled parts" in first
    assert second.startswith("share of time, calls, form and part")
    assert any("compiled" in s and "the loop at" in s for s in lines)
    assert any("interpreted" in s and "nested_loops (" in s for s in lines)
    assert any("StringIO.write acts on a file or on the system" in s for s in lines)


def test_a_function_without_a_loop_is_compiled_when_it_is_called_often():
    def step(x):
        return np.tanh(np.sin(np.tanh(np.sin(np.tanh(np.sin(x * x))))))

    def nested(x):
        return step(step(step(step(step(step(step(step(step(step(step(step(step(step(step(step(x))))))))))))))))

    def f(n):
        LOG.write("")
        return nested(0.5 * n) + nested(float(n))

    part = mo.jit(f, partial=True)
    assert "compiled after" in part.explain(2)
    for _ in range(200):
        assert part(2) == pytest.approx(f(2))
    lines = part.explain(2).splitlines()
    assert any("compiled" in s.split()[2:3] and "nested" in s for s in lines)


def test_without_partial_it_is_refused():
    with pytest.raises(mo.BadInput, match=r"StringIO\.write acts on a file or on the system.*\n  in refused \("):
        mo.jit(nested_loops)(0.3)
