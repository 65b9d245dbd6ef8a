"""The delay of a feedback loop, learned from noisy data: the Mackey-Glass equation of the production of white blood cells.

The rate at which the marrow releases cells depends on their density some days before.  The delay, the rate of production and
that of decay are fitted to one sample of the density a day.  The gradient with respect to the delay goes through the solver,
whose steps move with the delay.

M. C. Mackey, L. Glass, Oscillation and chaos in physiological control systems, Science 197 (1977) 287.

    python examples/mackey_glass_delay.py [--picture mackey_glass_delay.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode.delay import ddesolve
from morula.optim import minimize

TRUE = np.array([17.0, 0.2, 0.1])
"""Delay (days), production and decay (1 / day)."""
GUESS = np.array([14.0, 0.25, 0.12])
POWER, START, NOISE = 10.0, 1.2, 0.01
"""The steepness of the feedback, the density before the first day, and the standard deviation of the samples."""
DAYS = np.arange(0.0, 61.0)


def release(t, density, earlier, production, decay):
    return production * earlier / (1.0 + earlier**POWER) - decay * density


def densities(parameters, times):
    """The density (m,) at the given times."""
    delay, production, decay = parameters
    return ddesolve(release, START, times, production, decay, lags=delay, rtol=1e-6, atol=1e-8, max_steps=400).y


def observed():
    return densities(TRUE, DAYS) + NOISE * np.random.default_rng(6).normal(size=len(DAYS))


@mo.jit
def misfit(logs, seen):
    return np.mean((densities(np.exp(logs), DAYS) - seen) ** 2) / NOISE**2


def fit(seen):
    """Return delay, production and decay."""
    return np.exp(minimize(misfit, np.log(GUESS), seen, tol=1e-6).x)


def main():
    parser = argparse.ArgumentParser(description="Learn the delay of the Mackey-Glass equation from noisy data.")
    parser.add_argument("--picture", default="mackey_glass_delay.png", help="the file to write the picture to")
    options = parser.parse_args()
    seen = observed()
    found = fit(seen)
    for name, value, true in zip(("delay", "production", "decay"), found, TRUE):
        print(f"{name}: {value:.4f} (true {true})")
    draw(options.picture, seen, found)


def draw(path, seen, found):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    times = np.linspace(0.0, 150.0, 601)
    _, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.plot(DAYS, seen, ".", label="samples")
    axes.plot(times, densities(GUESS, times), ":", color="grey", label=f"first guess, delay {GUESS[0]:.0f} days")
    axes.plot(times, densities(found, times), label=f"fitted, delay {found[0]:.2f} days")
    axes.plot(times, densities(TRUE, times), "--", lw=1, label=f"true, delay {TRUE[0]:.0f} days")
    axes.set(xlabel="time / days", ylabel="density of cells")
    axes.legend(loc="upper right")
    plt.savefig(path, dpi=120)
    plt.close()
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
