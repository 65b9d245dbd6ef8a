"""Learn to learn: the start of a network's training, found by derivatives through its training.

Each task is a sine curve of random amplitude and phase, seen at ten points. A network is fitted to a task by minimising
its misfit plus the squared distance from a common start, and what is learned is that start: the
error of fitted networks on other points of their tasks is minimised. The derivative of a fitted network by the start comes from the optimality
of the fit (the implicit function theorem), not from its iterations, so it needs their end only.

Tasks: C. Finn, P. Abbeel, S. Levine, Model-agnostic meta-learning, ICML (2017), section 5.1. Method: A. Rajeswaran, C. Finn, S. Kakade, S. Levine,
Meta-learning with implicit gradients, NeurIPS (2019).

    python examples/meta_learning.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

import morula as mo
from morula.ml import adam, train
from morula.optim import minimize

HIDDEN, POINTS = 16, 10
"""The width of both hidden layers, and the number of points of a task that are seen."""
CLOSENESS = 0.02
"""The weight of the squared distance from the start."""


def tasks(count, rng):
    """Return places and values seen (count, points), and as many others of the same curves."""
    amplitudes, phases = rng.uniform(0.5, 2.0, (count, 1)), rng.uniform(0.0, np.pi, (count, 1))
    x = rng.uniform(-5.0, 5.0, (2, count, POINTS))
    y = amplitudes * np.sin(x + phases)
    return x[0], y[0], x[1], y[1]


def first_weights(rng):
    sizes = (1, HIDDEN, HIDDEN, 1)
    return [
        {"weights": rng.normal(size=(m, n)) / np.sqrt(m), "bias": rng.normal(size=n)} for m, n in zip(sizes, sizes[1:])
    ]


def network(layers, x):
    z = x[:, None]
    for layer in layers[:-1]:
        z = np.tanh(z @ layer["weights"] + layer["bias"])
    return (z @ layers[-1]["weights"] + layers[-1]["bias"])[:, 0]


def misfit(layers, x, y):
    return np.mean((network(layers, x) - y) ** 2)


def fitted(start, x, y):
    """Return the network that minimises its misfit plus the squared distance from the start."""

    def objective(layers, start, x, y):
        away = [np.sum((a[name] - b[name]) ** 2) for a, b in zip(layers, start) for name in ("weights", "bias")]
        return misfit(layers, x, y) + CLOSENESS * np.sum(np.stack(away))

    return minimize(objective, start, start, x, y, method="lbfgs", tol=1e-4, max_iterations=500, adjoint="krylov").x


def outer_loss(start, seen_x, seen_y, other_x, other_y):
    """Return the mean over tasks of the squared error of the fitted networks at other points."""

    def of_task(x, y, others, true):
        return misfit(fitted(start, x, y), others, true)

    return np.mean(mo.vmap(of_task)(seen_x, seen_y, other_x, other_y))


def error(start, of):
    """Return the loss, task by task: for a few tasks, compiling takes longer."""
    return np.mean([misfit(fitted(start, x, y), others, true) for x, y, others, true in zip(*of)])


def learned(steps=200, count=16, rate=0.01, seed=0):
    """Return the start that ``steps`` batches of tasks have taught, and the losses."""
    rng = np.random.default_rng(seed)
    batches = [tasks(count, rng) for _ in range(steps)]
    return train(outer_loss, first_weights(rng), batches, adam(rate), progress=False)


def main(picture: str | None = None) -> None:
    start, losses = learned()
    new = tasks(16, np.random.default_rng(1))
    before, after = error(first_weights(np.random.default_rng(0)), new), error(start, new)
    print(f"error on tasks never seen: {before:.3f} from a random start, {after:.3f} from the learned start")
    if picture is not None:
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
        left.semilogy(losses, color="0.7", linewidth=0.8)
        left.semilogy(
            np.arange(19, len(losses)), np.convolve(losses, np.full(20, 0.05), "valid"), label="mean of 20 batches"
        )
        left.legend()
        left.set(xlabel="batches of tasks", ylabel="squared error of fitted networks at other points")
        x = np.linspace(-5.0, 5.0, 200)
        seen_x, seen_y, other_x, other_y = (part[3] for part in new)
        right.plot(x, network(start, x), ":", color="0.4", label="learned start")
        for model, name in ((start, "learned start"), (first_weights(np.random.default_rng(0)), "random start")):
            right.plot(x, network(fitted(model, seen_x, seen_y), x), label=f"fitted from the {name}")
        right.plot(seen_x, seen_y, "k.", label="points seen")
        right.plot(other_x, other_y, "kx", markersize=5, label="other points")
        right.legend(fontsize=8)
        right.set(xlabel="x", ylabel="y", title="a task never seen")
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
