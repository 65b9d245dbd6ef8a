"""Functions with given slopes, Legendre functions, the arithmetic-geometric mean."""

from __future__ import annotations

import numpy as np
import pytest
from rule_tester import check_rule
from scipy import special

import morula as mo
from morula.core.rules import find_rule

find_rule(special.erf)

SLOPES = {
    "mathieu": (lambda x: [getattr(special, f"mathieu_{f}")(2, 1.3, x) for f in ("cem", "sem")], 40.0),
    "modified mathieu": (
        lambda x: [getattr(special, f"mathieu_mod{f}")(2, 1.3, x) for f in ("cem1", "cem2", "sem1", "sem2")],
        0.7,
    ),
    "prolate": (lambda x: special.pro_ang1(1, 3, 1.5, x), np.array([0.4, 0.2])),
    "prolate, radial": (lambda x: (special.pro_rad1(1, 3, 1.5, x), special.pro_rad2(1, 3, 1.5, x)[0]), 1.4),
    "prolate, value given": (lambda x: special.pro_ang1_cv(1, 3, 1.5, special.pro_cv(1, 3, 1.5), x), 0.4),
    "oblate": (lambda x: special.obl_ang1(1, 3, 1.5, x), 0.4),
    "oblate, radial": (lambda x: (special.obl_rad1(1, 3, 1.5, x), special.obl_rad2(1, 3, 1.5, x)), 0.8),
    "oblate, value given": (lambda x: special.obl_rad1_cv(1, 3, 1.5, special.obl_cv(1, 3, 1.5), x), 0.8),
    "riccati": (lambda x: (special.riccati_jn(3, x), special.riccati_yn(2, x)), 0.7),
    "lqn": (lambda z: (special.lqn(3, z), special.lqmn(2, 3, z)), 0.3),
    "parabolic cylinder": (
        lambda x: (special.pbdv_seq(3.4, x), special.pbvv_seq(2.4, x)),
        0.7,
    ),
    "pbdn_seq": (lambda z: special.pbdn_seq(3, z), 0.7),
    "lambda": (lambda x: special.lmbda(2.4, x), 0.7),
    "airye": (lambda x: special.airye(x), np.array([0.7, 2.0])),
    "airye, negative": (lambda x: special.airye(x)[2:], -0.8),
}


@pytest.mark.parametrize(("program", "x"), SLOPES.values(), ids=SLOPES)
def test_a_solution_and_its_slope(program, x):
    mo.testing.check_gradients(program, x, order=1, rtol=1e-5)


@pytest.mark.parametrize("name", ["mathieu", "prolate", "oblate", "riccati", "lambda"])
def test_the_equations_are_differentiated_again(name):
    program, x = SLOPES[name]
    mo.testing.check_gradients(program, x, rtol=1e-4)


@pytest.mark.parametrize("pair", [(2.0, 3.0), (1.5, 1.5), (3.0, 1.0)])
def test_agm(pair):
    mo.testing.check_gradients(special.agm, *pair, order=1)


def test_agm_twice():
    mo.testing.check_gradients(special.agm, np.array([2.0, 0.5]), 3.0)


def test_a_parameter_of_an_equation_is_refused():
    with pytest.raises(mo.NoDerivative, match="mathieu_cem"):
        mo.grad(lambda q: special.mathieu_cem(2, q, 40.0)[0])(1.3)


def test_a_negative_order_is_refused():
    with pytest.raises(mo.NoDerivative, match="negative order"):
        mo.grad(lambda x: special.pbdv_seq(-2.4, x)[1].sum())(0.7)


def test_a_complex_argument_of_a_function_that_is_not_analytic_is_refused():
    for i in (0, 1):
        with pytest.raises(mo.NoDerivative, match="pbdn_seq .* real arguments only"):
            mo.grad(lambda z, i=i: special.pbdn_seq(3, z)[i][1].real)(0.7 + 0.2j)


