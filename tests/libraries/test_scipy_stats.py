"""scipy.stats: distributions with respect to variable and parameters, statistics, tests, kernel estimates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import morula as mo
from morula.testing import check_gradients

X, Q, K = np.array([0.31, 0.72, 0.55]), np.array([0.2, 0.4, 0.85]), np.array([0, 1, 3])
A = np.array([1.2, 0.4, -0.7, 2.2, 0.9, 1.7, -1.3])
B = np.array([0.6, 2.2, 0.1, 1.4, 0.9, 2.7, -0.5])
WEIGHTS = np.arange(1.0, 8.0)
C = np.array([[2.0, 0.3], [0.3, 1.1]])
COUNTS = np.array([2, 1, 3])

CONTINUOUS = {
    **{name: () for name in "norm expon uniform logistic laplace cauchy gumbel_r halfnorm maxwell hypsecant".split()},
    **{name: (1.7,) for name in "gamma t lognorm weibull_min chi2 nakagami gennorm invgauss exponnorm skewnorm".split()},
    "beta": (2.3, 1.7), "f": (3.4, 9.3), "invgamma": (5.4,), "genextreme": (0.2,), "genpareto": (0.2,),
    "fisk": (4.2,), "johnsonsu": (1.2, 1.9), "burr12": (3.1, 2.2), "truncnorm": (-0.9, 0.8), "powerlaw": (1.2,),
}  # fmt: skip
DISCRETE = {
    "poisson": (2.3,), "geom": (0.3,), "logser": (0.4,), "planck": (0.4,), "zipf": (4.5,), "skellam": (1.2, 0.7),
    "dlaplace": (0.8,),
}  # fmt: skip


@pytest.mark.parametrize("method", ["logpdf", "cdf", "logsf", "ppf"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name, method):
    f = getattr(getattr(stats, name), method)
    x = Q if method == "ppf" else X
    check_gradients(
        lambda x, shapes, loc, scale: f(x, *shapes, loc=loc, scale=scale), x, CONTINUOUS[name], 0.1, 1.3, order=1
    )


@pytest.mark.parametrize("method", ["pdf", "sf", "logcdf", "isf", "mean", "var", "entropy"])
@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "t"])
def test_the_other_methods_of_a_distribution(name, method):
    f = getattr(getattr(stats, name), method)
    shapes = tuple(s + 1.5 for s in CONTINUOUS[name])
    at = {"mean": (), "var": (), "entropy": (), "isf": (Q,)}.get(method, (X,))
    check_gradients(
        lambda at, shapes, loc, scale: np.asarray(f(*at, *shapes, loc=loc, scale=scale)), at, shapes, 0.1, 1.3, order=1
    )


@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "sf"])
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions_by_their_parameters(name, method):
    f = getattr(getattr(stats, name), method)
    check_gradients(lambda shapes: f(K + (name in ("geom", "logser", "zipf")), *shapes), DISCRETE[name], order=1)


@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "sf", "mean", "var"])
def test_binomial_distributions(method):
    at = () if method in ("mean", "var") else (K,)
    check_gradients(lambda p: np.asarray(getattr(stats.binom, method)(*at, 7, p)), 0.3, order=1)
    check_gradients(lambda n, p: np.asarray(getattr(stats.nbinom, method)(*at, n, p)), 5.5, 0.4, order=1)


@pytest.mark.parametrize("function", [stats.norm.logpdf, stats.gamma.cdf, stats.t.cdf], ids=["norm", "gamma", "t"])
def test_second_derivatives(function):
    shapes = () if function == stats.norm.logpdf else (2.3,)
    check_gradients(lambda x, shapes, scale: function(x, *shapes, scale=scale), X[:2], shapes, 1.3)


def definite(m):
    return m @ m.T + np.eye(2)


CALLS = {
    "a frozen distribution": (lambda a, b, x: stats.gamma(a, scale=b).pdf(x), 0.9, 1.2, X),
    "one number": (lambda a, b: stats.norm.ppf(0.3, a, b), 0.1, 1.2),
    "interval": (lambda a, b: stats.norm.interval(0.9, a, b), 0.3, 1.2),
    "moments": (lambda a: stats.gamma.stats(a, moments="mvsk"), 2.3),
    "likelihood": (lambda a, loc, scale: stats.norm.nnlf((loc, scale), a), A, 0.2, 1.3),
    "norm.fit": (stats.norm.fit, A),
    "vonmises": (lambda x, k: stats.vonmises.cdf(x, k) + stats.vonmises.logpdf(x, k), X, 1.2),
    "ncx2": (lambda x, c: stats.ncx2.cdf(x, 2.2, c) * stats.ncx2.pdf(x, 2.2, c), X, 1.3),
    "ncx2, inverse": (lambda q, c: stats.ncx2.ppf(q, 2.2, c) * stats.ncx2.isf(q, 2.2, c), Q, 1.3),
    "nct": (lambda x: stats.nct.cdf(x, 6.2, 0.3) * stats.nct.pdf(x, 6.2, 0.3) + stats.nct.sf(x, 6.2, 0.3), X),
    "nct, inverse": (lambda q: stats.nct.ppf(q, 6.2, 0.3) * stats.nct.isf(q, 6.2, 0.3), Q),
    "multivariate_normal": (lambda x, m, c: stats.multivariate_normal.logpdf(x, m, definite(c)), X[:2], A[:2], C),
    "multivariate_t": (lambda x, c, d: stats.multivariate_t.logpdf(x, A[:2], definite(c), d), X[:2], C, 4.3),
    "wishart": (lambda x, c: stats.wishart.logpdf(definite(x), 5.0, definite(c)), C + 0.1, C),
    "invwishart": (lambda x, c: stats.invwishart.logpdf(definite(x), 5.0, definite(c)), C + 0.1, C),
    "dirichlet": (lambda x, a: stats.dirichlet.logpdf(np.append(x, 1 - np.sum(x)), a), Q[:2], X),
    "multinomial": (lambda p: stats.multinomial.logpmf(COUNTS, 6, np.append(p, 1 - np.sum(p))), Q[:2]),
    "gaussian_kde": (lambda d, x: stats.gaussian_kde(d)(x), A, X),
    "gaussian_kde, weighted": (lambda d, w, b: stats.gaussian_kde(d, b, w / np.sum(w))(X), A, WEIGHTS, 0.4),
    "gaussian_kde, logarithm, two dimensions": (lambda d, x: stats.gaussian_kde(d).logpdf(x), np.stack([A, B]), C),
    "linregress": (lambda x, y: tuple(stats.linregress(x, y)), A, B),
    "pearsonr": (lambda x, y: tuple(stats.pearsonr(x, y)), A, B),
    "spearmanr": (lambda x, y: stats.spearmanr(x, y).statistic * x, A, B),
    "ttest_ind": (lambda x, y: tuple(stats.ttest_ind(x, y)), A, B),
    "ttest_ind, Welch": (lambda x, y: tuple(stats.ttest_ind(x, y, equal_var=False)), A, B),
    "ttest_rel": (lambda x, y: stats.ttest_rel(x, y).pvalue, A, B),
    "f_oneway": (lambda x, y: tuple(stats.f_oneway(x, y)), A, B),
    "bartlett": (lambda x, y: tuple(stats.bartlett(x, y)), A, B),
    "chisquare": (lambda x: tuple(stats.chisquare(np.exp(x), np.full(7, np.exp(x).mean()))), A),
    "jarque_bera": (lambda x: tuple(stats.jarque_bera(x)), A),
    "normaltest": (lambda x: stats.normaltest(np.append(x, x + 0.1 * x**2)).pvalue, A),
    "describe": (lambda x: (stats.describe(x).variance, stats.describe(x).skewness, stats.describe(x).kurtosis), A),
    "skew": (lambda x: stats.skew(x, bias=False), A),
    "kurtosis": (stats.kurtosis, A),
    "zscore": (stats.zscore, A),
    "gmean": (lambda x, w: stats.gmean(np.exp(x), weights=w), A, WEIGHTS),
    "pmean": (lambda x, p: stats.pmean(np.exp(x), p), A, 1.7),
    "gstd": (lambda x: stats.gstd(np.exp(x)), A),
    "trim_mean": (lambda x: stats.trim_mean(x, 0.2), A),
    "iqr": (stats.iqr, A),
    "entropy": (lambda x, y: stats.entropy(np.exp(x), np.exp(y)), A, B),
    "boxcox_llf": (lambda x, p: stats.boxcox_llf(p, np.exp(x)), A, 0.4),
    "yeojohnson": (stats.yeojohnson, A, 0.4),
    "wasserstein_distance": (stats.wasserstein_distance, A, B + 0.05),
    "circmean": (lambda x: stats.circmean(x), A / 2 + 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, *args = CALLS[name]
    check_gradients(f, *args, order=1)


@pytest.mark.parametrize(
    "f",
    [lambda x: stats.levy_stable.pdf(0.3, x[0] / 3 + 1, 0.2), lambda x: stats.nct.pdf(0.3, x[0] + 2, 0.2)],
    ids=["levy_stable", "nct"],
)
def test_what_is_compiled_and_has_no_rule_is_refused(f):
    with pytest.raises(mo.NoDerivative):
        mo.gradient(f, A)
