"""Some hundreds of random programs of every family, and the kept programs that were once wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.families import FAMILIES
from fuzz.judge import Outcome, judge

PROGRAMS = {"aliasing": 6, "mixed": 5, "mutation": 10, "generators": 10}
COMPILED = {("raising", "native"): 12, ("raising", "xla"): 2}
KEPT = sorted((Path(__file__).parent / "kept").glob("*.py"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FAMILIES)
def test_programs_of_this_family_are_right_or_refused(name):
    family, programs = FAMILIES[name], PROGRAMS.get(name, 12)
    refused = compared = 0
    for seed in range(programs):
        text = family.write(seed)
        for tier in ("eager", "recorded") if seed % 4 == 0 else ("eager",):
            verdict = judge(text, tier)
            assert not verdict.outcome.is_failure, f"{tier}: {verdict.message}\n{text}"
        refused += verdict.outcome is Outcome.REFUSED
        compared += verdict.compared > 0 or verdict.message == "raised"
    assert refused <= family.refused * programs
    assert compared >= 0.6 * programs


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tier", ["native", "xla", "partial"])
@pytest.mark.parametrize("name", FAMILIES)
def test_compiled_programs_are_right_or_refused(name, tier):
    for seed in range(COMPILED.get((name, tier), 4 if tier == "partial" else 1)):
        text = FAMILIES[name].write(seed)
        verdict = judge(text, tier)
        assert not verdict.outcome.is_failure, f"{verdict.message}\n{text}"


@pytest.mark.parametrize("tier", ["eager", "recorded"])
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_program_that_was_wrong_once_is_right(path, tier):
    verdict = judge(path.read_text(), tier)
    assert verdict.outcome is Outcome.RIGHT, verdict.message
