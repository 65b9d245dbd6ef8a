"""Side effects in compiled code: printing, calls of Python, and reads from outside the program."""

from __future__ import annotations

import operator
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import scipy.stats
from path_tester import gradient_of, run_on

import morula as mo


def printing(x, n):
    for i in range(n):
        mo.debug.print("step {}: x = {x:.3f}", i, x=x)
        x = x * 0.5
    return x


def test_debug_print_prints_at_every_step(path, capfd):
    assert run_on(path)(printing)(1.0, 3) == 0.125
    assert capfd.readouterr().out.splitlines() == ["step 0: x = 1.000", "step 1: x = 0.500", "step 2: x = 0.250"]


def test_debug_print_in_a_gradient(path, capfd):
    assert run_on(path)(gradient_of(printing, (0,)))(1.0, 2)[1][0] == 0.25
    assert capfd.readouterr().out.splitlines() == ["step 0: x = 1.000", "step 1: x = 0.500"]


def test_a_plain_print_warns_once(target, capfd):
    def plainly(x):
        print("x is", x)
        return x * 2

    compiled = mo.jit(plainly, target=target)
    with pytest.warns(RuntimeWarning, match="debug.print"):
        assert compiled(1.5) == 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(1.5) == 3.0
    assert "x is 1.5" in capfd.readouterr().out


def test_a_plain_print_is_compiled_in_a_process_that_has_imported_nothing_else(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import morula\n\n"
        "@morula.jit\n"
        "def f(x):\n    print('known')\n    print('x =', x)\n    return x\n\n"
        "f(1.0), f(2.0)\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", str(program)], capture_output=True, text=True)
    assert done.stdout == "known\nx = 1.0\nknown\nx = 2.0\n", done.stderr


def test_print_itself_is_compiled(target, capfd):
    with pytest.warns(RuntimeWarning, match="debug.print"):
        mo.jit(print, target=target)(1.5, "a")
    assert capfd.readouterr().out == "1.5 a\n"


calls = []


def outside(x):
    calls.append(np.array(x))
    return np.array(sorted(x.tolist()))


@mo.adjoint(outside)
def _outside(x):
    order = np.argsort(x)

    def back(dy):
        dx = np.zeros_like(x)
        dx[order] = dy
        return dx

    return np.sort(x), back


def with_callback(x):
    y = mo.callback(outside, np.zeros(3), x * 2.0)
    return (y * np.array([1.0, 10.0, 100.0])).sum()


def test_callback_runs_python(path):
    calls.clear()
    x = np.array([3.0, 1.0, 2.0])
    assert np.isclose(run_on(path)(with_callback)(x), 2 * 321.0)
    assert len(calls) == 1 and np.array_equal(calls[0], 2 * x)


def test_the_adjoint_of_a_callback_is_honoured(path):
    value, (dx,) = run_on(path)(gradient_of(with_callback, (0,)))(np.array([3.0, 1.0, 2.0]))
    assert np.isclose(value, 642.0) and np.allclose(dx, [200.0, 2.0, 20.0])


def unknown(x):
    return float(np.round(x, 1))


def without_adjoint(x):
    return mo.callback(unknown, 0.0, x) * x


def test_a_callback_without_an_adjoint_has_no_derivative(path):
    assert np.isclose(run_on(path)(without_adjoint)(1.52), 1.5 * 1.52)
    with pytest.raises(mo.NoDerivative, match="unknown"):
        run_on(path)(mo.grad(without_adjoint))(1.52)


SETTINGS = {"scale": 2.0, "name": "linear"}
WEIGHTS = np.array([1.0, 2.0, 3.0])


def reads_globals(x):
    y = x * SETTINGS["scale"] if SETTINGS["name"] == "linear" else x * x
    return (y * WEIGHTS).sum()


def test_what_is_read_from_outside_is_up_to_date(path):
    compiled = run_on(path)(reads_globals)
    x = np.ones(3)
    assert compiled(x) == 12.0
    try:
        SETTINGS["scale"] = 3.0
        assert compiled(x) == 18.0
        WEIGHTS[0] = 2.0
        assert compiled(x) == 21.0
        SETTINGS["name"] = "square"
        assert compiled(x) == 7.0
    finally:
        SETTINGS.update(scale=2.0, name="linear")
        WEIGHTS[0] = 1.0


