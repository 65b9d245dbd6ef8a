"""How a portfolio follows from the expected returns: the derivatives of a quadratic program with constraints.

Eight assets, whose returns depend on three factors, are held so that the expected return less the risk is largest (H. Markowitz, J. Finance 7 (1952) 77). All
money is invested, nothing is sold short, no asset takes more than 30 % and no sector more than 45 %. The
derivative of the weights by the expected returns shows what an error in an estimate does; at a limit it is exactly zero. Reversed, the
risk aversion of an investor is found from the weights that they hold: a dozen noisy portfolios, by gradients through the program.

Implicit derivatives of a quadratic program: B. Amos, J. Z. Kolter, OptNet, ICML (2017), section 3.

    python examples/portfolio.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

import morula as mo
from morula.optim import minimize, quadratic_program

ASSETS = ("bank", "insurer", "chips", "software", "power", "oil", "food", "drugs")
SECTORS = np.array(
    [[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1.0]]
)
MOST, MOST_IN_SECTOR = 0.3, 0.45
RETURNS = np.array([0.075, 0.07, 0.12, 0.115, 0.055, 0.08, 0.045, 0.06])
"""The expected returns of a year."""
LOADINGS = np.array([
    [0.16, 0.14, 0.24, 0.22, 0.08, 0.15, 0.07, 0.10],
    [0.08, 0.07, -0.06, -0.05, 0.03, 0.06, -0.02, -0.03],
    [0.00, -0.02, -0.04, -0.05, 0.06, 0.16, 0.02, 0.00],
])  # fmt: skip
COVARIANCE = LOADINGS.T @ LOADINGS + np.diag(np.array([0.10, 0.11, 0.16, 0.14, 0.09, 0.14, 0.08, 0.12]) ** 2)
TRUE_AVERSION = 4.0
AVERSIONS = np.geomspace(0.5, 60.0, 60)


def portfolio(aversion, returns):
    """Return the weights (8,) with the largest expected return less half of ``aversion`` times the variance."""
    A = np.concatenate([np.ones((1, len(returns))), SECTORS])
    lower, upper = np.array([1.0] + [-np.inf] * 4), np.array([1.0] + [MOST_IN_SECTOR] * 4)
    return quadratic_program(aversion * COVARIANCE, -returns, A, lower, upper, bounds=(0.0, MOST)).x


def sensitivity(aversion):
    """Return the derivatives (8, 8) of the weights by the expected returns."""
    return mo.jacobian(lambda returns: portfolio(aversion, returns))(RETURNS)


def held(count=12, noise=0.01):
    """Return portfolios that an investor held, with varying expectations, each known with an error."""
    rng = np.random.default_rng(2)
    expected = RETURNS + 0.02 * rng.normal(size=(count, len(RETURNS)))
    weights = np.stack([portfolio(TRUE_AVERSION, returns) for returns in expected])
    return expected, weights + noise * rng.normal(size=weights.shape)


def misfit(log_aversion, expected, seen):
    weights = np.stack([portfolio(np.exp(log_aversion), returns) for returns in expected])
    return np.mean((weights - seen) ** 2)


def found_aversion(expected, seen):
    return np.exp(minimize(misfit, np.log(1.0), expected, seen, tol=1e-7).x)


def main(picture: str | None = None) -> None:
    weights, slopes = portfolio(TRUE_AVERSION, RETURNS), sensitivity(TRUE_AVERSION)
    print("weight, and change of the weight if the asset's own expected return rises by 0.01:")
    for name, weight, slope in zip(ASSETS, weights, np.diag(slopes)):
        print(f"  {name:9}{weight:7.3f}{0.01 * slope:8.3f}")
    print(f"risk aversion found from 12 portfolios: {found_aversion(*held()):.3f} (true {TRUE_AVERSION})")
    if picture is not None:
        import matplotlib.pyplot as plt

        path = np.stack([portfolio(a, RETURNS) for a in AVERSIONS])
        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
        left.stackplot(AVERSIONS, np.maximum(path, 0.0).T, labels=ASSETS, alpha=0.8)
        left.axvline(TRUE_AVERSION, color="black", linestyle="--", linewidth=1)
        left.set(xscale="log", xlabel="risk aversion", ylabel="weights", ylim=(0, 1), xlim=AVERSIONS[[0, -1]])
        handles, names = left.get_legend_handles_labels()
        left.legend(handles[::-1], names[::-1], fontsize=8, loc="center right")
        largest = 0.01 * np.max(np.abs(slopes))
        image = right.imshow(0.01 * slopes, cmap="coolwarm", vmin=-largest, vmax=largest)
        right.set_xticks(range(8), ASSETS, rotation=45)
        right.set_yticks(range(8), ASSETS)
        right.set(xlabel="expected return, up by 0.01", ylabel="weight")
        figure.colorbar(image, label=f"change of the weight at risk aversion {TRUE_AVERSION:g}")
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