if hasattr(special, "legendre_p"):  # SciPy 1.15
    LEGENDRE = {
        "legendre_p": lambda z: special.legendre_p(3, z),
        "legendre_p_all": lambda z: special.legendre_p_all(3, z),
        "assoc_legendre_p": lambda z: special.assoc_legendre_p(3, 1, z, norm=True),
        "assoc_legendre_p_all": lambda z: special.assoc_legendre_p_all(3, 2, z),
        "sph_legendre_p": lambda z: special.sph_legendre_p(3, 1, z),
        "sph_legendre_p_all": lambda z: special.sph_legendre_p_all(3, 1, z),
        "with slopes": lambda z: special.legendre_p(3, z, diff_n=1),
        "sph_harm_y": lambda t: [special.sph_harm_y(3, m, t, t * t) for m in (-3, -1, 0, 2, 3)],
    }

    LEGENDRE["sph_harm_y_all"] = lambda t: special.sph_harm_y_all(3, 2, t, t * t)

    @pytest.mark.parametrize("program", LEGENDRE.values(), ids=LEGENDRE)
    def test_legendre_functions(program):
        mo.testing.check_gradients(program, np.array([0.3, 0.6]), order=1)

    @pytest.mark.parametrize("name", ["sph_harm_y", "sph_harm_y_all"])
    @pytest.mark.parametrize("theta", [-0.3, 0.3, 3.4, 6.0])
    def test_spherical_harmonics_beyond_the_poles(theta, name):
        mo.testing.check_gradients(lambda t, p: getattr(special, name)(2, 1, t, p), theta, 0.4, order=1)

    @pytest.mark.parametrize("m", [-2, -1, 0, 1, 2])
    def test_the_slope_of_spherical_harmonics_at_a_pole_is_that_from_within(m):
        slope = mo.grad(lambda t: special.sph_harm_y(2, m, t, 0.4).real)
        for pole, near in ((0.0, 1e-9), (np.pi, np.pi - 1e-9)):
            assert slope(pole) == pytest.approx(slope(near), abs=1e-7)

    def test_legendre_functions_twice():
        mo.testing.check_gradients(LEGENDRE["assoc_legendre_p"], 0.3)
        mo.testing.check_gradients(LEGENDRE["sph_harm_y"], 0.3)


X = np.array([0.4, 0.2])
FUNCTIONS = {
    **{f"mathieu_{f}": (2, 1.3, 40.0 * X) for f in ("cem", "sem")},
    **{f"mathieu_mod{f}": (2, 1.3, X) for f in ("cem1", "cem2", "sem1", "sem2")},
    "pro_ang1": (1, 3, 1.5, X),
    "obl_ang1": (1, 3, 1.5, X),
    "pro_rad1": (1, 3, 1.5, 1.4),
    "pro_rad2": (1, 3, 1.5, 2.0),
    "obl_rad1": (1, 3, 1.5, X),
    "obl_rad2": (1, 3, 1.5, 0.8),
    "pro_ang1_cv": (1, 3, 1.5, special.pro_cv(1, 3, 1.5), X),
    "obl_ang1_cv": (1, 3, 1.5, special.obl_cv(1, 3, 1.5), X),
    "pro_rad1_cv": (1, 3, 1.5, special.pro_cv(1, 3, 1.5), 1.4),
    "pro_rad2_cv": (1, 3, 1.5, special.pro_cv(1, 3, 1.5), 2.0),
    "obl_rad1_cv": (1, 3, 1.5, special.obl_cv(1, 3, 1.5), 0.8),
    "obl_rad2_cv": (1, 3, 1.5, special.obl_cv(1, 3, 1.5), 0.8),
    "riccati_jn": (3, 0.7),
    "riccati_yn": (2, 0.7),
    "lqn": (3, 0.3),
    "lqmn": (2, 3, 0.3),
    "pbdn_seq": (3, 0.7),
    "pbdv_seq": (3.4, 0.7),
    "pbvv_seq": (2.4, 0.7),
    "lmbda": (2.4, 0.7),
    "airye": (np.array([0.7, 2.0]),),
    "legendre_p": (3, X),
    "legendre_p_all": (3, X),
    "assoc_legendre_p": (3, 1, X),
    "assoc_legendre_p_all": (3, 2, X),
    "sph_legendre_p": (3, 1, X),
    "sph_legendre_p_all": (3, 1, X),
    "sph_harm_y": (3, 1, X, X + 0.3),
    "sph_harm_y_all": (3, 2, X, X + 0.3),
}
"""The functions with the arguments of one case; those that this version of SciPy has not are left out.

Nearer to one the radial prolate functions of the second kind that SciPy computes are no solutions of their equation.
"""


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if hasattr(special, name)])
def test_each_function(name):
    check_rule(getattr(special, name), *FUNCTIONS[name], rtol=1e-5, atol=1e-5)
