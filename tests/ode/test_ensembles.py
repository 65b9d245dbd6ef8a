"""Ensembles: values, derivatives and errors in this thread, in threads and in processes; what the function captures; bad input."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from ensemble_members import decayed, wave
from path_tester import PATHS, check_gradient

import morula as mo
from morula.ode import IntegrationFailed, ensemble, odesolve
from morula.ode.ensembles.members import Members

RATES = np.linspace(0.1, 2.0, 7)


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.mark.parametrize("workers", ["own", "threads", "processes"])
def test_members_have_the_values_and_derivatives_of_single_solves(workers, request):
    executor = None if workers == "own" else request.getfixturevalue(workers)

    def loss(rates, k):
        return np.sum(ensemble(decayed, rates, k, in_axes=(0, None), executor=executor, size=3) ** 2)

    def in_turn(rates, k):
        return sum(decayed(rate, k) ** 2 for rate in rates)

    value, (by_rates, by_k) = mo.value_and_grad(loss, argnums=(0, 1))(RATES, 0.5)
    expected, (for_rates, for_k) = mo.value_and_grad(in_turn, argnums=(0, 1))(RATES, 0.5)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(by_rates, for_rates, rtol=1e-10)
    assert by_k == pytest.approx(for_k, rel=1e-10)


@pytest.mark.parametrize("target", ["auto", "python"])
def test_forward_mode_and_second_derivatives_agree_with_differences(target):
    def loss(k):
        return np.sum(ensemble(wave, {"x": RATES}, k, in_axes=(0, None), size=4, target=target)["value"] ** 3)

    check_gradient("eager", loss, 0.7)
    check_gradient("eager", mo.grad(loss), 0.7)


@pytest.mark.parametrize("path", PATHS)
def test_in_a_compiled_function_it_is_vmap(path):
    check_gradient(
        path, lambda x, k: np.sum(ensemble(wave, {"x": x}, k, in_axes=(1, None))["parts"][0] ** 2 * k), RATES[None], 0.7
    )


@pytest.mark.parametrize("target", ["auto", "python"])
def test_results_keep_their_structure_and_order(target):
    found = ensemble(wave, {"x": RATES}, 2.0, in_axes=(0, None), size=2, target=target)
    np.testing.assert_allclose(found["value"], np.sin(2.0 * RATES), rtol=1e-14)
    assert found["parts"][0].shape == (7, 2) and found["parts"][1].tolist() == [3] * 7


def scaled(scale, x):
    return np.sum(scale * x**2)


class Model:
    def __init__(self, scale):
        self.scale = scale

    def solve(self, x):
        return np.sum(self.scale * x**2)


@pytest.mark.parametrize("target", ["auto", "python"])
@pytest.mark.parametrize(
    "capturing",
    [
        lambda scale: lambda x: np.sum(scale * x**2),
        lambda scale: lambda x, scale=scale: np.sum(scale * x**2),
        lambda scale: partial(scaled, scale),
        lambda scale: Model(scale).solve,
        lambda scale: (lambda inner: lambda x: inner(x))(lambda x: np.sum(scale * x**2)),
    ],
    ids=["closure", "default", "partial", "method", "function in a closure"],
)
def test_derivatives_reach_what_the_function_captures(capturing, target):
    scale = np.array([1.0, 2.0])
    found = mo.grad(lambda s: np.sum(ensemble(capturing(s), RATES, target=target)))(scale)
    np.testing.assert_allclose(found, np.sum(RATES**2) * np.ones(2), rtol=1e-12)
    tangent = mo.jvp(lambda s: np.sum(ensemble(capturing(s), RATES, target=target)), (scale,), (np.ones(2),))[1]
    assert tangent == pytest.approx(2 * np.sum(RATES**2), rel=1e-12)


def test_functions_that_differ_in_captured_values_share_a_program():
    def made(scale, n):
        return lambda x: scale * x**n

    first, second, other = (Members(made(s, n), (False,), "auto") for s, n in ((1.0, 2), (3.0, 2), (1.0, 3)))
    assert first == second and hash(first) == hash(second) and first != other
    np.testing.assert_allclose(ensemble(made(3.0, 2), RATES), 3.0 * RATES**2)
    np.testing.assert_allclose(ensemble(made(1.0, 3), RATES), RATES**3)


def test_jobs_can_be_sent():
    job = pickle.loads(pickle.dumps(Members(decayed, (False, True), "auto")))
    assert job == Members(decayed, (False, True), "auto")


def test_each_member_has_random_numbers_of_its_own():
    def drawn(x, seed):
        return x * mo.random.Generator(seed).standard_normal()

    found = ensemble(drawn, np.ones(5), np.arange(5), size=2)
    assert found.tolist() == [float(mo.random.Generator(i).standard_normal()) for i in range(5)]


def test_a_bar_counts_members(capsys):
    ensemble(wave, {"x": RATES}, 1.0, in_axes=(0, None), size=2, progress=True, target="python")
    assert "7/7" in capsys.readouterr().err


def below_one(x):
    if x > 1.0:
        raise ValueError("too large")
    return x


@pytest.mark.parametrize("options", [{"target": "python"}, {}], ids=["python", "auto"])
def test_errors_say_in_which_members_they_were_raised(options):
    with pytest.raises(ValueError, match="too large") as failure:
        ensemble(below_one, RATES, size=2, **options)
    assert failure.value.__notes__ == ["in members 2 to 3 of the ensemble"]


def exploding(rate):
    return odesolve(lambda t, y: rate * y * y, 1.0, [0.0, 1.0], rtol=1e-3).y[-1]


def test_failed_solves_are_not_solved_again_by_python(monkeypatch):
    monkeypatch.delattr(Members, "plain")
    monkeypatch.setattr(Members, "__abstractmethods__", frozenset())
    with pytest.raises(IntegrationFailed, match="too small"):
        ensemble(exploding, RATES, size=7)


POOL = ThreadPoolExecutor(1)


def captures_itself(n, scale):
    def f(x):
        return f(x - 1.0) if x > 1.0 else scale * x

    return f


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ensemble(1.0, RATES), "solve is float; expected the function of one member"),
        (lambda: ensemble(below_one), "there are no parameters; give arrays with an axis of members"),
        (lambda: ensemble(below_one, 1.0), "no parameter has an axis of members; give an array"),
        (lambda: ensemble(below_one, [1.0, 2.0]), "no parameter has an axis of members; give an array"),
        (lambda: ensemble(below_one, np.array(1.0)), "parameter 0 has shape \\(\\) and no axis 0 of members"),
        (lambda: ensemble(below_one, np.zeros(0)), "there are no members"),
        (lambda: ensemble(decayed, RATES, RATES[:3]), "the numbers of members differ: parameter 0 has 7, parameter 1 has 3"),
        (lambda: ensemble(below_one, RATES, in_axes=(0, 0)), "in_axes has 2 entries for 1 parameters"),
        (lambda: ensemble(below_one, RATES, in_axes="0"), "in_axes is '0'; expected an int or None"),
        (lambda: ensemble(below_one, RATES, size=0), "size is 0; expected the number of members in a job"),
        (lambda: ensemble(below_one, RATES, target="gpu"), "target is 'gpu'; expected one of 'auto', 'native', 'xla', 'python'"),
        (lambda: ensemble(below_one, RATES, executor=map), "executor is type, which has no submit"),
        (lambda: ensemble(captures_itself(1, 2.0), RATES), "f captures itself; define it at the top of a module"),
        (
            lambda: mo.jit(lambda x: ensemble(scaled, 1.0, x, in_axes=(None, 0), executor=POOL))(RATES),
            "a compiled function cannot use an executor",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()
