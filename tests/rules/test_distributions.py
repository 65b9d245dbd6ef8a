"""The rules of the distributions of ``scipy.stats``, and of those functions of ``statistics`` that have one."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from rule_tester import check_rule
from scipy import special

from morula.core.rules import find_rule

find_rule(special.erf)
find_rule(statistics.mean)

P = np.array([0.3, 0.8])
X = np.array([0.4, 1.7])

# The arguments, and the positions of those with a derivative.
DISTRIBUTIONS = {
    "_beta_pdf": ((P, 1.3, 2.4), None),
    "_beta_ppf": ((P[:1], 1.3, 2.4), None),
    "_binom_pmf": ((2.0, 5.5, P), (1, 2)),
    "_binom_cdf": ((2.0, 5.0, P), (2,)),
    "_binom_sf": ((2.0, 5.0, P), (2,)),
    "_nbinom_pmf": ((2.0, 5.5, P), (1, 2)),
    "_nbinom_cdf": ((2.0, 5.5, P[:1]), (1, 2)),
    "_nbinom_sf": ((2.0, 5.5, P[:1]), (1, 2)),
    "_nbinom_mean": ((5.5, P), None),
    "_nbinom_variance": ((5.5, P), None),
    "_cauchy_ppf": ((P, 0.3, 1.2), None),
    "_cauchy_isf": ((P, 0.3, 1.2), None),
    "_invgauss_ppf": ((P, 1.1, 0.7), None),
    "_invgauss_isf": ((P, 1.1, 0.7), None),
    "_skewnorm_cdf": ((X, 0.2, 1.3, 0.8), None),
    "_skewnorm_ppf": ((P, 0.2, 1.3, 0.8), None),
    "_skewnorm_isf": ((P, 0.2, 1.3, 0.8), None),
    "_ncx2_pdf": ((X, 3.0, 0.8), (0, 2)),
    "_ncx2_sf": ((X, 3.0, 0.8), (0, 2)),
    "_ncx2_isf": ((P, 3.0, 0.8), (0, 2)),
    "chndtr": ((X, 3.0, 0.8), (0, 2)),
    "chndtrix": ((P, 3.0, 0.8), (0, 2)),
    "_nct_pdf": ((X, 3.0, 0.8), (0,)),
    "_nct_sf": ((X, 3.0, 0.8), (0,)),
    "_nct_isf": ((P, 3.0, 0.8), (0,)),
    "nctdtr": ((3.0, 0.8, X), (2,)),
    "nctdtrit": ((3.0, 0.8, P), (2,)),
    "_scaled_exp1": ((X,), None),
    "agm": ((X, np.array([2.0, 0.5])), None),
    "_binom_ppf": ((P, 5.0, 0.4), (0, 1, 2)),
    "_binom_isf": ((P, 5.0, 0.4), (0, 1, 2)),
    "_nbinom_ppf": ((0.5, 1.0, 0.9), (0, 1, 2)),
    "_nbinom_isf": ((0.5, 1.0, 0.9), (0, 1, 2)),
}
UFUNCS = special._ufuncs


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if hasattr(UFUNCS, name)])
def test_distributions(name):
    args, known = DISTRIBUTIONS[name]
    check_rule(getattr(UFUNCS, name), *args, known=known, rtol=1e-6, atol=1e-6)


DATA = np.array([1.3, 2.1, 0.4])
OF_DATA = [
    *((f, (DATA,)) for f in (statistics.mean, statistics.harmonic_mean)),
    *((f, (DATA,)) for f in (statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev)),
    *((f, (DATA, 0.7)) for f in (statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev)),
    (statistics.harmonic_mean, (DATA, DATA[::-1].copy())),
    *((getattr(statistics, name), args) for name, args in {
        "_mean_stdev": (DATA,), "_normal_dist_inv_cdf": (0.3, 0.7, 1.2),
    }.items() if hasattr(statistics, name)),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args"), OF_DATA, ids=lambda x: getattr(x, "__name__", ""))
def test_statistics(f, args):
    check_rule(f, *args)
