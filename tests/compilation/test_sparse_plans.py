"""Plans and colourings: every entry of a random matrix is found again in its compressed columns and rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from morula.core.compilation.sparse import colouring
from morula.core.compilation.sparse.colouring import colours_of_columns, star_colours
from morula.core.compilation.sparse.plans import in_order, plan_of, plan_of_symmetric, seeds_of


def as_pattern(a):
    found = sparse.csr_array(a != 0)
    found.sort_indices()
    return found


@st.composite
def matrices(draw, symmetric=False):
    """Random matrices with some full rows and columns."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, n = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    m = n if symmetric else m
    a = rng.normal(size=(m, n)) * (rng.random((m, n)) < draw(st.sampled_from([0.05, 0.2, 0.5])))
    for _ in range(draw(st.integers(0, 2))):
        a[rng.integers(m)] = rng.normal(size=n)
    if not symmetric and draw(st.booleans()):
        a[:, rng.integers(n)] = 1.0
    return a + a.T if symmetric else a


def entries_found(plan, a):
    parts = [] if plan.columns is None else [seeds_of(plan.columns, float) @ a.T]
    parts += [] if plan.rows is None else [seeds_of(plan.rows, float) @ a]
    if not parts:
        return np.zeros(a.shape)
    data = in_order(parts, plan.places)
    return sparse.csr_array((data, plan.pattern.indices, plan.pattern.indptr), shape=a.shape).toarray()


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@settings(max_examples=60, deadline=None)
@given(a=matrices())
def test_a_plan_finds_every_entry(mode, a):
    plan = plan_of(as_pattern(a), mode)
    np.testing.assert_allclose(entries_found(plan, a), a, atol=1e-12)
    columns, rows = plan.counts
    assert columns <= a.shape[1] and rows <= a.shape[0]
    assert (mode != "forward" or not rows) and (mode != "reverse" or not columns)


@settings(max_examples=80, deadline=None)
@given(a=matrices(symmetric=True))
def test_a_plan_of_a_symmetric_matrix_finds_every_entry(a):
    plan = plan_of_symmetric(as_pattern(a))
    np.testing.assert_allclose(entries_found(plan, a), a, atol=1e-12)
    if plan.columns is not None:
        assert plan.counts[0] <= a.shape[0]


def test_a_star_colouring_takes_no_more_colours_than_one_of_columns():
    n = 60
    for bands in ([0, 1], [0, 1, 2], [0, 1, 8]):
        a = as_pattern(sum(np.eye(n, k=s * b) for b in bands for s in (1, -1)))
        assert star_colours(a).max() <= colours_of_columns(a).max()


def test_large_patterns_are_coloured_by_a_compiled_loop(monkeypatch):
    a = as_pattern(np.random.default_rng(0).random((40, 40)) < 0.1)
    by_python = colours_of_columns(a), star_colours((a + a.T).tocsr())
    monkeypatch.setattr(colouring, "SMALL", 0)
    for found, wanted in zip((colours_of_columns(a), star_colours((a + a.T).tocsr())), by_python, strict=True):
        np.testing.assert_array_equal(found, wanted)
