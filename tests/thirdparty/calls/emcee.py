"""Ensemble sampling: the moves are random and passive, the walkers and their probabilities follow the parameters."""

from __future__ import annotations

import emcee
import numpy as np
from emcee import autocorr

from thirdparty.harness import Call

DISTRIBUTION = "emcee"
FIELD = "statistics"

CHAIN = np.cumsum(np.random.default_rng(5).normal(size=40))


def sampled(mean: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    np.random.seed(0)
    sampler = emcee.EnsembleSampler(8, 2, lambda x: -0.5 * np.sum(((x - mean) / width) ** 2))
    state = sampler.run_mcmc(np.random.randn(8, 2), 5)
    return state.coords, state.log_prob


def from_scaled_walkers(start: np.ndarray) -> np.ndarray:
    np.random.seed(1)
    move = emcee.moves.StretchMove(a=3.0)
    sampler = emcee.EnsembleSampler(6, 1, lambda x: -np.sum(np.cosh(x)), moves=move)
    sampler.run_mcmc(start, 4)
    return sampler.get_chain(flat=True)


CALLS = {
    "sampled": Call(sampled, 0.3, 1.2),
    "from_scaled_walkers": Call(from_scaled_walkers, np.linspace(-1, 1, 6)[:, None] ** 3 + 0.1),
    "autocorrelation": Call(autocorr.function_1d, CHAIN),
    "autocorrelation_time": Call(lambda x: autocorr.integrated_time(x, c=5, tol=0), CHAIN),
}
