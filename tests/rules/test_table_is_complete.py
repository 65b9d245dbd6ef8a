"""Every function of ``math`` and ``cmath`` has a rule, and so do the functions that programs need most.

The rules are also closed: every function that a rule calls has a rule itself, so that every rule can be differentiated
again.
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
import rule_cases
from scipy import special

import morula.core.rules as rules
from morula.core.errors import NoDerivative
from morula.core.rules import find_rule
from morula.core.rules.table import RULES, compiled

find_rule(special.erf)  # and the rules of all modules that are imported above

NOT_NUMERIC = {"inf", "nan", "e", "pi", "tau", "infj", "nanj"}


@pytest.mark.parametrize("module", [math, cmath], ids=["math", "cmath"])
def test_every_function_of_a_float_has_a_rule(module):
    names = {name for name in dir(module) if not name.startswith("_")} - NOT_NUMERIC
    assert {name for name in names if getattr(module, name) not in RULES} == set()


def test_functions_that_programs_often_call_have_rules():
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
LANGUAGE = {
    isinstance,
    type,
    len,
    range,
    sum,
    list,
    tuple,
    int,
    hasattr,
    zip,
    reversed,
    min,
    max,
    complex,
    NoDerivative,
}

OURS = {f"morula.core.rules.{name}" for name in (
    "operators", "scalar_math", "ufuncs", "inverse_functions", "special", "bessel", "gamma_functions", "incomplete_functions",
    "distribution_functions", "hypergeometric",
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
            if isinstance(callee, types.FunctionType) and callee.__module__ in OURS and callee not in RULES:
                if callee not in seen:
                    seen.add(callee)
                    own.append((function, callee))
            else:
                assert callee in RULES or callee in LANGUAGE, f"the rule of {function} calls {callee}, which has none"


OF_FACTORS = {"qr_insert", "qr_delete", "qr_update", "rsf2csf", "qz", "ordqz"}
"""Of these the arguments are factors that stay orthogonal, or the results have phases that are not determined: differences of all
arguments and results do not tell their derivative. Their tests differentiate programs that make the factors."""

PARTS_OF_RESULTS = {f"function {letter}{name}" for letter in "sdcz" for name in ("gbsv", "gtsv", "sysv")}
"""Of these a derivative is known for the solution, not for the factors, so that the tester cannot ask for all results."""


def needs_a_case(rule):
    """Whether the tester of rules can call a function: one with a derivative that writes into none of its arguments.

    Functions of this library are met in the derivatives and models of public ones.
    """
    function = rule.function
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    is_placeholder = isinstance(function, tuple)  # not in this version of a library
    is_ours = module.startswith("morula.") or function is np.float16  # too coarse for differences
    return not (rule.is_zero or rule.writes or is_placeholder or is_ours or name in PARTS_OF_RESULTS | OF_FACTORS)


def test_every_function_with_a_derivative_has_a_case_of_the_tester_of_rules():
    """From these cases the arguments are made with which all paths are compared."""
    tried = {case.function for file in rule_cases.FILES for case in rule_cases.cases_of(file)}
    missing = [rule.function for rule in RULES.values() if needs_a_case(rule) and rule.function not in tried]
    assert not missing, missing


def test_scipy_is_not_imported_by_the_rules_of_numpy():
    folder = Path(rules.__file__).parent
    for name in ("operators", "scalar_math", "ufuncs"):
        lines = (folder / f"{name}.py").read_text().splitlines()
        assert not [line for line in lines if line.startswith(("import scipy", "from scipy"))], name


def test_a_rule_of_a_compiled_function_that_is_not_there_fails_no_other():
    assert compiled("math", "not_there", "exp") is math.exp
    assert compiled("no_such_library", "part.function") not in RULES
    assert compiled("math", "not_there") == ("math", ("not_there",))
