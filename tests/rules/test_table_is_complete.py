"""Every differentiable function of NumPy's and SciPy's element-wise parts has a rule, or is listed here with a reason.

Also the law that rules are closed: what the function of a rule calls has a rule itself, so that every rule can be
differentiated again.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import math
import operator
import types
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import morula.core.rules as rules
from morula.core.rules import find_rule
from morula.core.rules.table import RULES

find_rule(special.erf)

ELSEWHERE = {"matmul", "vecdot", "matvec", "vecmat"}

IN_A_PARAMETER_ONLY = """
    bdtrik bdtrin btdtria btdtrib chdtriv chndtridf chndtrinc fdtridfd gdtria gdtrib nbdtrik nbdtrin ncfdtridfd ncfdtridfn
    ncfdtrinc nctdtridf nctdtrinc nrdtrimn nrdtrisd pdtrik stdtridf
""".split()
"""Distributions inverted for one of their parameters: the slopes are those of the distribution in that parameter."""

NO_CLOSED_FORM = """
    zetac besselpoly kolmogorov kolmogi smirnov smirnovi chndtr chndtrix ncfdtr ncfdtri nctdtr nctdtrit gdtrix bdtri nbdtri
    pdtri mathieu_a mathieu_b obl_cv pro_cv
""".split()
"""Derivatives that SciPy has no function for, or that need the noncentral distributions' own densities."""

SOLUTIONS_OF_SPHEROIDAL_AND_MATHIEU_EQUATIONS = """
    mathieu_cem mathieu_sem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 obl_ang1 obl_ang1_cv
    obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv pro_ang1 pro_ang1_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv
""".split()
"""They return the function with its slope; the second derivative needs the characteristic value."""

CARLSON_AND_OTHERS = """
    agm elliprc elliprd elliprf elliprg elliprj airye kelvin modfresnelm modfresnelp
""".split()
"""Known, and expressible in others that have rules (ellipk, airy, ber and bei); not written out."""

UNDERIVED = {
    *ELSEWHERE,
    *IN_A_PARAMETER_ONLY,
    *NO_CLOSED_FORM,
    *SOLUTIONS_OF_SPHEROIDAL_AND_MATHIEU_EQUATIONS,
    *CARLSON_AND_OTHERS,
}

NOT_NUMERIC = {"inf", "nan", "e", "pi", "tau", "infj", "nanj"}


def element_wise(module):
    return {name for name in dir(module) if isinstance(getattr(module, name), np.ufunc)}


@pytest.mark.parametrize("module", [np, special], ids=["numpy", "scipy.special"])
def test_every_ufunc_has_a_rule_or_a_reason(module):
    assert {name for name in element_wise(module) if getattr(module, name) not in RULES} - UNDERIVED == set()


def test_no_reason_is_given_for_what_has_a_rule():
    named = {name for name in UNDERIVED - ELSEWHERE if getattr(special, name, None) in RULES}
    assert named == set()
    assert {name for name in UNDERIVED - ELSEWHERE if not hasattr(special, name)} == set()


@pytest.mark.parametrize("module", [math, cmath], ids=["math", "cmath"])
def test_every_function_of_a_float_has_a_rule(module):
    names = {name for name in dir(module) if not name.startswith("_")} - NOT_NUMERIC
    assert {name for name in names if getattr(module, name) not in RULES} == set()


def test_the_functions_that_the_issue_names_have_rules():
    for name in """erf erfc erfcx erfinv gamma gammaln digamma polygamma beta betaln expit logit logsumexp softmax
        log_softmax jv j0 j1 yv y0 y1 iv i0 i1 kv k0 k1 xlogy xlog1py betainc gammainc lambertw""".split():
        assert getattr(special, name) in RULES, name
    for name in "clip real imag conj angle sinc i0 nan_to_num round fix".split():
        assert getattr(np, name) in RULES, name
    for name in "add sub mul truediv floordiv mod pow neg pos abs lt le eq ne ge gt".split():
        assert getattr(operator, name) in RULES, name
    for function in (abs, pow, divmod, round, float, complex, int):
        assert function in RULES


# Python functions of the language itself, which the engine knows, and NumPy's that only look at dtypes and shapes.
LANGUAGE = {isinstance, type, len, range, sum, list, tuple, int, hasattr, zip, reversed, min, max}

OURS = {f"morula.core.rules.{name}" for name in (
    "operators", "scalar_math", "ufuncs", "special", "bessel", "gamma_functions", "hypergeometric"
)}  # fmt: skip


def called(function):
    """The global functions that a function's code refers to, its nested functions' included."""
    found, owner = [], None
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                value = function.__globals__.get(step.argval, getattr(builtins, step.argval, None))
                owner = value if isinstance(value, types.ModuleType) else None
                found += [value] if owner is None else []
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and owner is not None:
                value = getattr(owner, step.argval)
                owner = value if isinstance(value, types.ModuleType) else None
                found += [value] if owner is None else []
            else:
                owner = None
    return [value for value in found if callable(value) and value is not function]


def test_rules_are_closed_under_differentiation():
    own = [
        (rule.function, part)
        for rule in list(RULES.values())
        for part in (*rule.partials, *rule.pullbacks, rule.together)
        if callable(part) and part.__module__ in OURS
    ]
    assert len(own) > 300
    seen = set()
    while own:
        function, part = own.pop()
        for callee in called(part):
            if isinstance(callee, types.FunctionType) and callee.__module__ in OURS:
                if callee not in seen:
                    seen.add(callee)
                    own.append((function, callee))
            else:
                assert callee in RULES or callee in LANGUAGE, f"the rule of {function} calls {callee}, which has none"


def test_scipy_is_not_imported_by_the_rules_of_numpy():
    folder = Path(rules.__file__).parent
    for name in ("operators", "scalar_math", "ufuncs"):
        lines = (folder / f"{name}.py").read_text().splitlines()
        assert not [line for line in lines if line.startswith(("import scipy", "from scipy"))], name
