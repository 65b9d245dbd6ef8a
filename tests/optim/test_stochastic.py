"""Optimisers for training against their published formulas, written out over the whole history of gradients."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import morula as mo
from morula.optim.stochastic import (
    accumulate,
    adabelief,
    adagrad,
    adam,
    adamw,
    average,
    chain,
    clip,
    clip_by_global_norm,
    cosine,
    curvature_estimate,
    decay_weights,
    exponential,
    groups,
    lamb,
    lion,
    muon,
    nadam,
    one_cycle,
    piecewise,
    plateau,
    rmsprop,
    schedule_free,
    sgd,
    shampoo,
    soap,
    sophia,
    warm_up,
)

RANDOM = np.random.default_rng(0)
START = RANDOM.normal(size=(3, 2))
GRADIENTS = [RANDOM.normal(size=(3, 2)) for _ in range(4)]


def path(optimiser, x=START, gradients=GRADIENTS):
    state, points = optimiser.init(x), []
    for g in gradients:
        x, state = optimiser.update(x, g, state)
        points.append(x)
    return points


def mean(beta, t, values):
    """The biased running mean after t values, as a sum with geometric weights."""
    return sum((1 - beta) * beta ** (t - 1 - i) * values[i] for i in range(t))


def by(direction):
    """The points of ``x <- x - 0.1 direction(t, x)``."""
    x, points = START, []
    for t in range(1, len(GRADIENTS) + 1):
        x = x - 0.1 * direction(t, x)
        points.append(x)
    return points


def adams(t, b1=0.9, b2=0.999, eps=1e-8):
    m, v = mean(b1, t, GRADIENTS), mean(b2, t, [g**2 for g in GRADIENTS])
    return (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)


def nadams(t, x):
    m, v, g = mean(0.9, t, GRADIENTS), mean(0.999, t, [g**2 for g in GRADIENTS]), GRADIENTS[t - 1]
    ahead = 0.9 * m / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
    return ahead / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def beliefs(t, x):
    deviations = [(GRADIENTS[i] - mean(0.9, i + 1, GRADIENTS)) ** 2 + 1e-16 / 0.001 for i in range(t)]
    return mean(0.9, t, GRADIENTS) / (1 - 0.9**t) / (np.sqrt(mean(0.999, t, deviations) / (1 - 0.999**t)) + 1e-16)


def lions(t, x):
    return np.sign(0.9 * mean(0.99, t - 1, GRADIENTS) + 0.1 * GRADIENTS[t - 1]) + 0.2 * x


def lambs(t, x):
    u = adams(t, eps=1e-6) + 0.2 * x
    return np.linalg.norm(x) / np.linalg.norm(u) * u


@pytest.mark.parametrize(
    "optimiser, direction",
    [
        (adam(0.1), lambda t, x: adams(t)),
        (adamw(0.1, decay=0.2), lambda t, x: adams(t) + 0.2 * x),
        (nadam(0.1), nadams),
        (adabelief(0.1), beliefs),
        (adagrad(0.1), lambda t, x: GRADIENTS[t - 1] / (np.sqrt(sum(g**2 for g in GRADIENTS[:t])) + 1e-7)),
        (rmsprop(0.1), lambda t, x: GRADIENTS[t - 1] / (np.sqrt(mean(0.9, t, [g**2 for g in GRADIENTS])) + 1e-8)),
        (lion(0.1, decay=0.2), lions),
        (lamb(0.1, decay=0.2), lambs),
        (sgd(0.1, momentum=0.8), lambda t, x: sum(0.8 ** (t - 1 - i) * GRADIENTS[i] for i in range(t))),
        (sgd(lambda t: 0.1 / (t + 1)), lambda t, x: GRADIENTS[t - 1] / t),
    ],
    ids="adam adamw nadam adabelief adagrad rmsprop lion lamb momentum schedule".split(),
)
def test_follows_its_formula(optimiser, direction):
    np.testing.assert_allclose(path(optimiser), by(direction), rtol=1e-12)


def test_muon_moves_a_matrix_along_about_orthogonal_matrices_and_a_vector_by_adam():
    step = (START - path(muon(0.1))[0]) / 0.1
    sizes = np.linalg.svd(step, compute_uv=False) / np.sqrt(3 / 2)
    U, _, Vt = np.linalg.svd(GRADIENTS[0], full_matrices=False)
    assert np.all((sizes > 0.6) & (sizes < 1.3))
    assert np.allclose(U.T @ step @ Vt.T, np.diag(np.diag(U.T @ step @ Vt.T)), atol=1e-12)
    vector = GRADIENTS[0].ravel()
    assert np.allclose(path(muon(0.1), START.ravel(), [vector])[0], START.ravel() - 0.1 * np.sign(vector))


def test_the_first_steps_of_shampoo_and_soap_are_orthogonal_factors():
    U, S, Vt = np.linalg.svd(GRADIENTS[0], full_matrices=False)
    assert np.allclose(path(shampoo(0.1, epsilon=1e-12))[0], START - 0.1 * U @ Vt, atol=1e-4)
    step = (START - path(soap(0.1))[0]) / 0.1
    assert np.allclose(np.abs(U.T @ step @ Vt.T), np.eye(2), atol=1e-6)


def test_shampoo_after_all_steps():
    left, right = sum(g @ g.T for g in GRADIENTS), sum(g.T @ g for g in GRADIENTS)

    def root(M):
        values, vectors = np.linalg.eigh(M + 1e-6 * np.eye(len(M)))
        return vectors @ np.diag(values**-0.25) @ vectors.T

    points = path(shampoo(0.1))
    assert np.allclose(points[-1], points[-2] - 0.1 * root(left) @ GRADIENTS[-1] @ root(right))


def test_sophia_divides_by_the_curvature_and_clips():
    optimiser = sophia(0.1, beta1=0.0, beta2=0.0, gamma=1.0)
    gradient, curvature = np.array([1.0, 1.0, 1.0]), np.array([4.0, 0.5, -1.0])
    x, state = optimiser.update(np.zeros(3), gradient, optimiser.init(np.zeros(3)), curvature=curvature)
    assert np.allclose(x, [-0.025, -0.1, -0.1])
    assert np.allclose(optimiser.update(x, gradient, state)[0], 2 * x)
    with pytest.raises(mo.BadInput, match="sophia: the first update needs curvature="):
        optimiser.update(np.zeros(3), gradient, optimiser.init(np.zeros(3)))


def test_the_curvature_estimate_is_right_on_average():
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    estimates = [
        curvature_estimate(lambda p: 0.5 * p["x"] @ A @ p["x"], {"x": np.ones(2)}, np.random.default_rng(k))["x"]
        for k in range(40)
    ]
    assert {tuple(e) for e in estimates} == {(3.0, 4.0), (1.0, 2.0)}


def test_schedule_free_averages_its_iterates():
    method = schedule_free(0.1, beta=0.5, beta2=0.0, epsilon=1e-300)
    x, state, z, points = 1.0, method.init(1.0), 1.0, []
    for g in (1.0, -2.0, 3.0):
        x, state = method.update(x, g, state)
        z -= 0.1 * np.sign(g)
        points.append(z)
        assert np.isclose(method.evaluated(x, state), np.mean(points)) and np.isclose(x, (z + np.mean(points)) / 2)


@pytest.mark.parametrize(
    "optimiser",
    [
        adam(0.1), adamw(0.1), nadam(0.1), adabelief(0.1), adagrad(0.5), rmsprop(0.05), lion(0.01), lamb(0.05), muon(0.1), shampoo(0.5),
        soap(0.1), schedule_free(0.1), sgd(0.1, 0.9), average(adam(0.1), 0.9), chain(clip_by_global_norm(1.0), adam(cosine(0.2, 200))),
    ],
)  # fmt: skip
def test_a_small_network_learns(optimiser):
    x = np.linspace(-1.0, 1.0, 20)[:, None]

    def loss(p):
        return np.mean((np.tanh(x @ p["W"] + p["b"]) @ p["V"] - x**2) ** 2)

    random = np.random.default_rng(1)
    p = {"W": random.normal(size=(1, 6)), "b": np.zeros(6), "V": random.normal(size=(6, 1))}
    state, first, slope = optimiser.init(p), loss(p), mo.grad(loss)
    for _ in range(150):
        p, state = optimiser.update(p, slope(p), state)
    assert loss(optimiser.evaluated(p, state)) < 0.1 * first
    state = pickle.loads(pickle.dumps(state))
    assert np.array_equal(optimiser.update(p, p, state)[0]["W"], optimiser.update(p, p, state)[0]["W"])


@pytest.mark.parametrize("target", ["native", "xla"])
def test_updates_compile(target):
    optimiser = chain(clip_by_global_norm(0.5), adamw(warm_up(0.1, 3), decay=0.1, mask=lambda path, x: "W" in path))
    p = {"W": START, "b": np.ones(2)}

    def train(p):
        state = optimiser.init(p)
        for _ in range(5):
            p, state = optimiser.update(p, mo.grad(lambda p: np.sum(p["W"] ** 2) + np.sum(p["b"] ** 4))(p), state)
        return p

    found, expected = mo.jit(train, target=target)(p), train(p)
    assert np.allclose(found["W"], expected["W"]) and np.allclose(found["b"], expected["b"])


def test_schedules():
    assert np.isclose(cosine(2.0, 8, 1.0)(2), 1.5 + 0.5 * np.cos(np.pi / 4))
    assert np.isclose(exponential(2.0, 0.5, 4)(6), 2.0 * 0.5**1.5)
    assert [float(piecewise(1.0, {2: 0.5, 4: 0.1})(t)) for t in (1, 3, 9)] == pytest.approx([1.0, 0.5, 0.05])
    assert [float(warm_up(cosine(1.0, 4), 2)(t)) for t in (0, 1, 2, 6)] == pytest.approx([0.0, 0.5, 1.0, 0.0])
    cycle = one_cycle(1.0, 10)
    assert [float(cycle(t)) for t in (0, 3, 10)] == pytest.approx([0.04, 1.0, 1e-4])


def test_a_plateau_lowers_the_rate_when_the_loss_stays():
    optimiser = chain(plateau(0.5, patience=2), sgd(1.0))
    x, state, moves = 0.0, optimiser.init(0.0), []
    for loss in (3.0, 2.0, 2.0, 2.0, 1.0, 1.0):
        new, state = optimiser.update(x, 1.0, state, value=loss)
        moves.append(x - new)
        x = new
    assert moves == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
    with pytest.raises(mo.BadInput, match="plateau: the loss is not known"):
        optimiser.update(x, 1.0, state)


def test_clipping():
    assert path(chain(clip(0.5), sgd(1.0)), 0.0, [3.0]) == [-0.5]
    p, g = {"a": np.zeros(2), "b": 0.0}, {"a": np.array([2.0, 1.0]), "b": 2.0}
    method = chain(clip_by_global_norm(1.5), sgd(1.0))
    found = method.update(p, g, method.init(p))[0]
    assert np.allclose(found["a"], [-1.0, -0.5]) and np.isclose(found["b"], -1.0)


def test_decay_is_masked_by_place():
    p = {"weights": np.ones(2), "bias": np.ones(2)}
    method = chain(decay_weights(0.5, lambda path, x: path == "['weights']"), sgd(1.0))
    found = method.update(p, {"weights": np.zeros(2), "bias": np.zeros(2)}, method.init(p))[0]
    assert np.allclose(found["weights"], 0.5) and np.allclose(found["bias"], 1.0)


def test_groups_and_leaves_without_a_gradient():
    p = {"a": 1.0, "b": np.ones(2), "c": 1.0}
    method = groups(lambda path, x: "slow" if np.ndim(x) else "fast", slow=sgd(0.1), fast=adam(1.0))
    found, state = method.update(p, {"a": 2.0, "b": np.ones(2), "c": None}, method.init(p))
    assert np.isclose(found["a"], 0.0) and np.allclose(found["b"], 0.9) and found["c"] == 1.0
    with pytest.raises(mo.BadInput, match=r"select returned 'no' for \['a'\], expected one of 'slow'"):
        groups(lambda path, x: "no", slow=sgd(0.1)).init(p)


def test_averages_and_accumulation():
    method = average(sgd(1.0), 0.5)
    x, state = method.update(0.0, -2.0, method.init(0.0))
    assert (x, method.evaluated(x, state)) == (2.0, 1.0)
    method = accumulate(adam(0.1), 3)
    points = path(method, gradients=[GRADIENTS[0], GRADIENTS[1], GRADIENTS[2]])
    assert points[1] is not None and np.array_equal(points[1], START)
    assert np.allclose(points[2], path(adam(0.1), gradients=[np.mean(GRADIENTS[:3], axis=0)])[0])


@pytest.mark.parametrize("make", [adamw, muon, soap, lion, schedule_free, shampoo])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept(make, dtype):
    x = START.astype(dtype)
    assert all(y.dtype == dtype for y in path(make(), x, [x, x]))
    assert all(type(y) is float for y in path(make(), 1.0, [1.0, 2.0]))


def test_a_training_run_is_differentiable():
    def final(rate, x):
        optimiser = adamw(rate, decay=0.1)
        state = optimiser.init(x)
        for _ in range(3):
            x, state = optimiser.update(x, 4 * x**3, state)
        return x

    mo.testing.check_gradients(final, 0.02, 2.5, order=1)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: adamw(0.0), "adamw: learning_rate is 0.0; expected a positive number or a schedule"),
        (lambda: lion(beta1=1.0), r"lion: beta1 is 1.0; expected a number in \[0, 1\)"),
        (lambda: chain(clip(1.0)), "chain: no part has a learning rate"),
        (lambda: chain(3.0), "chain: got a float, expected steps and chains"),
        (lambda: clip(-1.0), "clip: limit is -1.0; expected a positive number"),
        (lambda: decay_weights(-1.0), "decay_weights: rate is -1.0"),
        (lambda: accumulate(sgd(), 0), "accumulate: every is 0; expected 1 or more"),
        (lambda: cosine(1.0, 0), "cosine: the number of updates is 0; expected 1 or more"),
        (lambda: plateau(2.0), r"plateau: factor is 2.0; expected a number in \(0, 1\)"),
        (lambda: average(sgd(), 1.0), r"average: decay is 1.0"),
        (lambda: sophia(gamma=0.0), "sophia: gamma is 0.0"),
        (lambda: shampoo(decay=0.0), r"shampoo: decay is 0.0"),
        (lambda: muon(momentum=1.0), "muon: momentum is 1.0"),
        (lambda: average(groups(lambda path, x: "a", a=sgd())).init(1.0), "groups: .*wrap the members, not the groups"),
    ],
)
def test_bad_settings_are_refused(call, message):
    with pytest.raises(mo.BadInput, match=message):
        call()
