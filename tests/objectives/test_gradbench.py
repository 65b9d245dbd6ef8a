"""The objectives of GradBench as ``benchmarks/modes`` writes them: derivatives on every path, against other references."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from gradbench_references import PUBLISHED, REFERENCES
from path_tester import PATHS, run_on

from benchmarks.modes.program import derivatives, find
from benchmarks.racing.desk import leaves

OBJECTIVES = list(derivatives("objectives"))


@cache
def reference(name):
    derivative = find(name)
    return list(leaves(REFERENCES[name](*derivative.inputs(derivative.small))))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_of_gradbench_has_the_right_derivative(name, path):
    derivative = find(name)
    found = list(leaves(run_on(path)(derivative.morula)(*derivative.inputs(derivative.small))))
    assert len(found) == len(reference(name))
    for got, expected in zip(found, reference(name)):
        assert np.shape(got) == np.shape(expected) and np.any(expected)
        np.testing.assert_allclose(got, expected, rtol=0.0, atol=max(derivative.rtol, 1e-10) * np.max(np.abs(expected)))


@pytest.mark.parametrize("path", [p for p in PATHS if p != "eager"])  # eagerly, they take minutes
@pytest.mark.parametrize("name", [n for n in OBJECTIVES if find(n).module in PUBLISHED])
def test_nested_descents_end_where_gradbench_says(name, path):
    derivative = find(name)
    found = run_on(path)(derivative.morula)(*derivative.inputs(derivative.size))
    np.testing.assert_allclose(found, PUBLISHED[derivative.module], rtol=1e-12)
