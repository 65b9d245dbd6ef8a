"""Learn how elastic a ball is, and how strongly the air brakes it, from its height: a gradient through the bounces.

A ball falls with gravity and a drag proportional to the square of its speed.  Each contact with the ground is an event that
reverses the velocity and multiplies it by the restitution.  The times of the bounces depend on all parameters, and the
gradient of the misfit goes through them.

    python examples/bouncing_ball.py [--picture bouncing_ball.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode import Event, odesolve
from morula.optim import minimize

GRAVITY = 9.81
TRUE = np.array([0.82, 0.05, 1.5])
"""Restitution, drag per metre, first height in metres."""
TIMES = np.linspace(0.0, 2.5, 76)


def fall(t, y, restitution, drag):
    return np.stack([y[1], -GRAVITY - drag * y[1] * np.abs(y[1])])


def height(t, y, restitution, drag):
    return y[0]


def bounce(t, y, restitution, drag):
    return np.stack([0.0 * y[0], -restitution * y[1]])


GROUND = Event(height, direction=-1, change=bounce)


def heights(parameters, times):
    """The height of the ball at the given times, for parameters = [restitution, drag, first height]."""
    restitution, drag, first = parameters
    start = np.stack([first, 0.0 * first])
    return odesolve(fall, start, times, restitution, drag, events=GROUND, rtol=1e-7, atol=1e-9).y[:, 0]


def observed():
    """The heights that a camera sees, with 5 mm of noise."""
    return heights(TRUE, TIMES) + np.random.default_rng(4).normal(0.0, 5e-3, len(TIMES))


@mo.jit(target="native")
def misfit(parameters, seen, weights):
    return np.mean(weights * (heights(parameters, TIMES) - seen) ** 2)


def fit(seen):
    """Return the parameters that fit the heights best."""
    # The bounces of a start that is far off fall between the wrong frames, so the first fit ends before the second bounce.
    found = np.array([0.7, 0.0, 1.4])
    for end in (1.2, TIMES[-1]):
        found = minimize(misfit, found, seen, 1.0 * (TIMES <= end), tol=1e-7).x
    return found


def main():
    parser = argparse.ArgumentParser(description="Learn the restitution of a bouncing ball from its height.")
    parser.add_argument("--picture", default="bouncing_ball.png", help="the file to write the picture to")
    options = parser.parse_args()
    seen = observed()
    found = fit(seen)
    for name, value, true in zip(("restitution", "drag (1/m)", "first height (m)"), found, TRUE):
        print(f"{name:17s} {value:.4f} (true: {true})")
    draw(options.picture, seen, found)


def draw(path, seen, found):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    times = np.linspace(0.0, TIMES[-1], 600)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(TIMES, seen, "k.", ms=4, label="seen")
    axes.plot(times, heights(np.array([0.7, 0.0, 1.4]), times), color="0.7", label="before")
    axes.plot(times, heights(found, times), label=f"learned, restitution {found[0]:.3f}")
    axes.set(xlabel="time (s)", ylabel="height (m)")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
