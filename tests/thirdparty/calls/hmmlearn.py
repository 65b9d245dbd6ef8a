"""Hidden Markov models: emission densities in NumPy; the recursions over time are compiled."""

from __future__ import annotations

import numpy as np
from hmmlearn import hmm, stats

from thirdparty.harness import Call, Refused

DISTRIBUTION = "hmmlearn"
FIELD = "statistics"

OBSERVED = np.random.default_rng(2).normal(size=(6, 2))
MEANS, SPREADS = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[1.0, 0.5], [0.3, 1.0]])


def model(means: np.ndarray, spreads: np.ndarray) -> hmm.GaussianHMM:
    m = hmm.GaussianHMM(n_components=2, covariance_type="diag")
    m.startprob_, m.transmat_ = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])
    m.means_, m.covars_ = means, spreads
    return m


def emissions(means: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    return model(means, spreads)._compute_log_likelihood(OBSERVED)


def full_density(means: np.ndarray, root: np.ndarray) -> np.ndarray:
    covariances = np.array([root @ root.T + np.eye(2), np.eye(2)])
    return stats.log_multivariate_normal_density(OBSERVED, means, covariances, "full")


def tied_density(means: np.ndarray, root: np.ndarray) -> np.ndarray:
    return stats.log_multivariate_normal_density(OBSERVED, means, root @ root.T + np.eye(2), "tied")


CALLS = {
    "emissions": Call(emissions, MEANS, SPREADS),
    "full_density": Call(full_density, MEANS, SPREADS),
    "tied_density": Call(tied_density, MEANS, SPREADS),
}
REFUSED = {
    "score": Refused(
        "the forward recursion is an extension module of the package",
        "forward_log",
        lambda means: model(means, SPREADS).score(OBSERVED),
        MEANS,
    )
}
