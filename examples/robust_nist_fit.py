"""Fit a curve to data with outliers: NIST's Thurber data with five false values, with bands of confidence.

The data are the mobility of electrons in silicon against the logarithm of their density, modelled by a quotient of cubic
polynomials. Five of the 37 values are falsified. The plain fit follows them. A robust fit, whose loss
is constant for large residuals (J. W. Tukey's biweight), stays within two standard deviations of the certified parameters, which belong to the true data. The
derivative of a fitted value by each observation, through the fit, shows why: false values have no influence.

Data and certified values: NIST Statistical Reference Datasets, https://www.itl.nist.gov/div898/strd/nls/data/thurber.shtml.
Loss and scale: P. J. Huber, E. M. Ronchetti, Robust Statistics, 2nd ed. (2009), sections 4.8 and 7.

    python examples/robust_nist_fit.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.stats

import morula as mo
from morula.optim import least_squares, parameter_covariance

X = np.array([
    -3.067, -2.981, -2.921, -2.912, -2.84, -2.797, -2.702, -2.699, -2.633, -2.481, -2.363, -2.322, -1.501, -1.46,
    -1.274, -1.212, -1.1, -1.046, -0.915, -0.714, -0.566, -0.545, -0.4, -0.309, -0.109, -0.103, 0.01, 0.119, 0.377,
    0.79, 0.963, 1.006, 1.115, 1.572, 1.841, 2.047, 2.2,
])  # fmt: skip
Y = np.array([
    80.574, 84.248, 87.264, 87.195, 89.076, 89.608, 89.868, 90.101, 92.405, 95.854, 100.696, 101.06, 401.672, 390.724,
    567.534, 635.316, 733.054, 759.087, 894.206, 990.785, 1090.109, 1080.914, 1122.643, 1178.351, 1260.531, 1273.514,
    1288.339, 1327.543, 1353.863, 1414.509, 1425.208, 1421.384, 1442.962, 1464.35, 1468.705, 1447.894, 1457.628,
])  # fmt: skip
START = np.array([1300.0, 1500.0, 500.0, 75.0, 1.0, 0.4, 0.05])
CERTIFIED = np.array([
    1288.13968, 1491.0792535, 583.23836877, 75.416644291, 0.96629502864, 0.39797285797, 0.049727297349,
])  # fmt: skip
DEVIATIONS = np.array([
    4.6647963344, 39.571156086, 28.698696102, 5.567537027, 0.031333340687, 0.014984928198, 0.0065842344623,
])  # fmt: skip
"""The certified standard deviations of the parameters."""
MISTAKES = {4: 250.0, 10: 300.0, 16: -350.0, 24: 300.0, 33: -400.0}
"""What is added to some of the values, by their places."""
BIWEIGHT = 4.685
"""The biweight's scale in standard deviations, at which it needs 5 % more data than least squares if all are normal."""


def mobility(b, x):
    return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6])))


def misfits(b, y):
    return mobility(b, X) - y


def falsified():
    y = Y.copy()
    for place, change in MISTAKES.items():
        y[place] += change
    return y


def spread_of(residuals):
    """Return the standard deviation of the normal distribution that has the median size of the residuals."""
    return np.median(np.abs(residuals)) / scipy.stats.norm.ppf(0.75)


def plain(y):
    return least_squares(misfits, START, y).x


def robust(y):
    """Return the parameters and the scale: the biweight begins where a convex loss has ended."""
    first = least_squares(misfits, START, y, loss="soft_l1", scale=10.0).x
    scale = BIWEIGHT * spread_of(misfits(first, y))
    return least_squares(misfits, first, y, loss="tukey", scale=scale).x, scale


def band(b, y, scale, x):
    """Return the half width of the 95 % band of the curve at x."""
    kept = np.abs(misfits(b, y)) < scale
    covariance = parameter_covariance(lambda b: misfits(b, y)[kept], b)
    slopes = mo.jacobian(mobility)(b, x)
    quantile = scipy.stats.t.ppf(0.975, np.sum(kept) - len(b))
    return quantile * np.sqrt(np.sum((slopes @ covariance) * slopes, axis=1))


def influence(y, b, at, **loss):
    """Return the derivative of the fitted value at ``at`` by each observation; the search starts at its result."""
    return mo.grad(lambda y: mobility(least_squares(misfits, b, y, **loss).x, at))(y)


def distance(b):
    """Return the largest distance from the certified parameters, in their standard deviations."""
    return np.max(np.abs(b - CERTIFIED) / DEVIATIONS)


def main(picture: str | None = None) -> None:
    y = falsified()
    by_squares, (by_biweight, scale) = plain(y), robust(y)
    print(
        f"plain fit of the false data: {distance(by_squares):.1f} certified standard deviations from the certified fit"
    )
    print(f"robust fit of the false data: {distance(by_biweight):.2f} certified standard deviations")
    for value, true, deviation in zip(by_biweight, CERTIFIED, DEVIATIONS):
        print(f"  {value:12.5f}  certified {true:12.5f} +- {deviation:.5f}")
    if picture is not None:
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", width_ratios=(1.5, 1))
        x = np.linspace(X[0] - 0.05, X[-1] + 0.1, 400)
        curve, half = mobility(by_biweight, x), band(by_biweight, y, scale, x)
        left.fill_between(x, curve - half, curve + half, color="C0", alpha=0.3, label="95 % band of the robust fit")
        left.plot(x, curve, color="C0", label="robust fit")
        left.plot(x, mobility(by_squares, x), "--", color="C1", label="least squares")
        left.plot(x, mobility(CERTIFIED, x), ":", color="black", label="certified fit of the true data")
        false = list(MISTAKES)
        left.plot(np.delete(X, false), np.delete(y, false), "k.", markersize=4)
        left.plot(X[false], y[false], "rx", label="false values")
        left.set(xlabel="logarithm of the density", ylabel="mobility of the electrons", ylim=(-100, 1800))
        left.legend(fontsize=8, loc="lower right")
        at = -1.0
        for b, settings, name, marker in (
            (by_squares, {}, "least squares", "C1s"),
            (by_biweight, {"loss": "tukey", "scale": scale}, "robust fit", "C0o"),
        ):
            right.plot(X, influence(y, b, at, **settings), marker, markersize=4, label=name)
        for place in false:
            right.axvline(X[place], color="red", linestyle=":", linewidth=0.8)
        right.set(xlabel="logarithm of the density", ylabel=f"derivative of the fitted value at {at:g}")
        right.set_title("influence of each observation (dotted: false)", fontsize=10)
        right.legend(fontsize=8)
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
