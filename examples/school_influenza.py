"""Fit the epidemic model SIR to influenza in a boarding school, with bands of uncertainty from the Hessian.

763 boys; one came back ill after the holidays in January 1978.  With S, I, R the numbers of susceptible, ill and recovered
boys, S' = -beta S I / N, I' = beta S I / N - gamma I, R' = gamma I.  The rates are fitted to the numbers in bed on 14 days,
through the solver.  The inverse of the Hessian of the negative log-likelihood is the covariance of the rates, and its
product with the Jacobian of the solution gives the bands.

    python examples/school_influenza.py [--picture school_influenza.png]

Data: British Medical Journal, 4 March 1978, p. 587, as read off the plot for the R package outbreaks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode import odesolve
from morula.optim import minimize

BOYS = 763.0
DAYS = np.arange(1.0, 15.0)
IN_BED = np.array([3.0, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4])


def rate(t, y, beta, gamma):
    infected, recovered = beta * y[0] * y[1] / BOYS, gamma * y[1]
    return np.stack([-infected, infected - recovered])


def ill(logs, days):
    """The number of boys in bed on the given days, for logs = log [beta, gamma]; one is ill on day 0."""
    beta, gamma = np.exp(logs)
    start = np.array([BOYS - 1.0, 1.0])
    return odesolve(rate, start, [0.0, days[-1]], beta, gamma, saveat=days, rtol=1e-8, atol=1e-8).y[:, 1]


@mo.jit
def misfit(logs):
    return np.sum((ill(logs, DAYS) - IN_BED) ** 2)


def fit():
    """Return the logarithms of the rates, their covariance, and the standard deviation of the data."""
    found = minimize(misfit, np.log([1.5, 0.5]), tol=1e-6).x
    variance = misfit(found) / (len(DAYS) - 2)
    hessian = mo.jit(mo.hessian(misfit))(found) / (2 * variance)
    return found, np.linalg.inv(hessian), np.sqrt(variance)


def bands(logs, covariance, days):
    """Return the curve, and the standard deviation that the uncertainty of the rates gives it."""
    jacobian = mo.jit(mo.jacobian(ill))(logs, days)
    return ill(logs, days), np.sqrt(np.einsum("ij,jk,ik->i", jacobian, covariance, jacobian))


def main():
    parser = argparse.ArgumentParser(description="Fit an epidemic model to the influenza of 1978 in a boarding school.")
    parser.add_argument("--picture", default="school_influenza.png", help="the file to write the picture to")
    options = parser.parse_args()
    logs, covariance, noise = fit()
    rates, spread = np.exp(logs), np.exp(logs) * np.sqrt(np.diagonal(covariance))
    print(f"beta  = {rates[0]:.3f} +- {spread[0]:.3f} per day (published fits: 1.66 to 1.8)")
    print(f"gamma = {rates[1]:.3f} +- {spread[1]:.3f} per day (published fits: 0.44 to 0.46)")
    print(f"each ill boy infects {rates[0] / rates[1]:.2f} others at first; residuals of {noise:.0f} boys")
    draw(options.picture, logs, covariance, noise)


def draw(path, logs, covariance, noise):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    days = np.linspace(0.1, 15.0, 120)
    curve, spread = bands(logs, covariance, days)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    around = 1.96 * np.hypot(spread, noise)
    axes.fill_between(days, curve - around, curve + around, color="0.88", label="95% of observations")
    axes.fill_between(days, curve - 1.96 * spread, curve + 1.96 * spread, color="C0", alpha=0.4, label="95% of curves")
    axes.plot(days, curve, label="SIR, fitted")
    axes.plot(DAYS, IN_BED, "ko", ms=4, label="in bed")
    axes.set(xlabel="day", ylabel="boys", title="Influenza in a boarding school, 1978")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
