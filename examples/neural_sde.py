"""A neural stochastic differential equation: drift and noise of a particle in a double well, learned from paths.

A particle moves by x' = x - x^3 with noise whose strength grows with the distance from the origin. Small networks for drift and diffusion are trained on
800 observed transitions: of several paths that the model solves from each observed state, mean and variance at the next
observation give the likelihood. The gradient goes through the solver of stochastic equations, along the same Brownian paths. Drift, diffusion and the
density after a long time, which no loss has seen, are compared with the truth.

Estimation by simulated moments of transitions: D. Duffie, K. Singleton, Econometrica 61 (1993) 929; neural equations: B. Tzen, M. Raginsky,
arXiv:1905.09883 (2019); X. Li et al., Scalable gradients for stochastic differential equations, AISTATS (2020).

    python examples/neural_sde.py [--picture neural_sde.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ml import Chain, Dense
from morula.ode.stochastic import sdesolve
from morula.optim import minimize

INTERVAL, STEPS = 0.5, 6
"""The time between two observations, and the number of steps that the model takes in it."""
SAMPLES = 16
"""The number of Brownian paths from each observed state."""


def true_drift(t, x):
    return x - x**3


def true_diffusion(t, x):
    return 0.2 + 0.2 * x**2 / (1.0 + x**2)


def observed(count=800, seed=0):
    """Return pairs of states (count, 2), ``INTERVAL`` apart, of true paths from places all over the wells."""
    starts = np.random.default_rng(seed).uniform(-1.6, 1.6, count)

    def next_state(x, path):
        return sdesolve(true_drift, true_diffusion, x, [0.0, INTERVAL], path=path, method="milstein", steps=100).y[-1]

    ends = mo.jit(mo.vmap(next_state))(starts, 10_000 + np.arange(count))
    return np.stack([starts, ends], axis=1)


class Model:
    """Drift and diffusion by networks of one hidden layer."""

    def __init__(self, rng):
        self.drift_network, self.diffusion_network = [
            Chain(Dense(1, 6, np.tanh, rng=rng), Dense(6, 1, rng=rng)) for _ in range(2)
        ]

    def drift(self, x):
        return self.drift_network(x[:, None])[:, 0]

    def diffusion(self, x):
        return np.logaddexp(0.0, self.diffusion_network(x[:, None])[:, 0])


def drift(t, x, model):
    return model.drift(x)


def diffusion(t, x, model):
    return model.diffusion(x)


def solved(model, starts, times, seed, steps):
    """Return the states (m, n) of paths from ``starts`` (n,), each with a Brownian motion of its own."""
    return sdesolve(drift, diffusion, starts, times, model, path=seed, method="euler_maruyama", steps=steps).y


def loss(model, pairs, seed):
    """Return the negative log-likelihood of the second states, normal with the moments of the model's paths.

    Mean and variance are estimates from ``SAMPLES`` paths; with the factors below, the loss is least at the true moments nevertheless: the mean of
    (n - 3) / ((n - 1) s^2) over samples of a normal distribution is 1 / sigma^2.
    """
    starts = np.repeat(pairs[:, 0], SAMPLES)
    ends = solved(model, starts, [0.0, INTERVAL], seed, STEPS)[-1].reshape(-1, SAMPLES)
    mean = np.mean(ends, axis=1)
    variance = np.sum((ends - mean[:, None]) ** 2, axis=1) / (SAMPLES - 1)
    off = (pairs[:, 1] - mean) ** 2 / (1.0 + 1.0 / SAMPLES)
    return np.mean(np.log(variance) + (SAMPLES - 3) / (SAMPLES - 1) * off / variance)


def learned(pairs, iterations=120):
    """Return the model with the least loss; all iterations see the same Brownian paths, so that it is a smooth function."""
    return minimize(
        mo.jit(loss), Model(np.random.default_rng(1)), pairs, 0, method="bfgs", tol=1e-5, max_iterations=iterations
    )


PLACES = np.linspace(-1.4, 1.4, 57)


def errors(model):
    """Return the root mean square errors of drift and diffusion, relative to the truth's root mean square."""
    pairs = (model.drift(PLACES), true_drift(0.0, PLACES)), (model.diffusion(PLACES), true_diffusion(0.0, PLACES))
    return [float(np.linalg.norm(found - true) / np.linalg.norm(true)) for found, true in pairs]


def density(x):
    """Return the stationary density of the truth: proportional to exp(2 int drift / diffusion^2) / diffusion^2."""
    grid = np.linspace(-3.0, 3.0, 2001)
    slope = 2.0 * true_drift(0.0, grid) / true_diffusion(0.0, grid) ** 2
    exponent = np.concatenate([[0.0], np.cumsum((slope[1:] + slope[:-1]) / 2.0 * np.diff(grid))])
    p = np.exp(exponent - np.max(exponent)) / true_diffusion(0.0, grid) ** 2
    return np.interp(x, grid, p / np.sum(p * (grid[1] - grid[0])))


def after_long(model, count=4000):
    """Return states of the model at t = 20, from starts in both wells."""
    return solved(model, np.where(np.arange(count) % 2, 1.0, -1.0), [0.0, 20.0], 7, 400)[-1]


def main():
    parser = argparse.ArgumentParser(description="Learn the drift and the noise of a double well from its paths.")
    parser.add_argument("--picture", default="neural_sde.png", help="the file to write the picture to")
    options = parser.parse_args()
    pairs = observed()
    found = learned(pairs)
    model = found.x
    in_drift, in_diffusion = errors(model)
    print(f"loss {loss(Model(np.random.default_rng(1)), pairs, 0):.3f} -> {found.value:.3f}")
    print(f"relative error of the drift {100 * in_drift:.1f} %, of the diffusion {100 * in_diffusion:.1f} %")
    draw(options.picture, pairs, model)


def draw(path, pairs, model):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    _, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    x = np.linspace(-1.9, 1.9, 201)
    for ax, found, true, name in (
        (axes[0, 0], model.drift(x), true_drift(0.0, x), "drift"),
        (axes[0, 1], model.diffusion(x), true_diffusion(0.0, x), "diffusion"),
    ):
        ax.plot(x, true, color="0.5", lw=3, label="true")
        ax.plot(x, found, label="learned")
        ax.set(xlabel="x", ylabel=name)
        ax.legend()
    axes[0, 1].set_ylim(0.0, None)
    axes[1, 0].plot(pairs[:, 0], pairs[:, 1] - pairs[:, 0], "k.", ms=2)
    axes[1, 0].set(xlabel="x", ylabel=f"observed change in {INTERVAL:g}")
    axes[1, 1].hist(after_long(model), 60, density=True, alpha=0.5, label="learned model, t = 20")
    axes[1, 1].plot(x, density(x), "k", label="true stationary density")
    axes[1, 1].set(xlabel="x", ylabel="density")
    axes[1, 1].legend(fontsize=8, loc="upper center")
    plt.savefig(path, dpi=120)
    plt.close()
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
