"""Learn the dynamics behind a few irregular, noisy measurements: a latent ODE.

Each series has measurements of a damped oscillation in the plane at the same irregular times. A recurrent network reads them
backwards and returns the mean and the variance of the latent start z0. The latent state follows z' = network(z), and a
decoder returns the measured quantities at any time, so that the model also fills gaps and extrapolates. All parts are
trained together by Adam on the evidence lower bound, through the solver.

    python examples/latent_ode.py [--picture latent_ode.png]

Source: R. T. Q. Chen et al., Neural ordinary differential equations, NeurIPS (2018), section 5.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ml import Chain, Dense, adam, train
from morula.ode import odesolve

LATENT, HIDDEN, NOISE = 4, 24, 0.1
"""Components of the latent state, widths of the networks, and the standard deviation of a measurement."""
END = 6.0
"""The last time of a measurement."""


def times_of(count, seed=0):
    """Irregular times from 0 to END, with a gap in the middle."""
    drawn = np.random.default_rng(seed).uniform(0.0, 0.75 * END, count - 1)
    drawn = np.sort(np.where(drawn > 0.4 * END, drawn + 0.25 * END, drawn))
    return np.append(0.0, drawn)


def oscillations(count, times, seed=1, noise=NOISE):
    """Measurements (times, count, 2) of oscillations with amplitudes and phases of their own."""
    draw = np.random.default_rng(seed)
    amplitude, phase = draw.uniform(0.7, 1.6, count), draw.uniform(-np.pi, np.pi, count)
    angle = 1.8 * times[:, None] + phase
    radius = amplitude * np.exp(-0.12 * times)[:, None]
    exact = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return exact + noise * draw.normal(size=exact.shape)


def model(seed=0):
    draw = np.random.default_rng(seed)
    return {
        "reader": Dense(2 + 1 + HIDDEN, HIDDEN, np.tanh, rng=draw),
        "start": Dense(HIDDEN, 2 * LATENT, rng=draw),
        "flow": Chain(Dense(LATENT, HIDDEN, np.tanh, rng=draw), Dense(HIDDEN, LATENT, rng=draw)),
        "decoder": Dense(LATENT, 2, rng=draw),
    }


def velocity(t, z, flow):
    return flow(z)


def encoded(p, seen, times):
    """The mean and the logarithm of the variance of z0, (count, LATENT) each."""
    count = seen.shape[1]
    h = np.zeros((count, HIDDEN))
    steps = np.diff(times, prepend=0.0)
    for i in range(len(times) - 1, -1, -1):
        h = p["reader"](np.concatenate([seen[i], np.full((count, 1), steps[i]), h], axis=1))
    found = p["start"](h)
    return found[:, :LATENT], found[:, LATENT:]


def decoded(p, z0, times):
    """The measured quantities (times, count, 2) along the latent trajectories from z0."""
    z = odesolve(velocity, z0, times, p["flow"], rtol=1e-3, atol=1e-3).y
    return p["decoder"](z)


@mo.jit
def loss(p, seen, times, sample):
    """The negative evidence lower bound per series, with z0 drawn by standard normal numbers ``sample``."""
    mean, log_variance = encoded(p, seen, times)
    z0 = mean + np.exp(0.5 * log_variance) * sample
    misfit = np.sum((decoded(p, z0, times) - seen) ** 2) / (2 * NOISE**2)
    divergence = 0.5 * np.sum(mean**2 + np.exp(log_variance) - 1.0 - log_variance)
    return (misfit + divergence) / seen.shape[1]


def learned(steps, count=64, measurements=20):
    """The trained model, and the loss at each step."""
    times = times_of(measurements)
    seen = oscillations(count, times)
    draw = np.random.default_rng(2)
    batches = [(seen, times, draw.normal(size=(count, LATENT))) for _ in range(steps)]
    return train(loss, model(), batches, adam(0.01), progress=False)


def errors(p, measurements=20):
    """Root mean square errors for new series: at the measured times, in the gap, and after the last one."""
    times = times_of(measurements)
    seen = oscillations(100, times, seed=3)
    z0, _ = encoded(p, seen, times)
    found = []
    for one in (
        times,
        np.append(0.0, np.linspace(0.4 * END, 0.65 * END, 20)),
        np.append(0.0, np.linspace(END, 1.3 * END, 20)),
    ):
        off = decoded(p, z0, one) - oscillations(100, one, seed=3, noise=0.0)
        found.append(float(np.sqrt(np.mean(off[1:] ** 2))))
    return found


def main():
    parser = argparse.ArgumentParser(description="Learn the dynamics behind irregular measurements.")
    parser.add_argument("--picture", default="latent_ode.png", help="the file to write the picture to")
    parser.add_argument("--steps", type=int, default=800, help="steps of Adam")
    options = parser.parse_args()
    p, losses = learned(options.steps)
    measured, gap, after = errors(p)
    print(f"negative evidence lower bound {losses[0]:.0f} -> {losses[-1]:.1f} in {options.steps} steps")
    print(f"errors for new series (noise {NOISE}): measured {measured:.3f}, gap {gap:.3f}, extrapolated {after:.3f}")
    draw(options.picture, p, losses)


def draw(path, p, losses):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    times, dense = times_of(20), np.linspace(0.0, 1.3 * END, 120)
    seen, exact = oscillations(3, times, seed=3), oscillations(3, dense, seed=3, noise=0.0)
    mean, log_variance = encoded(p, seen, times)
    normal = np.random.default_rng(0).normal
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
    for i in range(3):
        for _ in range(15):
            z0 = mean[i : i + 1] + np.exp(0.5 * log_variance[i : i + 1]) * normal(size=(1, LATENT))
            axes[i].plot(dense, decoded(p, z0, dense)[:, 0, 0], color="C0", alpha=0.25, linewidth=0.8)
        axes[i].plot(dense, exact[:, i, 0], "k--", linewidth=0.9, label="exact")
        axes[i].plot(times, seen[:, i, 0], "k.", label="measured, first component")
        axes[i].axvspan(END, dense[-1], color="0.93", zorder=0)
        axes[i].set(title=f"new series {i + 1} (grey: extrapolated)", xlabel="time")
    axes[0].legend(fontsize=8)
    axes[3].plot(losses)
    axes[3].set(title="negative evidence lower bound", xlabel="step of Adam", yscale="log")
    figure.savefig(path, dpi=110)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
