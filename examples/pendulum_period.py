"""Measure the Earth's gravity with a pendulum whose swings are too large for the small-angle formula.

Two experiments on one pendulum of 0.800 m, both simulated with noise:
 1. Periods are timed at amplitudes from 10 to 140 degrees.  2 pi sqrt(l/g) is wrong by up to 60% there; the exact period
    comes from an arithmetic-geometric mean, a loop that is differentiated from its source.  Least squares find g and the
    zero error of the protractor.
 2. The angle is filmed for six seconds.  The gradient through the adaptive ODE solver finds length and damping.

    python examples/pendulum_period.py [--picture pendulum_period.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from morula.ode import odesolve
from morula.optim import least_squares, minimize
from morula.physics import pendulum_ode, pendulum_period, small_swing_period

LENGTH, GRAVITY, OFFSET, DAMPING = 0.800, 9.8127, np.deg2rad(1.5), 0.11
AMPLITUDES = np.deg2rad(np.arange(10.0, 141.0, 10.0))
FRAMES = np.linspace(0.0, 6.0, 49)


def periods(parameters):
    """Periods in seconds, for parameters = [g, the angle in rad by which the protractor reads too low]."""
    return pendulum_period(AMPLITUDES + parameters[1], LENGTH, parameters[0])


def film(parameters):
    """The angle at every frame, for parameters = [length, damping, first angle]."""
    start = np.stack([parameters[2], 0.0 * parameters[2]])
    return odesolve(pendulum_ode, start, FRAMES, parameters[0], GRAVITY, parameters[1], rtol=1e-6, atol=1e-7).y[:, 0]


def main():
    parser = argparse.ArgumentParser(description="Fit gravity, length and damping of a pendulum.")
    parser.add_argument("--picture", default="pendulum_period.png", help="the file to write the picture to")
    options = parser.parse_args()
    rng = np.random.default_rng(1656)

    timed = periods(np.array([GRAVITY, OFFSET])) + rng.normal(0, 2e-3, len(AMPLITUDES))
    fit = least_squares(lambda parameters: periods(parameters) - timed, np.array([9.0, 0.0]))
    (g, offset), (g_spread, offset_spread) = fit.x, fit.standard_deviations
    print(f"periods, 2 ms of noise, {fit.iterations} steps of Levenberg-Marquardt:")
    print(f"  g = {g:.4f} +- {g_spread:.4f} m/s^2 (true: {GRAVITY})")
    print(
        f"  the protractor is off by {np.rad2deg(offset):.2f} +- {np.rad2deg(offset_spread):.2f} degrees (true: 1.50)"
    )
    print(f"  the formula for small swings would say g = {LENGTH * np.mean(2 * np.pi / timed) ** 2:.2f} m/s^2")

    seen = film(np.array([LENGTH, DAMPING, 2.2])) + rng.normal(0, 0.02, len(FRAMES))
    print("\nfilm of six seconds, 0.02 rad of noise, BFGS:")
    print("  step   rms residual     length    damping      angle")

    def report(result):
        length, damping, angle = result.x
        print(f"  {result.iterations:4d}   {np.sqrt(result.value):12.3e} {length:10.6f} {damping:10.6f} {angle:10.6f}")

    traced = minimize(
        lambda p: np.mean((film(p) - seen) ** 2), np.array([0.78, 0.05, 2.1]), tol=1e-5, callback=report
    ).x
    print(f"  length = {traced[0]:.4f} m (true: {LENGTH}), damping = {traced[1]:.4f} 1/s (true: {DAMPING})")
    draw(options.picture, timed, fit.x, seen, traced)


def draw(path, timed, fitted, seen, traced):
    """Draw data and fit of both experiments."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    degrees = np.rad2deg(AMPLITUDES)
    left.plot(degrees, timed, "o", ms=4, label="timed")
    left.plot(degrees, periods(fitted), label=f"exact period, g = {fitted[0]:.3f} m/s²")
    left.axhline(small_swing_period(LENGTH, GRAVITY), color="0.6", ls="--", label="small swings")
    left.set(xlabel="amplitude read (degrees)", ylabel="period (s)")
    right.plot(FRAMES, seen, "o", ms=3, label="filmed")
    right.plot(FRAMES, film(traced), label=f"odesolve, l = {traced[0]:.4f} m")
    right.set(xlabel="time (s)", ylabel="angle (rad)")
    for axes in (left, right):
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
