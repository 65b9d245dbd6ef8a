"""Find the missing term of a model: a universal differential equation, and a formula for what its network has learned.

Of two species, the growth of the prey and the death of the predators are known; how they act on each other is not. A small
network stands in for it, and is trained on 31 noisy measurements through the solver. Regression then writes what it has learned as
a sum of few monomials; how many it takes, and their coefficients, follow from a fit of the formula to the measurements. The formula,
unlike the network, goes on far beyond them.

    python examples/missing_interaction.py [--picture missing_interaction.png]

Sources: C. Rackauckas et al., Universal differential equations for scientific machine learning, arXiv:2001.04385 (2020); S. L. Brunton,
J. L. Proctor, J. N. Kutz, Discovering governing equations from data by sparse identification, PNAS 113 (2016) 3932.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np

import morula as mo
from morula.ml import Chain, Dense, adam, train
from morula.ode import odesolve
from morula.optim import least_squares, minimize

GROWTH, DEATH = 1.3, 1.8
"""What is known."""
TRUE = np.array([-0.9, 0.8])
"""What is not: the coefficients of x y in both equations."""
START = np.array([0.44249296, 4.6280594])
TIMES = np.linspace(0.0, 3.0, 31)
NOISE = 0.01
"""The standard deviation of a measurement in units of the mean of its species."""

MONOMIALS = ("x", "y", "x^2", "x y", "y^2")


def monomials(y):
    return np.stack([y[0], y[1], y[0] ** 2, y[0] * y[1], y[1] ** 2])


def known(y):
    return np.stack([GROWTH * y[0], -DEATH * y[1]])


def true_model(t, y):
    return known(y) + TRUE * y[0] * y[1]


def hybrid(t, y, network):
    return known(y) + network(y)


def sparse_model(t, y, coefficients):
    """``coefficients`` (2, 5) of the monomials in both equations."""
    return known(y) + np.dot(coefficients, monomials(y))


def observed():
    exact = odesolve(true_model, START, TIMES, rtol=1e-9, atol=1e-9).y
    return exact + NOISE * exact.mean(axis=0) * np.random.default_rng(1).normal(size=exact.shape)


def network():
    draw = np.random.default_rng(3)
    return Chain(Dense(2, 8, np.tanh, rng=draw), Dense(8, 8, np.tanh, rng=draw), Dense(8, 2, rng=draw))


@mo.jit
def loss(model, seen):
    found = odesolve(hybrid, START, TIMES, model, rtol=1e-5, atol=1e-6, throw=False).y
    return np.mean((found - seen) ** 2)


def trained(seen, steps=400, iterations=300):
    """The network after ``steps`` of Adam and ``iterations`` of BFGS."""
    model, _ = train(loss, network(), [(seen,)] * steps, adam(0.02), progress=False)
    return minimize(loss, model, seen, method="bfgs", tol=1e-6, max_iterations=iterations).x


def selected(states, learned, count):
    """Coefficients (2, 5) of the ``count`` monomials that together come nearest to what was learned, for each equation."""
    library = np.stack([monomials(y) for y in states])
    coefficients = np.zeros((2, len(MONOMIALS)))
    for i in range(2):
        least = np.inf
        for chosen in combinations(range(len(MONOMIALS)), count):
            found = np.linalg.lstsq(library[:, chosen], learned[:, i], rcond=None)[0]
            error = np.sum((library[:, chosen] @ found - learned[:, i]) ** 2)
            if error < least:
                least, coefficients[i] = error, 0.0
                coefficients[i, list(chosen)] = found
    return coefficients


def refined(coefficients, seen):
    """The coefficients of the selected terms that fit the measurements best, and the criterion of Bayes (Schwarz, 1978)."""
    places = np.nonzero(coefficients)

    def misfits(values, seen):
        table = np.zeros(coefficients.shape)
        table[places] = values
        found = odesolve(sparse_model, START, TIMES, table, rtol=1e-7, atol=1e-8, throw=False).y
        return ((found - seen) / (NOISE * seen.mean(axis=0))).reshape(-1)

    fit = least_squares(misfits, coefficients[places], seen)
    found = np.zeros(coefficients.shape)
    found[places] = fit.x
    return found, np.sum(misfits(fit.x, seen) ** 2) + np.log(seen.size) * len(fit.x)


def written(row):
    return " + ".join(f"{value:.3f} {name}" for value, name in zip(row, MONOMIALS) if value) or "0"


def formula(states, learned, seen):
    """Of the formulas with one to three monomials for each equation, the one with the least criterion."""
    candidates = [refined(selected(states, learned, count), seen) for count in (1, 2, 3)]
    return min(candidates, key=lambda candidate: candidate[1])[0]


def recovered(seen):
    """The trained network, and the formula for what it has learned."""
    model = trained(seen)
    states = odesolve(hybrid, START, np.linspace(0.0, 3.0, 101), model, rtol=1e-6, atol=1e-6).y
    return model, formula(states, np.stack([model(y) for y in states]), seen)


def main():
    parser = argparse.ArgumentParser(description="Find the missing interaction of two species as a formula.")
    parser.add_argument("--picture", default="missing_interaction.png", help="the file to write the picture to")
    options = parser.parse_args()
    seen = observed()
    model, coefficients = recovered(seen)
    print(f"root mean square of the misfit of the network: {np.sqrt(loss(model, seen)):.3f}")
    print(f"found: x' = {GROWTH} x + {written(coefficients[0])},  y' = -{DEATH} y + {written(coefficients[1])}")
    print(f"true:  x' = {GROWTH} x + {TRUE[0]} x y,  y' = -{DEATH} y + {TRUE[1]} x y")
    print(f"largest error up to t = 20: {extrapolation_error(coefficients):.2f} of the largest population")
    draw(options.picture, seen, model, coefficients)


LATER = np.linspace(0.0, 20.0, 401)


def extrapolation_error(coefficients):
    exact = odesolve(true_model, START, LATER, rtol=1e-9, atol=1e-9).y
    found = odesolve(sparse_model, START, LATER, coefficients, rtol=1e-9, atol=1e-9).y
    return float(np.max(np.abs(found - exact)) / np.max(exact))


def draw(path, seen, model, coefficients):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    exact = odesolve(true_model, START, LATER, rtol=1e-9, atol=1e-9).y
    found = odesolve(sparse_model, START, LATER, coefficients, rtol=1e-9, atol=1e-9).y
    late = odesolve(hybrid, START, LATER, model, rtol=1e-6, atol=1e-6, throw=False).y
    _, axes = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for i, (ax, name) in enumerate(zip(axes, ("prey", "predators"))):
        ax.axvspan(0.0, TIMES[-1], color="0.93", label="measured span")
        ax.plot(LATER, exact[:, i], color="0.4", lw=3, label="true")
        ax.plot(LATER, late[:, i], ":", color="C1", label="network")
        ax.plot(LATER, found[:, i], color="C0", lw=1, label="formula")
        ax.plot(TIMES, seen[:, i], "k.", ms=4, label="measurements")
        ax.set(ylabel=name, ylim=(0, 1.3 * exact[:, i].max()))
    axes[0].legend(ncols=5, fontsize=8, loc="upper right")
    axes[1].set(xlabel="time")
    plt.savefig(path, dpi=120)
    plt.close()
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