def test_closures_are_up_to_date(path):
    factor = 2.0

    def scaled(x):
        return x * factor

    compiled = run_on(path)(scaled)
    assert compiled(1.5) == 3.0
    factor = 4.0
    assert compiled(1.5) == 6.0


def prints_text(x, n):
    for i in range(n):
        mo.debug.print("{} {}", f"step {i}: " + f"{x:.1f}", i)
        x = x * 0.5
    return x


def test_texts_of_numbers_are_printed(path, capfd):
    assert run_on(path)(prints_text)(1.0, 2) == 0.25
    lines = capfd.readouterr().out.splitlines()
    assert lines == ["step 0: 1.0 0", "step 1: 0.5 1"]


def chooses_by_text(x):
    return {"positive": 1.0, "negative": 2.0}["positive" if x > 0 else "negative"] * x


@pytest.mark.parametrize("x", [1.5, -1.5])
def test_a_condition_may_choose_a_text(target, x):
    assert mo.jit(chooses_by_text, target=target)(x) == chooses_by_text(x)


def draws(x):
    return x * np.random.rand()


def draws_of_an_argument(x, generator=np.random.default_rng(0)):
    return x + generator.normal()


def shuffles(x):
    return np.random.permutation(np.array([x, 2 * x]))


def draws_by_scipy(x):
    return x * scipy.stats.norm.rvs()


def looks_at_the_clock(x):
    return x + time.time()


def reads_a_file(x):
    with open(__file__) as file:
        return x * len(file.read())


@pytest.mark.parametrize("f", [draws, draws_of_an_argument, draws_by_scipy, shuffles, reads_a_file])
def test_what_changes_by_itself_is_not_computed_once_while_compiling(target, f):
    with pytest.raises(
        mo.BadInput, match=f"(?s)would (be called|happen) only once, while compiling; .*in {f.__name__}"
    ):
        mo.jit(f, target=target)(1.5)


def test_the_clock_is_read_at_each_call(target):
    compiled = mo.jit(looks_at_the_clock, target=target)
    first = compiled(1.5)
    time.sleep(0.01)
    second = compiled(1.5)
    assert 1e9 < first < second


def test_what_is_known_is_printed_at_each_call_too(path, capfd):
    def f(x):
        print("hello", 3)
        mo.debug.print("{}", [4])
        return x

    g = run_on(path)(f)
    assert [g(1.5), g(2.5)] == [1.5, 2.5]
    assert capfd.readouterr().out == "hello 3\n[4]\n" * 2


def turned(x):
    return np.asfortranarray(x).T[::-1]


def twice(x):
    y = 2 * x
    return y, y


def in_a_dict(x):
    return {"a": x.T, "b": [x[:, 0], 3.0]}


@pytest.mark.parametrize(
    ("f", "like"),
    [
        (turned, np.zeros((3, 2))),
        (turned, np.zeros((2, 3)).T),
        (twice, (np.zeros((2, 3)), np.zeros((2, 3)))),
        (twice, (WEIGHTS * np.zeros((2, 1)),) * 2),
        (in_a_dict, {"a": np.zeros((3, 2)), "b": [np.zeros(2), 1.0]}),
    ],
)
def test_the_result_of_a_callback_may_stand_in_any_order(path, f, like):
    def call(x):
        return mo.callback(f, like, x)

    x = np.arange(6.0).reshape(2, 3)
    assert repr(run_on(path)(call)(x)) == repr(f(x))


PART, EVERY_OTHER, EITHER, OF_TWO = slice(1, 4), range(0, 6, 2), int | float, property(operator.itemgetter(0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * sys.float_info.epsilon,
        lambda x: x * sys.float_info[8],
        lambda x: x * sys.hash_info.width,
        lambda x: x * PART.stop,
        lambda x: x * EVERY_OTHER.step,
        lambda x: x * len(EITHER.__args__),
        lambda x: x * OF_TWO.fget((3.0, 4.0)),
        lambda x: x * getattr(PART, "step", 1.0) if PART.step else x * hasattr(PART, "length"),
    ],
)
def test_attributes_that_c_keeps_are_constants(target, f):
    compiled = mo.jit(mo.value_and_grad(f), target=target)
    assert compiled(3.0) == compiled(3.0) == (f(3.0), f(1.0))
