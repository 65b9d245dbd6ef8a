"""Recover the three rate constants of Robertson's reaction, which lie nine decades apart, from concentrations.

A -> B (slow), B + B -> B + C (very fast), B + C -> A + C (fast).  The equations are stiff: the solution lasts to 10^4
seconds, and B lives for microseconds.  The gradient goes through a Rosenbrock method.

    python examples/robertson_rates.py [--picture robertson_rates.png]

Model: H. H. Robertson, The solution of a set of reaction rate equations, in Numerical Analysis: An Introduction (1966).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode import odesolve
from morula.optim import minimize

TRUE = np.array([0.04, 3e7, 1e4])
TIMES = np.geomspace(1e-2, 1e4, 25)
SCALE = np.array([1.0, 2e4, 1.0])
"""B is measured in units of 5e-5."""


def rate(t, y, k):
    slow, fast, back = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return np.stack([back - slow, slow - back - fast, fast])


def concentrations(logs, times):
    """The scaled concentrations (m, 3), for the logarithms of the rates."""
    ts = np.concatenate([np.zeros(1), times])
    solution = odesolve(
        rate, np.array([1.0, 0.0, 0.0]), ts, np.exp(logs), method="rodas5p", rtol=1e-7, atol=[1e-9, 1e-13, 1e-9]
    )
    return solution.y[1:] * SCALE


def observed():
    """Concentrations with an error of 1 per cent."""
    noise = np.random.default_rng(7).normal(0.0, 0.01, (len(TIMES), 3))
    return concentrations(np.log(TRUE), TIMES) * (1.0 + noise)


def fit(seen):
    """Return the rates that fit best, from a start that is wrong by factors of 3."""
    loss = mo.jit(lambda logs: np.mean((concentrations(logs, TIMES) - seen) ** 2), target="native")
    return np.exp(minimize(loss, np.log(TRUE * [3.0, 1 / 3, 3.0]), tol=1e-7).x)


def main():
    parser = argparse.ArgumentParser(description="Recover the rates of Robertson's stiff reaction.")
    parser.add_argument("--picture", default="robertson_rates.png", help="the file to write the picture to")
    options = parser.parse_args()
    seen = observed()
    found = fit(seen)
    for name, value, true in zip(("k1", "k2", "k3"), found, TRUE):
        print(f"{name} = {value:.4g} (true: {true:g}, {100 * (value / true - 1):+.2f} %)")
    draw(options.picture, seen, found)


def draw(path, seen, found):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    times = np.geomspace(TIMES[0], TIMES[-1], 200)
    curves = concentrations(np.log(found), times)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for i, name in enumerate(("A", "B x 20000", "C")):
        axes.semilogx(TIMES, seen[:, i], "o", ms=4, color=f"C{i}")
        axes.semilogx(times, curves[:, i], color=f"C{i}", label=name)
    axes.set(xlabel="time (s)", ylabel="concentration", title="Robertson's reaction, rates recovered")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
