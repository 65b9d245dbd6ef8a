"""Optimisers against steps computed by hand from the published algorithms, on structures of parameters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import morula as mo
from morula.ml import Dense, adam, sgd


def steps(optimiser, x, gradients):
    state = optimiser.init(x)
    path = []
    for gradient in gradients:
        x, state = optimiser.update(x, gradient, state)
        path.append(x)
    return path


def test_adam_follows_algorithm_1_of_kingma_and_ba():
    """In exact arithmetic, with decay rates and gradients for which the square roots are rational.

    beta1 = 1/2, beta2 = 3/4, gradients 2 and 4: m = 1, 5/2; v = 1, 19/4.  Unbiased: m 2, 10/3; v 4, 76/7.
    """
    first, second = steps(adam(0.1, 0.5, 0.75, 1e-8), 1.0, [2.0, 4.0])
    assert first == pytest.approx(1 - 0.1 * 2 / (2 + 1e-8), abs=1e-15)
    unbiased_mean, unbiased_square = Fraction(10, 3), Fraction(76, 7)
    assert second == pytest.approx(
        first - 0.1 * float(unbiased_mean) / (float(unbiased_square) ** 0.5 + 1e-8), abs=1e-15
    )


def test_the_first_step_of_adam_is_the_learning_rate_whatever_the_scale_of_the_gradient():
    for scale in (1e-3, 1.0, 1e6):
        assert steps(adam(0.01), 0.0, [scale])[0] == pytest.approx(-0.01, rel=1e-4)


def test_adam_with_the_defaults_of_the_paper_after_three_steps():
    """Bias-corrected moments of 1, -2, 3 by their closed forms: sums of geometric weights."""
    gradients = [1.0, -2.0, 3.0]
    x = 0.5
    for t in range(1, 4):
        weights1 = np.array([0.1 * 0.9 ** (t - 1 - i) for i in range(t)]) / (1 - 0.9**t)
        weights2 = np.array([0.001 * 0.999 ** (t - 1 - i) for i in range(t)]) / (1 - 0.999**t)
        g = np.array(gradients[:t])
        x -= 0.001 * (weights1 @ g) / (np.sqrt(weights2 @ g**2) + 1e-8)
    assert steps(adam(), 0.5, gradients)[-1] == pytest.approx(x, abs=1e-15)


def test_momentum_accumulates_a_velocity():
    # v = -0.1, -0.15, -0.175 for gradient 1 and momentum 1/2.
    assert steps(sgd(0.1, momentum=0.5), 0.0, [1.0] * 3) == pytest.approx([-0.1, -0.25, -0.425])
    # Nesterov moves by momentum * v - rate * g instead: -0.15, -0.175, -0.1875.
    assert steps(sgd(0.1, momentum=0.5, nesterov=True), 0.0, [1.0] * 3) == pytest.approx([-0.15, -0.325, -0.5125])
    assert steps(sgd(0.1), 0.0, [1.0] * 3) == pytest.approx([-0.1, -0.2, -0.3])


@pytest.mark.parametrize("optimiser", [adam(0.01), sgd(0.01), sgd(0.01, 0.9), sgd(0.01, 0.9, nesterov=True)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_types_and_shapes_are_kept(optimiser, dtype):
    x = np.ones((2, 3), dtype)
    assert all(y.dtype == dtype and y.shape == (2, 3) for y in steps(optimiser, x, [x, x]))
    assert (x == 1).all()
    number = x[0, 0]
    assert all(np.asarray(y).dtype == dtype and np.ndim(y) == 0 for y in steps(optimiser, number, [number, number]))
    assert all(type(y) is float for y in steps(optimiser, 1.0, [1.0, 1.0]))


@pytest.mark.parametrize("optimiser", [adam(0.1), sgd(0.1), sgd(0.05, 0.8), sgd(0.05, 0.8, nesterov=True)])
def test_a_real_loss_of_a_complex_number_is_minimised(optimiser):
    loss = mo.grad(lambda z: (z - (1 - 2j)).real ** 2 + (z - (1 - 2j)).imag ** 2)
    z, state = 0j, optimiser.init(0j)
    for _ in range(300):
        z, state = optimiser.update(z, loss(z), state)
    assert z == pytest.approx(1 - 2j, abs=1e-2)


def test_structures_are_updated_leaf_by_leaf_and_what_has_no_cotangent_stays():
    layer = Dense(2, 1, np.tanh, rng=np.random.default_rng(0))
    model = {"layer": layer, "rates": (1.0, [np.ones(2)]), "width": 3, "name": "net", "unused": 5.0}
    (gradient,) = mo.gradient(lambda m: np.sum(m["layer"](np.ones(2))) + m["rates"][0] + m["rates"][1][0][0], model)
    gradient["unused"] = None
    optimiser = adam(0.1)
    new, state = optimiser.update(model, gradient, optimiser.init(model))
    assert state.updates == 1
    assert type(new["layer"]) is Dense and new["layer"].activation is np.tanh
    assert np.allclose(abs(new["layer"].weights - layer.weights), 0.1)
    assert new["rates"][0] == pytest.approx(0.9) and new["rates"][1][0] == pytest.approx([0.9, 1.0])
    assert (new["width"], new["name"], new["unused"]) == (3, "net", 5.0)
    assert model["rates"][0] == 1.0


@pytest.mark.parametrize("method", [sgd, adam])
def test_a_training_run_can_itself_be_differentiated(method):
    """The gradient of the final loss with respect to the learning rate: a gradient of a program that takes gradients."""

    def final_loss(learning_rate, start):
        optimiser = method(learning_rate)
        x, state = start, optimiser.init(start)
        for _ in range(3):
            gradient = mo.grad(lambda x: (x - 1.0) ** 4)(x)
            x, state = optimiser.update(x, gradient, state)
        return (x - 1.0) ** 4

    mo.testing.check_gradients(final_loss, 0.02, 2.5, order=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adam(0.0), "learning_rate is 0.0; expected a positive number"),
        (lambda: adam(float("nan")), "learning_rate is nan"),
        (lambda: adam(0.1, beta1=1.0), r"beta1 is 1.0; expected a number in \[0, 1\)"),
        (lambda: adam(0.1, beta2=-0.1), "beta2 is -0.1"),
        (lambda: adam(0.1, epsilon=0.0), "epsilon is 0.0"),
        (lambda: sgd(-1.0), "learning_rate is -1.0"),
        (lambda: sgd(0.1, momentum=1.5), "momentum is 1.5"),
        (lambda: adam().init({"width": 3}), "holds no parameter"),
        (lambda: sgd().update([1.0], [1.0], sgd().init([1.0, 2.0])), "remembers 2 leaves, the parameters have 1"),
        (lambda: sgd().update(np.ones(2), np.ones(3), sgd().init(np.ones(2))), r"shape \(3,\) for a parameter"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(call, message):
    with pytest.raises(mo.MorulaError, match=message):
        call()
