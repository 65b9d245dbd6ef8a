"""Swing a pendulum up with a motor that is too weak to lift it directly: optimal control through the solver.

The torque is a broken line of 25 values, limited to half of what holds the pendulum horizontally.  The loss is the energy
that the motor spends, plus the distance from the upright position at rest after a given time.  Its gradient with respect to
all values goes through the solver.

    python examples/pendulum_control.py [--picture pendulum_control.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode import odesolve
from morula.optim import minimize

END, NODES, LIMIT, DAMPING = 20.0, 25, 0.5, 0.02
"""The end in units of sqrt(l / g), the number of values, the limit in units of m g l, and the damping."""
STEP = END / (NODES - 1)


def torque(t, u):
    """The broken line through the values u, within the limit; gravity's torque is sin(angle)."""
    place = np.clip(t / STEP, 0.0, NODES - 1.000001)
    k = np.floor(place).astype(int)
    w = place - k
    return LIMIT * np.tanh((1.0 - w) * u[k] + w * u[k + 1])


def swing(t, y, u):
    """Angle from the lowest point, velocity, and the integral of the squared torque; time in units of sqrt(l / g)."""
    m = torque(t, u)
    return np.stack([y[1], -np.sin(y[0]) - DAMPING * y[1] + m, m**2])


def motion(u, times):
    """The states (m, 3) at the given times, from rest at the lowest point."""
    return odesolve(swing, np.zeros(3), times, u, rtol=1e-6, atol=1e-8).y


@mo.jit
def loss(u, weight):
    angle, velocity, energy = motion(u, np.array([0.0, END]))[-1]
    return weight * ((1.0 + np.cos(angle)) + 0.5 * velocity**2) + 0.1 * energy


def plan():
    """Return the values of the torque; the weight of the end state grows, so that the first plans may miss it."""
    u = 0.5 * np.cos(np.arange(NODES) * STEP)
    for weight in (1.0, 10.0, 100.0):
        u = minimize(loss, u, weight, tol=1e-5, max_iterations=150).x
    return u


def main():
    parser = argparse.ArgumentParser(description="Swing a pendulum up with a weak motor.")
    parser.add_argument("--picture", default="pendulum_control.png", help="the file to write the picture to")
    options = parser.parse_args()
    u = plan()
    angle, velocity, energy = motion(u, np.array([0.0, END]))[-1]
    print(f"at the end: {np.degrees(np.arccos(-np.cos(angle))):.2f} degrees from upright, velocity {velocity:.4f}")
    print(f"integral of the squared torque: {energy:.3f}; largest torque {LIMIT * np.tanh(abs(u)).max():.3f}")
    draw(options.picture, u)


def draw(path, u):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    times = np.linspace(0.0, END, 400)
    y = motion(u, times)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
    top.plot(times, np.degrees(y[:, 0]), label="angle")
    top.axhline(180.0 * np.sign(y[-1, 0]), color="0.7", ls="--", label="upright")
    top.set(ylabel="degrees")
    top.legend(fontsize=8)
    bottom.plot(times, [torque(t, u) for t in times], color="C1")
    bottom.axhline(LIMIT, color="0.7", lw=0.8)
    bottom.axhline(-LIMIT, color="0.7", lw=0.8)
    bottom.set(xlabel="time (in sqrt(l / g))", ylabel="torque (in m g l)")
    figure.savefig(path, dpi=130)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
