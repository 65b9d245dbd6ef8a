"""Training: two real tasks reach their targets, and the loop keeps its documented properties."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula import BadInput
from morula.ml import Chain, Dense, Diverged, adam, cross_entropy, minibatches, sgd, train

# Theophylline in the blood of subject 1 after 4.02 mg/kg by mouth: Boeckmann, Sheiner & Beal (1994), R's datasets::Theoph.
DOSE = 4.02
HOURS = np.array([0.25, 0.57, 1.12, 2.02, 3.82, 5.1, 7.03, 9.05, 12.12, 24.37])
CONCENTRATION = np.array([2.84, 6.57, 10.5, 9.66, 8.58, 8.36, 7.47, 6.89, 5.94, 3.28])


def spirals(count: int, rng: np.random.Generator):
    """Two interleaved spirals of one turn each, with noise: not separable by less than a curved boundary."""
    angle = rng.uniform(0.5, 2 * np.pi, count)
    label = rng.integers(2, size=count)
    arm = angle + np.pi * label
    x = angle[:, None] * np.stack([np.cos(arm), np.sin(arm)], axis=1) + rng.normal(scale=0.1, size=(count, 2))
    return x / 3, label


def test_a_network_learns_to_tell_two_spirals_apart():
    x, label = spirals(400, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    network = Chain(Dense(2, 16, np.tanh, rng=rng), Dense(16, 16, np.tanh, rng=rng), Dense(16, 2, rng=rng))
    network, losses = train(
        lambda network, x, label: cross_entropy(network(x), label),
        network,
        minibatches(x, label, size=100, epochs=150, rng=rng),
        adam(0.02),
        progress=False,
    )
    assert len(losses) == 600 and losses[0] > 0.5
    unseen, right = spirals(500, np.random.default_rng(2))
    assert np.mean(np.argmax(network(unseen), axis=1) == right) > 0.98


def test_the_absorption_of_theophylline_is_fitted():
    """One compartment, first-order absorption: D ka / V (exp(-k t) - exp(-ka t)) / (ka - k), in logarithms of ka, k, V."""

    def loss(p):
        ka, k, volume = np.exp(p["absorption"]), np.exp(p["elimination"]), np.exp(p["volume"])
        model = DOSE * ka / volume * (np.exp(-k * HOURS) - np.exp(-ka * HOURS)) / (ka - k)
        return np.mean((model - CONCENTRATION) ** 2)

    start = {"absorption": 0.0, "elimination": -2.0, "volume": 0.0}
    p, losses = train(loss, start, 800, adam(0.05), progress=False)
    # scipy.optimize.curve_fit on these ten points.
    assert losses[-1] == pytest.approx(0.373841, rel=1e-3)
    assert np.exp(p["absorption"]) == pytest.approx(1.77742, rel=0.01)
    assert np.exp(p["elimination"]) == pytest.approx(0.0539544, rel=0.01)
    assert np.exp(p["volume"]) == pytest.approx(0.369265, rel=0.01)


def square(x):
    return (x - 3.0) ** 2


def test_the_losses_are_those_before_each_step_and_the_model_given_is_not_changed():
    model = {"x": np.zeros(2)}
    trained, losses = train(lambda m: np.sum((m["x"] - 1) ** 2), model, 3, sgd(0.25), progress=False)
    assert losses == [2.0, 0.5, 0.125]
    assert (model["x"] == 0).all() and trained["x"] == pytest.approx([0.875, 0.875])
    assert train(square, 1.0, 0, sgd(), progress=False) == (1.0, [])


def test_the_callback_sees_every_step_and_may_end_the_training():
    seen = []

    def callback(step, model, loss):
        seen.append((step, model, loss))
        return loss < 3.0

    model, losses = train(square, 1.0, 100, sgd(0.25), progress=False, callback=callback)
    assert seen == [(1, 2.0, 4.0), (2, 2.5, 1.0)]
    assert model == 2.5 and losses == [4.0, 1.0]


def test_batches_reach_the_loss_as_its_arguments():
    _, losses = train(lambda m, x: m * x, 1.0, [1.0, 2.0], sgd(1e-9), progress=False)
    assert losses == pytest.approx([1.0, 2.0])
    _, losses = train(lambda m, x, y: m * x + y, 1.0, ((i, 10.0) for i in (1.0, 2.0)), sgd(1e-9), progress=False)
    assert losses == pytest.approx([11.0, 12.0])


def test_minibatches_cover_every_row_once_an_epoch_in_a_new_order():
    x, y = np.arange(10), np.arange(10) * 2
    batches = list(minibatches(x, y, size=4, epochs=2, rng=np.random.default_rng(0)))
    assert [len(a) for a, _ in batches] == [4, 4, 2, 4, 4, 2]
    assert all((b == 2 * a).all() for a, b in batches)
    first, second = (np.concatenate([a for a, _ in epoch]) for epoch in (batches[:3], batches[3:]))
    assert sorted(first) == sorted(second) == list(range(10)) and not (first == second).all()


def test_the_progress_bar_shows_the_loss(capsys):
    train(square, 1.0, 5, sgd(0.1))
    assert "5/5" in (shown := capsys.readouterr().err) and "loss " in shown
    train(square, 1.0, 5, sgd(0.1), progress=False)
    assert capsys.readouterr().err == ""


def test_a_loss_that_is_not_finite_ends_the_training_and_keeps_what_there_is():
    explosion = pytest.raises(Diverged, match="loss is inf in step 2; try a smaller learning rate")
    with explosion as caught, np.errstate(over="ignore"):
        train(lambda x: x * np.float64(1e200) * (x * 1e100), 1.0, 10, sgd(1.0), progress=False)
    assert len(caught.value.losses) == 1 and isinstance(caught.value, mo.MorulaError)
    assert np.isfinite(caught.value.losses[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train(3, 1.0, 1, sgd()), "loss is a int; expected a function"),
        (lambda: train(square, 1.0, -1, sgd()), "-1 steps"),
        (lambda: train(square, 1.0, 1.5, sgd()), "data is a float; expected a number of steps or an iterable"),
        (lambda: train(square, 1.0, 1, 0.1), "optimiser is a float; expected an Optimiser"),
        (lambda: train(square, 1.0, 1, sgd(), callback=1), "callback is a int"),
        (lambda: train(square, 1, 1, sgd()), "holds no parameter"),
        (lambda: minibatches(size=2), "no arrays"),
        (lambda: minibatches(np.ones(2), np.ones(3), size=2), r"given \(2,\), \(3,\)"),
        (lambda: minibatches(np.ones(2), size=0), "size is 0"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(call, message):
    with pytest.raises(mo.MorulaError, match=message):
        call()


class Line:
    def __init__(self, slope, offset):
        self.slope, self.offset, self.steps = slope, offset, 3


def squares(line, x, y):
    return np.mean((line.slope * x + line.offset - y) ** 2)


def test_a_loss_is_compiled_and_trains_as_eagerly(capsys):
    x = np.linspace(0.0, 1.0, 11)
    batches = list(minibatches(x, 2.0 * x + 1.0, size=4, epochs=20, rng=np.random.default_rng(1)))
    found, losses = train(squares, Line(0.0, np.zeros(1)), batches, adam(0.1))
    assert "train, compiled" in capsys.readouterr().err
    expected, plain = train(squares, Line(0.0, np.zeros(1)), batches, adam(0.1), jit=False)
    assert "train, eager" in capsys.readouterr().err
    assert np.allclose(losses, plain, rtol=1e-12)
    assert np.isclose(found.slope, expected.slope) and np.allclose(found.offset, expected.offset) and found.steps == 3


def test_a_loss_that_cannot_be_compiled_runs_eagerly_and_says_why(capsys):
    def drawn(p):
        return (p - np.random.default_rng().uniform(1.0, 1.0)) ** 2

    found, losses = train(drawn, 0.0, 50, sgd(0.25))
    shown = capsys.readouterr()
    assert shown.out.count("train runs eagerly, since the loss cannot be compiled:") == 1 and "default_rng" in shown.out
    assert "train, eager" in shown.err and np.isclose(found, 1.0)
    train(drawn, 0.0, 2, sgd(0.25), progress=False)
    assert capsys.readouterr() == ("", "")


def test_an_error_of_the_loss_is_the_losss_own():
    with pytest.raises(BadInput, match="a gradient needs a real scalar output"):
        train(lambda p: p * np.ones(2), 1.0, 3, sgd(), progress=False)
