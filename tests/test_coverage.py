"""``docs/coverage.md`` is complete and correct: every name is listed, and its claims are tried."""

from __future__ import annotations

import importlib
import re
import warnings

import numpy as np
import pytest
import scipy
from docs_scripts import load

import morula as mo

coverage, compiled = load("coverage"), load("coverage_compiled")
STATES = coverage.states()
CALLS = [(m, name, call) for m, names in coverage.SOURCE.items() for name, calls in names.items() for call in calls]


def published():
    """The page, as states by module and name, and its columns for compiled code."""
    found: dict[str, dict[str, str]] = {}
    columns: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in coverage.PAGE.read_text().splitlines():
        heading, row = re.match(r"## (.*)", line), re.match(r"\| `(.*?)` \| (.*?) \| (.*?) \| (.*?) \|", line)
        if heading:
            found[heading[1]] = {}
        elif row:
            list(found.values())[-1][row[1]] = row[2]
            if row[3] or row[4]:
                columns.setdefault(list(found)[-1], {})[row[1]] = (row[3], row[4])
    return found, columns


STATED, COLUMNS = published()
TRIED = [(m, name) for m, names in coverage.SOURCE.items() for name in names if name in COLUMNS.get(m, {})]


def test_no_name_is_missing_without_a_reason():
    assert [(m, name) for m, names in STATES.items() for name, text in names.items() if text == "missing"] == []


def test_the_page_is_up_to_date():
    """Other versions of the libraries have names of their own; the names in common have the same state."""
    page = STATED
    assert list(page) == list(STATES)
    for module, names in STATES.items():
        common = names.keys() & page[module]
        assert {n: names[n] for n in common} == {n: page[module][n] for n in common}, "run: python docs/coverage.py"
    if f"{np.__version__} and SciPy {scipy.__version__}." in coverage.PAGE.read_text():
        assert coverage.PAGE.read_text() == coverage.page(STATES, COLUMNS), "run: python docs/coverage.py"


def test_no_reason_is_given_for_what_is_differentiated():
    for table in (coverage.NOTHING, coverage.REFUSED, coverage.MISSING):
        for module in table:
            for name in coverage.reasons(table, module).keys() & STATES[module].keys():
                assert ":" in STATES[module][name], f"{module}.{name}: {STATES[module][name]}"


@pytest.mark.parametrize(("module", "name", "call"), CALLS, ids=[f"{m}.{name}" for m, name, _ in CALLS])
def test_what_is_said_to_be_differentiated_from_its_source_is(module, name, call):
    program, *args = call
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # np.row_stack
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # np.matrix
        order = 2 if module == "numpy" and name != "kaiser" else 1  # kaiser: a square root of zero
        mo.testing.check_gradients(program, *args, order=order, rtol=1e-5)


MISSING = [
    getattr(importlib.import_module(module), name)
    for module, names in STATES.items()
    for name, text in names.items()
    if text.startswith("missing") and isinstance(getattr(importlib.import_module(module), name), np.ufunc)
]


@pytest.mark.parametrize("ufunc", MISSING, ids=lambda u: u.__name__)
def test_what_is_missing_is_refused_in_every_argument(ufunc):
    """Where a derivative that is not known would matter, there is an error, and never zero."""
    given = [0.5] * ufunc.nin
    for i in range(ufunc.nin):

        def program(x, i=i):
            y = ufunc(*given[:i], x, *given[i + 1 :])
            return np.real(y[0] if isinstance(y, tuple) else y)

        with np.errstate(all="ignore"), warnings.catch_warnings(), pytest.raises(mo.NoDerivative):
            warnings.simplefilter("ignore")
            mo.grad(program)(0.5)


def test_no_compiled_number_is_wrong():
    """The script that writes the page raises where one is; what it may write is one of these words."""
    words = re.compile(r"(compiles|in Python|refused: .+|)(; gradient refused: .+|; some refused: .+)*")
    assert COLUMNS
    for names in COLUMNS.values():
        assert all(words.fullmatch(text) for texts in names.values() for text in texts)


@pytest.mark.parametrize(("module", "name"), TRIED[::6], ids=lambda x: x)
def test_what_is_said_to_compile_does(module, name):
    """A sample of the page, tried again for native code."""
    calls = [(call[0], call[1:], {}) for call in coverage.SOURCE[module][name]]
    assert compiled.state(calls, "native") == COLUMNS[module][name][0], "run: python docs/coverage.py"
