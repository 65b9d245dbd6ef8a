"""The random generator is an ordinary object with the same stream on every path."""

from __future__ import annotations

import numpy as np
from path_tester import assert_same, gradient_of, run_on

import morula as mo


def drawn(generator):
    return {
        "random": generator.random(5),
        "single": generator.random(5, dtype=np.float32),
        "normal": generator.normal(1.0, 2.0, (2, 3)),
        "integers": generator.integers(10, size=8),
        "number": generator.random(),
        "permutation": generator.permutation(6),
    }


def test_the_same_stream_on_every_path(path):
    expected = drawn(mo.random.Generator(42))
    generator = mo.random.Generator(42)
    found = run_on(path)(drawn)(generator)
    assert_same(found, expected, 1e-12, "what was drawn")
    again = run_on(path)(drawn)(generator)
    assert not np.allclose(again["random"], found["random"]), "the generator's state moves on"


def walk(generator, x, n):
    position = x
    for _ in range(n):
        if generator.random() < 0.5:
            position = position * 1.1
        else:
            position = position - 0.1 * generator.normal(0.0, x)
    return position


def test_draws_inside_a_loop_with_branches(path):
    expected = mo.value_and_grad(walk, (1,))(mo.random.Generator(3), 1.5, 20)
    value, (dx,) = run_on(path)(gradient_of(walk, (1,)))(mo.random.Generator(3), 1.5, 20)
    assert np.isclose(value, expected[0]) and np.isclose(dx, expected[1][0])


def noisy(w, seed):
    generator = mo.random.Generator(seed)
    return (w * generator.standard_normal(4)).sum()


def test_a_generator_made_in_compiled_code(path):
    w = np.arange(4.0)
    for seed in (1, 2):
        assert np.isclose(run_on(path)(noisy)(w, seed), noisy(w, seed))
