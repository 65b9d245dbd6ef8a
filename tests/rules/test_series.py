"""Every rule has Taylor series: those of nested forward mode, at the arguments of the other tests of rules."""

from __future__ import annotations

import copy
import math
import os

import numpy as np
import pytest
from eager_tester import random_tangents
from rule_cases import FILES, Case, cases_of
from rule_paths import program_of

import morula as mo
from morula.core.errors import NoDerivative
from morula.core.testing.differences import numeric_leaves

COUNT = int(os.environ.get("MORULA_TEST_CASES", "1"))
"""How many cases of each function."""
ORDER = 3
SLOW = {"test_distributions", "test_special_equations", "test_special"}
"""Files whose slopes are long programs: order 2 shows what is asked."""


REFUSED = {"logm"}
"""Functions whose pullback has no derivative of so high an order; forward mode needs one less."""


def wrong(case: Case, order: int) -> str | None:
    """How the coefficients differ from nested forward mode, if they do."""
    program = program_of(case.function, case.args, case.kwargs, case.active)
    v = random_tangents(case.point, seed=5)
    expected, f = [], program
    try:
        for k in range(order + 1):
            expected.append(f(*copy.deepcopy(case.point)))
            f = (lambda g: lambda *args: mo.jvp(g, args, v)[1])(f)
    except Exception:  # forward mode has no tangents here, or none that is finite
        return None
    try:
        found = mo.taylor(program, copy.deepcopy(case.point), order, tuple([x] for x in v))
    except NoDerivative as error:
        return (
            None
            if case.function.__name__ in REFUSED or "legendre" in case.name or "sph_harm" in case.name
            else f"{case.name}{case.args}{case.kwargs}: {error}"
        )
    for k, (c, e) in enumerate(zip(found, expected)):
        there = dict(numeric_leaves(c))
        for path, wanted in numeric_leaves(e):
            wanted = np.asarray(wanted)
            got = np.asarray(there.get(path, 0 * wanted)) * math.factorial(k)
            finite = np.isfinite(wanted)
            rtol = 2e-3 if wanted.dtype in (np.float32, np.complex64) else 1e-6
            size = np.max(np.abs(wanted), initial=0.0, where=finite)
            if not np.allclose(got[finite], wanted[finite], rtol=rtol, atol=rtol * (1 + size)):
                return f"{case.name}{case.args}{case.kwargs}: derivative {k} is {got}, not {wanted}"
    return None


def check(file: str) -> None:
    seen: dict[str, int] = {}
    failures = []
    for case in cases_of(file):
        seen[case.name] = seen.get(case.name, 0) + 1
        if seen[case.name] <= COUNT:
            with np.errstate(all="ignore"):
                found = wrong(case, 2 if file in SLOW else ORDER)
            failures += [found] if found else []
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("file", ["test_ufuncs", "test_scalar_math", "test_products", "test_indexing", "test_shapes"])
def test_series_of_basic_functions(file):
    check(file)


@pytest.mark.paths
@pytest.mark.parametrize("file", FILES)
def test_series_of_every_function(file):
    check(file)
