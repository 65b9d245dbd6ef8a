"""The rules of scipy.special, each checked by the rule tester, to the second order."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from rule_tester import check_rule
from scipy import special

import morula as mo
from morula.core.rules import find_rule
from morula.core.rules.incomplete_functions import beta_shape_slopes, gamma_shape_slope, zeta_slope
from morula.core.rules.table import RULES, pull

find_rule(special.erf)  # SciPy's rules are read when one of its functions is first met

X = np.array([[-1.3, -0.4, 0.2], [0.7, 1.6, 2.5]])
P = np.array([0.15, 0.42, 0.83])
ABOVE = np.array([0.3, 1.2, 2.7])
Z = np.array([0.4 + 0.3j, -1.2 + 0.8j, 0.9 - 1.4j])

REAL = [
    *[(getattr(special, f), (X,)) for f in "erf erfc erfcx erfi dawsn ndtr log_ndtr expit log_expit exprel".split()],
    *[(getattr(special, f), (X,)) for f in "exp2 exp10 expm1 cosm1 sindg cosdg j0 j1 i0 i1 i0e i1e".split()],
    *[(getattr(special, f), (X,)) for f in "rgamma itstruve0 itmodstruve0 wrightomega".split()],
    *[(getattr(special, f), (P,)) for f in "erfinv erfcinv ndtri logit entr ellipk ellipkm1 ellipe spence".split()],
    *[(getattr(special, f), (ABOVE,)) for f in "gamma gammaln loggamma digamma cbrt log1p exp1 expi tandg".split()],
    *[(getattr(special, f), (ABOVE,)) for f in "k0 k1 k0e k1e y0 y1 cotdg it2struve0 spence entr".split()],
    *[(getattr(special, f), (ABOVE,)) for f in "ber bei ker kei berp beip kerp keip".split()],
    *[(getattr(special, f), (-ABOVE,)) for f in "gamma gammaln digamma ndtri_exp ellipk ellipe".split()],
    *[(getattr(special, f), (1.7, ABOVE)) for f in "jv yv iv kv ive kve jve yve struve modstruve".split()],
    *[(getattr(special, f), (0, ABOVE)) for f in "jv yv iv kv kn yn struve".split()],
    *[(getattr(special, f), (2, ABOVE)) for f in "kn yn expn polygamma jvp yvp ivp kvp h1vp h2vp".split()],
    *[(getattr(special, f), (np.array([[0], [1], [3]]), P)) for f in (
        *("eval_legendre eval_chebyt eval_chebyu eval_chebyc eval_chebys eval_hermite eval_hermitenorm".split()),
        *("eval_laguerre eval_sh_legendre eval_sh_chebyt eval_sh_chebyu".split()),
    )],
    *[(getattr(special, f), (n, P)) for f in ("spherical_jn", "spherical_in", "spherical_kn", "spherical_yn")
      for n in (0, 2)],
    *[(getattr(special, f), (n, P, True)) for f in ("spherical_jn", "spherical_in", "spherical_kn", "spherical_yn")
      for n in (0, 2)],
    (special.eval_jacobi, (np.array([[0], [2]]), 0.5, 1.5, P)),
    (special.eval_gegenbauer, (np.array([[0], [2]]), 0.5, P)),
    (special.eval_genlaguerre, (np.array([[0], [2]]), 0.5, P)),
    (special.eval_sh_jacobi, (np.array([[0], [2]]), 2.5, 1.5, P)),
    (special.eval_legendre, (2.5, P)),
    (special.lpmv, (1, 2.0, P)),
    (special.zeta, (2.5, ABOVE)),
    (special.multigammaln, (3.4, 3)),
    (special.poch, (ABOVE, 1.4)),
    (special.binom, (4.3, ABOVE)),
    (special.beta, (ABOVE, ABOVE[:, None])),
    (special.betaln, (ABOVE, ABOVE[:, None])),
    *[(getattr(special, f), (a, ABOVE)) for f in ("gammainc", "gammaincc", "chdtr", "chdtrc") for a in (0.7, 2.4)],
    *[(getattr(special, f), (2.4, P)) for f in ("gammaincinv", "gammainccinv", "chdtri", "stdtrit")],
    *[(getattr(special, f), (1.3, 2.4, P)) for f in ("betainc", "betaincc", "betaincinv", "betainccinv", "fdtri")],
    *[(getattr(special, f), (1.3, 2.4, ABOVE)) for f in ("gdtr", "gdtrc", "fdtr", "fdtrc")],
    (special.stdtr, (3.0, X)),
    (special.xlogy, (X, 0.4 + X**2)),
    (special.xlog1py, (X, X**2)),
    (special.rel_entr, (ABOVE, ABOVE[:, None])),
    (special.kl_div, (ABOVE, ABOVE[:, None])),
    (special.powm1, (ABOVE, X)),
    (special.boxcox, (ABOVE, np.array([[-0.7], [0.0], [1.3]]))),
    (special.boxcox1p, (ABOVE, np.array([[-0.7], [0.0], [1.3]]))),
    (special.inv_boxcox, (P, np.array([[-0.7], [0.0], [1.3]]))),
    (special.inv_boxcox1p, (P, np.array([[-0.7], [0.0], [1.3]]))),
    (special.tklmbda, (0.3, 0.7)),
    (special.tklmbda, (np.array([-0.7, 0.3, 0.6, 2.0]), np.array([2.0, 2.5, -1.5, 1.5]))),  # also outside of the support
    (special.huber, (1.0, X)),
    (special.pseudo_huber, (1.2, X)),
    (special.owens_t, (X, 0.6)),
    (special.voigt_profile, (X, 0.8, 0.5)),
    (special.lambertw, (ABOVE,)),
    (special.lambertw, (Z, -1)),
    (special.radian, (10.0, 20.0, P)),
    (special.hyp0f1, (1.4, X)),
    (special.hyp1f1, (0.8, 1.4, X)),
    (special.hyperu, (0.8, 1.4, ABOVE)),
    (special.hyp2f1, (0.8, 1.1, 2.3, P)),
    (special.wright_bessel, (0.6, 1.2, ABOVE)),
    (special.log_wright_bessel, (0.6, 1.2, ABOVE)),
    (special.ellipkinc, (X, 0.6)),
    (special.ellipeinc, (X, P[0])),
    (special.ellipj, (X, 0.6)),
    *[(getattr(special, f), (ABOVE,)) for f in "sici shichi fresnel airy itairy itj0y0 iti0k0 it2j0y0 it2i0k0".split()],
    *[(getattr(special, f), (0.7, ABOVE)) for f in ("pbdv", "pbvv", "pbwa")],
]  # fmt: skip

COMPLEX = [
    *[
        (getattr(special, f), (Z,))
        for f in "erf erfc erfcx erfi dawsn wofz ndtr log_ndtr gamma loggamma rgamma".split()
    ],
    *[(getattr(special, f), (Z,)) for f in "exp1 expi spence wrightomega fresnel airy sici shichi".split()],
    *[(getattr(special, f), (1.7, Z)) for f in "jv yv iv kv ive kve jve yve hankel1 hankel2 hankel1e hankel2e".split()],
    (special.hyp0f1, (1.4, Z)),
    (special.hyp1f1, (0.8, 1.4, Z)),
    (special.hyp2f1, (0.8, 1.1, 2.3, Z / 3)),
    (special.spherical_jn, (2, Z)),
    (special.eval_legendre, (2.5, Z)),
    (special.xlogy, (Z, Z[::-1])),
    (special.expm1, (Z,)),
    (special.log1p, (Z,)),
]

# SciPy gives the polygamma functions, and so the second derivatives of these, for real arguments only.
REAL_POLYGAMMA = {special.gamma, special.loggamma, special.rgamma}


def name(case):
    return getattr(case, "__name__", "") if callable(case) else None


@pytest.mark.parametrize(("f", "args"), REAL, ids=name)
def test_real(f, args):
    check_rule(f, *args, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("f", "args"), COMPLEX, ids=name)
def test_complex(f, args):
    check_rule(f, *args, rtol=1e-6, atol=1e-7, order=1 if f in REAL_POLYGAMMA else 2)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    check_rule(special.logsumexp, X, axis, keepdims=keepdims)
    check_rule(special.logsumexp, X, axis, np.abs(X.T[:, :1].T) + 0.5, keepdims=keepdims)
    check_rule(special.logsumexp, X, axis, X, keepdims=keepdims, return_sign=True)


def test_logsumexp_where_everything_is_minus_infinity():
    a = np.full(2, -np.inf)
    assert pull(RULES[special.logsumexp], 1.0, special.logsumexp(a), (a,), {})[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("f", [special.softmax, special.log_softmax], ids=name)
def test_softmax(f, axis):
    check_rule(f, X, axis)
    check_rule(f, X * (1 + 0.3j), axis)


def test_the_sign_of_a_complex_logsumexp_turns():
    check_rule(special.logsumexp, X * (1 + 0.3j), 0, return_sign=True)
    check_rule(special.logsumexp, X * (1 + 0.3j), 1, X * (1 - 0.7j), return_sign=True)


def test_softmax_of_far_apart_logits_has_no_nan():
    x = np.array([1000.0, -1000.0, 0.0])
    assert mo.gradient(lambda x: special.log_softmax(x)[0], x)[0].tolist() == [0.0, 0.0, 0.0]
    assert np.all(mo.gradient(lambda x: special.softmax(x)[1], x)[0] == 0.0)


@pytest.mark.parametrize("f", [special.erf, special.gammaln, special.expit, special.j0, special.xlogy], ids=name)
def test_single_precision_scalars_and_empty_arrays(f):
    check_rule(f, *[np.array([0.4, 1.7], np.float32)] * f.nin, atol=1e-2)
    check_rule(f, *[np.array(0.7)] * f.nin)
    check_rule(f, *[0.7] * f.nin)
    check_rule(f, *[np.zeros((0, 3))] * f.nin)


@pytest.mark.parametrize("f", [special.gammasgn, special.round], ids=name)
def test_steps_have_derivative_zero(f):
    check_rule(f, X + 0.1)


@pytest.mark.parametrize(
    ("f", "steps", "variable"),
    [
        (special.pdtr, (2,), 1.3),
        (special.pdtrc, (2,), 1.3),
        (special.bdtr, (2, 5), 0.3),
        (special.bdtrc, (2, 5), 0.3),
        (special.nbdtr, (2, 5), 0.3),
        (special.nbdtrc, (2, 5), 0.3),
    ],
    ids=name,
)
def test_discrete_distributions(f, steps, variable):
    check_rule(f, *steps, variable, known=(len(steps),))


ORACLE = [
    (special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [19.0, 21.0, 300.0, 1e5]),
    (special.dawsn, lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x), [19.0, -21.0, 300.0]),
    (special.log_ndtr, lambda x: mpmath.log(mpmath.ncdf(x)), [-30.0, -8.0, 6.0]),
    (special.exprel, lambda x: mpmath.expm1(x) / x, [1e-9, 1e-3, -0.99, 1.01, 30.0]),
    (special.rgamma, mpmath.rgamma, [0.0, -1.0, -2.0, 0.4999, 0.5, -2.5]),
    (special.spence, lambda x: mpmath.polylog(2, 1 - x), [1e-9, 0.5, 1 - 1e-9, 1 + 1e-7, 2.0]),
    (special.ellipk, mpmath.ellipk, [0.0, 1e-12, 0.999999, -50.0]),
    (special.ellipkm1, lambda p: mpmath.ellipk(1 - p), [1e-15, 1e-5, 1 - 1e-9, 1.0]),
    (special.expit, lambda x: 1 / (1 + mpmath.exp(-x)), [-40.0, 40.0]),
]


@pytest.mark.parametrize(("f", "exact", "points"), ORACLE, ids=name)
def test_slopes_keep_their_digits_where_the_closed_form_cancels(f, exact, points):
    with mpmath.workdps(60):
        for x in points:
            # A Taylor coefficient from samples on a circle: no difference of nearly equal numbers.
            expected = float(mpmath.diff(exact, mpmath.mpf(x), h=mpmath.mpf(10) ** -25))
            slope = pull(RULES[f], 1.0, f(x), (x,), {})[0]
            assert slope == pytest.approx(expected, rel=1e-11), x


@pytest.mark.parametrize("x", [0.0, 1e-6, 0.29999, 0.30001, 0.99999, 1.00001])
def test_second_derivatives_across_the_joins_of_series_and_closed_forms(x):
    with mpmath.workdps(40):
        exprel = float(mpmath.diff(lambda t: mpmath.expm1(t) / t if t else mpmath.mpf(1), x, 2))
        sinc = float(mpmath.diff(lambda t: mpmath.sincpi(t), x, 2))
    assert mo.grad(mo.grad(special.exprel))(x) == pytest.approx(exprel, rel=1e-8)
    assert mo.grad(mo.grad(np.sinc))(x) == pytest.approx(sinc, rel=1e-8)


def test_arguments_given_by_name():
    a, b = np.array([0.3, -0.7]), np.array([0.4, 1.2])
    mo.testing.check_gradients(lambda a, b: special.logsumexp(a, b=b), a, b)
    mo.testing.check_gradients(lambda x: special.polygamma(n=1, x=x), 1.7)
    mo.testing.check_gradients(lambda x: special.softmax(x=x, axis=0), a)


def test_an_order_has_no_derivative_and_says_so():
    with pytest.raises(mo.NoDerivative, match="jv"):
        mo.gradient(special.jv, 1.5, 2.0)


@pytest.mark.parametrize("a", [0.05, 0.7, 9.0, 600.0])
@pytest.mark.parametrize("part", [0.01, 0.9, 1.0, 1.2, 6.0])
def test_the_slope_of_the_incomplete_gamma_function_in_its_shape(a, part):
    mpmath.mp.dps = 60
    h = mpmath.mpf(10) ** -20
    p = [mpmath.gammainc(mpmath.mpf(a) + s * h, 0, mpmath.mpf(a * part), regularized=True) for s in (1, -1)]
    expected = float((p[0] - p[1]) / (2 * h))
    assert gamma_shape_slope(a, a * part) == pytest.approx(expected, rel=2e-12, abs=1e-30)


@pytest.mark.parametrize("a, b", [(0.03, 0.6), (0.6, 2.2), (40.0, 3.0), (800.0, 70.0)])
@pytest.mark.parametrize("x", [1e-5, 0.3, 0.9, 0.93, 0.999])
def test_the_slopes_of_the_incomplete_beta_function_in_its_shapes(a, b, x):
    mpmath.mp.dps = 80
    h = mpmath.mpf(10) ** -25

    def slope(da, db):
        i = [mpmath.betainc(mpmath.mpf(a) + s * da * h, mpmath.mpf(b) + s * db * h, 0, mpmath.mpf(x), regularized=True)
             for s in (1, -1)]  # fmt: skip
        return float((i[0] - i[1]) / (2 * h))

    assert beta_shape_slopes(a, b, x, 1 - x) == pytest.approx((slope(1, 0), slope(0, 1)), rel=1e-11, abs=1e-30)


@pytest.mark.parametrize("x, q", [(1.2, 1.0), (4.5, 0.3), (12.0, 2.7)])
def test_the_slope_of_the_zeta_function_in_its_exponent(x, q):
    assert zeta_slope(x, q) == pytest.approx(float(mpmath.zeta(x, q, 1)), rel=1e-13)


def test_distributions_at_the_ends_of_their_range_do_not_depend_on_their_shape():
    assert gamma_shape_slope(2.0, np.array([0.0, np.inf])).tolist() == [0.0, 0.0]
    assert [s.tolist() for s in beta_shape_slopes(2.0, 3.0, np.array([0.0, 1.0]), np.array([1.0, 0.0]))] == [[0, 0]] * 2
    assert mo.gradient(special.stdtr, 3.0, 0.0)[0] == 0
    for infinity in (np.inf, -np.inf):
        assert mo.gradient(special.stdtr, 3.0, infinity) == (0, 0)
    assert mo.gradient(special.fdtr, 3.0, 2.0, np.inf) == (0, 0, 0)
