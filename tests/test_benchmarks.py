"""The programs of benchmarks/compilation: their hand-written gradients and their versions for JAX compute the same."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from morula.core.testing.differences import is_single, ridders

for peer in ("diffrax", "equinox", "jax", "numba"):
    pytest.importorskip(peer)

import jax  # noqa: E402

import morula as mo  # noqa: E402
from benchmarks.compilation import second, tables  # noqa: E402
from benchmarks.compilation.contenders import CONTENDERS  # noqa: E402
from benchmarks.compilation.emitted import emitted  # noqa: E402
from benchmarks.compilation.program import HELD_OUT, RACES, TUNED, programs  # noqa: E402
from benchmarks.compilation.race import Outcome  # noqa: E402
from benchmarks.racing.desk import Started  # noqa: E402
from benchmarks.racing.race import differs  # noqa: E402

pytestmark = [
    pytest.mark.references,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="the hand-written gradients are in C"),
]

PROGRAMS = [pytest.param(p, id=f"{group}-{name}") for group in RACES for name, p in programs(group).items()]


def result_of(contender, program, args):
    call = CONTENDERS[contender].start(program, args)
    value, gradients = CONTENDERS[contender].finish(call())
    return Started((np.array(value), *map(np.array, gradients)), 0.0)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_hand_written_gradient_agrees_with_differences(program):
    args = program.inputs(program.small)
    before = [np.copy(a) for a in args]
    by_hand = result_of("hand", program, args)
    value, *gradients = by_hand.results
    assert float(value) == pytest.approx(float(program.numpy(*args)), rel=max(program.rtol, 1e-9))
    assert all(np.array_equal(a, b) for a, b in zip(args, before)), "an argument was changed"
    rng = np.random.default_rng(3)
    resolution = 2.0 ** (-24 if any(is_single(a) for a in args) else -53)
    for i, gradient in zip(program.argnums, gradients):
        along = rng.normal(size=np.shape(args[i]))

        def moved(h, i=i, along=along):
            return float(program.numpy(*args[:i], args[i] + h * along, *args[i + 1 :]))

        slope, error = ridders(moved, 1e-2, resolution=resolution)
        assert np.sum(gradient * along) == pytest.approx(slope, rel=max(program.rtol, 1e-5), abs=100 * error)


@pytest.mark.parametrize("contender", ["JAX", "eager"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_contender_agrees_with_the_hand_written_gradient(program, contender):
    args = program.inputs(program.small)
    with jax.enable_x64(True):
        found = result_of(contender, program, args)
    assert differs(found, result_of("hand", program, args), program.rtol) is None


@pytest.mark.parametrize("program", [pytest.param(p, id=name) for name, p in second.programs().items()])
def test_gradients_of_the_second_list_agree(program):
    args = program.inputs(program.small)
    gradient = mo.value_and_grad(program.numpy, program.argnums)
    value, gradients = gradient(*args)
    ways = [mo.jit(gradient, target="native"), *([program.hand] if program.hand is not None else [])]
    for way in ways:
        found, others = way(*args)
        np.testing.assert_allclose(found, value, rtol=1e-9)
        for g, expected in zip(others, gradients, strict=True):
            np.testing.assert_allclose(g, expected, rtol=1e-8, atol=1e-10 * np.max(np.abs(expected)))


def test_what_a_gradient_does_is_counted():
    def f(x, k):
        total = 0.0
        for i in range(len(x)):
            y = x[i]
            while y < k:
                y = y * y + 0.5
            total += y if y > 3.0 else -y
        return total

    found = emitted(mo.jit(mo.value_and_grad(f), target="native"), (np.full(5, 0.6), 2.0))
    assert (found.loops, found.unknown, found.libraries, found.python) == (4, 2, 0, 0)
    assert found.saved == 8 and found.saved_in_all > 5 * 8


def test_held_out_programs_are_none_of_those_that_are_tuned_on():
    tuned, held_out = ({name for group in groups for name in programs(group)} for groups in (TUNED, HELD_OUT))
    assert tuned.isdisjoint(held_out)
    assert len(programs("held_out_loops")) >= 10 and len(programs("held_out_arrays")) >= 8


def test_the_summary_of_a_group_counts_slow_programs_and_those_ahead_of_jax():
    program = programs("arrays")["softmax"]
    times = (
        {"hand": 1.0, "JAX": 4.0, "JAX, switch": 3.0, "native": 2.0, "xla": 8.0},
        {"hand": 1.0, "JAX": 4.0, "JAX, switch": 3.0, "native": 8.0},
    )
    outcomes = [Outcome(program, seconds) for seconds in times]
    assert tables.summary({"arrays": outcomes}, ["hand", "JAX", "native", "xla"])[1:] == [
        ["arrays", "JAX", "2", "2", "4.00", "2", ""],
        ["arrays", "native", "2", "2", "4.00", "1", "1"],
        ["arrays", "xla", "2", "1", "8.00", "1", "0"],
    ]
