"""The best angle for a throw with air resistance, for many speeds at once.

A ball is thrown from the ground with some speed and angle.  The drag is that of a sphere (quadratic in the speed).  Each throw ends when the
ball is back on the ground, after another number of time steps: ``vmap`` computes a whole map of speeds and angles from the function of one throw.
The slope of the range in the angle is the derivative of the same program, including the moment of landing; bisection on the sign of this
slope, for all speeds at once, finds the best angle.  Without drag it is 45 degrees; the faster the throw, the flatter the best one with drag.

    python examples/throws_against_the_wind.py [--picture throws_against_the_wind.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo

GRAVITY = 9.81  # m/s^2
DRAG = 0.0053  # 1/m: of a baseball, 0.5 * density * drag coefficient * area / mass
STEP = 0.01  # s


def distance(speed, angle, drag=DRAG):
    """How far a throw goes; midpoint steps, and the last one ends on the ground."""
    x, y, vx, vy = 0.0, 0.0, speed * np.cos(angle), speed * np.sin(angle)
    while True:
        v = np.sqrt(vx * vx + vy * vy)
        mx, my = vx - 0.5 * STEP * drag * v * vx, vy - 0.5 * STEP * (GRAVITY + drag * v * vy)
        m = np.sqrt(mx * mx + my * my)
        below = y + STEP * my
        if below < 0.0:
            return x - y * mx / my
        x, y = x + STEP * mx, below
        vx, vy = vx - STEP * drag * m * mx, vy - STEP * (GRAVITY + drag * m * my)


slope = mo.vmap(mo.grad(distance, 1), in_axes=(0, 0, None))


def best_angles(speeds, drag=DRAG):
    """The angle of the longest throw for each speed, by bisection."""
    low, high = np.full(len(speeds), 0.1), np.full(len(speeds), 1.4)
    for _ in range(40):
        middle = 0.5 * (low + high)
        rises = slope(speeds, middle, drag) > 0.0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return 0.5 * (low + high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="where to save a picture")
    options = parser.parse_args()
    speeds, angles = np.linspace(5.0, 60.0, 111), np.linspace(0.1, 1.4, 131)
    ranges = mo.vmap(mo.vmap(distance, in_axes=(None, 0)), in_axes=(0, None))(speeds, angles)
    best = np.rad2deg(best_angles(speeds))
    print("speed (m/s)   best angle (degrees)   range (m)")
    for i in range(10, len(speeds), 20):
        print(f"{speeds[i]:11.1f}   {best[i]:20.2f}   {ranges[i].max():9.2f}")
    if options.picture:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
        shown = axes.contourf(speeds, np.rad2deg(angles), ranges.T, levels=16, cmap="viridis")
        axes.plot(speeds, best, color="white", linewidth=2, label="longest throw")
        axes.axhline(45.0, color="white", linestyle=":", label="without air")
        axes.set(xlabel="speed (m/s)", ylabel="angle (degrees)", title="Range of a thrown baseball")
        axes.legend(labelcolor="white", facecolor="0.3")
        figure.colorbar(shown, label="range (m)")
        figure.savefig(options.picture, dpi=120)


if __name__ == "__main__":
    main()
