"""Compiled random programs about identity, order, iterators and side effects are right or refused."""

from __future__ import annotations

import pytest
from sample_sizes import drawn

from fuzz.families import FAMILIES
from fuzz.judge import Outcome, judge


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("tier", "seeds"), [("native", range(1, 1 + drawn(21))), ("xla", range(22, 22 + drawn(5)))])
def test_programs_with_state_are_right_or_refused(tier, seeds):
    family = FAMILIES["state"]
    right = 0
    for seed in seeds:
        text = family.write(seed)
        verdict = judge(text, tier)
        assert not verdict.outcome.is_failure, f"{verdict.message}\n{text}"
        right += verdict.outcome is Outcome.RIGHT
    assert right >= 0.8 * len(seeds)
