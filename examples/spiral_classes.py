"""Tell two spirals apart by a neural ODE: each point flows with y' = network(y), and its end is classified by a plane.

The points of two interleaved spirals cannot be separated in the plane by a flow, whose trajectories do not cross. With a
further component, zero at the start, they can (the augmented neural ODE). The network and the plane are trained by Adam,
through the solver; all points are one state.

    python examples/spiral_classes.py [--picture spiral_classes.png]

Source: R. T. Q. Chen et al., Neural ordinary differential equations, NeurIPS (2018); E. Dupont et al., Augmented neural
ODEs, NeurIPS (2019).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ml import Chain, Dense, adam, train
from morula.ode import odesolve

POINTS, HIDDEN, WIDTH = 100, 32, 3
"""Points of each spiral, the network's width, and the components of the state."""


def spirals(count, seed=0):
    """Points (2 count, 2) of two spirals with noise, and their classes 0 and 1."""
    draw = np.random.default_rng(seed)
    angle = 3.0 * np.pi * np.sqrt(draw.uniform(0.05, 1.0, count))
    arm = np.stack([np.cos(angle), np.sin(angle)], axis=1) * angle[:, None] / (3.0 * np.pi)
    points = np.concatenate([arm, -arm]) + draw.normal(0.0, 0.02, (2 * count, 2))
    return points, np.repeat([0.0, 1.0], count)


def model(seed=0):
    draw = np.random.default_rng(seed)
    return {
        "flow": Chain(Dense(WIDTH, HIDDEN, np.tanh, rng=draw), Dense(HIDDEN, WIDTH, rng=draw)),
        "plane": Dense(WIDTH, 1, rng=draw),
    }


def velocity(t, y, flow):
    return flow(y)


def flowed(p, points, times):
    """The states (m, points, WIDTH) at the given times."""
    start = np.concatenate([3.0 * points, np.zeros((len(points), WIDTH - 2))], axis=1)
    return odesolve(velocity, start, times, p["flow"], rtol=1e-3, atol=1e-3).y


def score(p, points):
    """Positive for class 1."""
    return p["plane"](flowed(p, points, np.array([0.0, 1.0]))[-1])[:, 0]


@mo.jit
def loss(p, points, classes):
    """The cross-entropy of the classes."""
    s = score(p, points)
    return np.mean(np.logaddexp(0.0, s) - classes * s)


def learned(steps, count=POINTS):
    """The trained model, and the loss at each step."""
    return train(loss, model(), [spirals(count)] * steps, adam(0.02), progress=False)


def accuracy(p, points, classes):
    return float(np.mean((score(p, points) > 0) == (classes > 0.5)))


def main():
    parser = argparse.ArgumentParser(description="Tell two spirals apart by a neural ODE.")
    parser.add_argument("--picture", default="spiral_classes.png", help="the file to write the picture to")
    parser.add_argument("--steps", type=int, default=600, help="steps of Adam")
    options = parser.parse_args()
    p, losses = learned(options.steps)
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.4f} in {options.steps} steps")
    print(
        f"accuracy on the points: {accuracy(p, *spirals(POINTS)):.3f}; on new points: {accuracy(p, *spirals(500, 1)):.3f}"
    )
    draw(options.picture, p, losses)


def draw(path, p, losses):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    points, classes = spirals(POINTS)
    figure, (plane, flow, curve) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    x = np.linspace(-1.3, 1.3, 80)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    certainty = 1 / (1 + np.exp(-score(p, grid))).reshape(80, 80)
    plane.contourf(x, x, certainty, levels=20, cmap="coolwarm", alpha=0.6)
    paths = flowed(p, points, np.linspace(0.0, 1.0, 30))
    for k, colour in enumerate(("C0", "C3")):
        plane.plot(*points[classes == k].T, ".", color=colour)
        flow.plot(*paths[:, classes == k, 0:3:2].transpose(2, 0, 1), color=colour, linewidth=0.5, alpha=0.6)
        flow.plot(*paths[-1, classes == k, 0:3:2].T, ".", color=colour)
    plane.set(title="two spirals, and the learned classes", aspect="equal")
    flow.set(title="the flow: first and added component", xlabel="y[0]", ylabel="y[2]")
    curve.semilogy(losses)
    curve.set(title="cross-entropy", xlabel="step of Adam")
    figure.savefig(path, dpi=110)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
