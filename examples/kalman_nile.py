"""Estimate the noises of the Nile's flow through a Kalman filter, by the gradient of the likelihood, and smooth the level.

The yearly flow at Aswan, 1871 to 1970, is modelled as a level that drifts, seen with noise: y_t = mu_t + e_t with variance
``observed``, mu_{t+1} = mu_t + h_t with variance ``drift``.  The filter gives the likelihood of the two variances, morula its
gradient, L-BFGS the maximum.  Durbin and Koopman (Time Series Analysis by State Space Methods, 2nd ed., 2012, section 2.10)
publish 15099 and 1469.1.  The smoothed level is a gradient, too: the score of the observations gives the posterior mean.

    python examples/kalman_nile.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

import morula as mo

YEARS = np.arange(1871, 1971)
FLOW = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
    831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
    744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
], float)  # fmt: skip
PUBLISHED = {"observed": 15099.0, "drift": 1469.1}


def negative_log_likelihood(log_variances, flow):
    """The filter of the local level model; the first observation sets the level, which is otherwise unknown."""
    observed, drift = np.exp(log_variances)
    level, variance = flow[0], observed + drift
    total = 0.0
    for y in flow[1:]:
        spread = variance + observed
        surprise = y - level
        total += 0.5 * (np.log(2 * np.pi * spread) + surprise**2 / spread)
        gain = variance / spread
        level += gain * surprise
        variance = variance * (1 - gain) + drift
    return total


def fit(flow=FLOW):
    """Return the variances of greatest likelihood, by name, and the result of the search."""
    loss = mo.jit(negative_log_likelihood)
    start = np.log(np.full(2, np.var(flow)))
    found = mo.optim.minimize(loss, start, flow, method="lbfgs", tol=1e-6, max_iterations=100)
    return dict(zip(PUBLISHED, np.exp(found.x))), found


def smoothed_level(variances, flow=FLOW):
    """The expected level given all observations: y + observed * d log p(y) / dy (Tweedie's formula)."""
    logs = np.log(np.array([variances["observed"], variances["drift"]]))
    return flow - variances["observed"] * mo.grad(negative_log_likelihood, argnums=1)(logs, flow)


def main(picture: str | None = None) -> None:
    variances, found = fit()
    print(f"log-likelihood {-found.value:.2f} after {found.iterations} iterations of L-BFGS")
    print(f"{'variance':10} {'found':>9} {'published':>10}")
    for name, value in variances.items():
        print(f"{name:10} {value:9.1f} {PUBLISHED[name]:10.1f}")
    level = smoothed_level(variances)
    before, after = np.mean(level[YEARS < 1899]), np.mean(level[YEARS >= 1899])
    print(f"mean level until 1898 {before:.0f}, from 1899 on, as the first dam at Aswan was built, {after:.0f}")
    if picture is not None:
        import matplotlib.pyplot as plt

        plt.plot(YEARS, FLOW, ".", label="flow")
        plt.plot(YEARS, level, label="smoothed level")
        plt.xlabel("year")
        plt.ylabel("flow, 1e8 cubic metres")
        plt.legend()
        plt.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
