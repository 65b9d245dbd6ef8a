"""Gravity and the length of a pendulum, from the force in its rod: a differential-algebraic equation with learned parameters.

The bob moves in the plane, held by a rod.  Its position and velocity follow differential equations, the force in the rod is
what an algebraic equation asks for: the acceleration must keep the bob on its circle.  A load cell has measured the force,
with noise, and nothing else is known than where the bob was released (the angle) and its mass.

    python examples/pendulum_tension.py [--picture pendulum_tension.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode import consistent_start, odesolve
from morula.optim import minimize

TRUE = np.array([9.81, 0.75])
"""Gravity (m/s^2) and length (m)."""
ANGLE, NOISE = 1.2, 0.02
"""Of the release, from the lowest point (rad), at rest; and the standard deviation of the load cell (N per kg)."""
TIMES = np.linspace(0.0, 3.0, 61)
MASS = np.array([1.0, 1.0, 1.0, 1.0, 0.0])


def pendulum(t, y, gravity):
    """Position, velocity, and the force over length and mass; the constraint x^2 + z^2 = l^2 is differentiated twice."""
    x, z, vx, vz, force = y
    return np.stack([vx, vz, -force * x, -force * z - gravity, vx**2 + vz**2 - force * (x**2 + z**2) - gravity * z])


def motion(parameters, times):
    """The states (m, 5) at the given times."""
    gravity, length = parameters
    released = np.stack([length * np.sin(ANGLE), -length * np.cos(ANGLE), 0.0, 0.0, 1.0])
    y0 = consistent_start(pendulum, 0.0, released, gravity, mass=MASS)
    return odesolve(pendulum, y0, times, gravity, method="rodas5p", mass=MASS, rtol=1e-7, atol=1e-8).y


def tension(parameters, times):
    """The force in the rod per mass (m,)."""
    return motion(parameters, times)[:, 4] * parameters[1]


def observed():
    return tension(TRUE, TIMES) + NOISE * np.random.default_rng(4).normal(size=len(TIMES))


@mo.jit
def misfit(logs, seen):
    return np.sum((tension(np.exp(logs), TIMES) - seen) ** 2) / NOISE**2


def fit(seen):
    """Return gravity and length, from a first guess."""
    return np.exp(minimize(misfit, np.log(np.array([8.0, 0.6])), seen, tol=1e-6).x)


def main():
    parser = argparse.ArgumentParser(description="Find gravity and the length of a pendulum from the force in its rod.")
    parser.add_argument("--picture", default="pendulum_tension.png", help="the file to write the picture to")
    options = parser.parse_args()
    seen = observed()
    gravity, length = found = fit(seen)
    states = motion(found, TIMES)
    print(f"gravity {gravity:.3f} m/s^2 (true {TRUE[0]}), length {length:.4f} m (true {TRUE[1]})")
    print(f"the rod changes its length by {abs(np.hypot(states[:, 0], states[:, 1]) / length - 1).max():.1e}")
    draw(options.picture, seen, found)


def draw(path, seen, found):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    times = np.linspace(TIMES[0], TIMES[-1], 400)
    y = motion(found, times)
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(TIMES, seen, ".", label="measured")
    left.plot(times, tension(np.array([8.0, 0.6]), times), ":", color="grey", label="first guess")
    left.plot(times, y[:, 4] * found[1], label="fitted")
    left.set(xlabel="time / s", ylabel="force in the rod / (N/kg)")
    left.legend()
    right.plot(y[:, 0], y[:, 1])
    right.plot([0, y[0, 0]], [0, y[0, 1]], "k-", lw=1)
    right.plot([0], [0], "k+")
    right.set(xlabel="x / m", ylabel="z / m", aspect="equal", title=f"g = {found[0]:.2f} m/s², l = {found[1]:.3f} m")
    plt.savefig(path, dpi=120)
    plt.close()
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
