"""In how many forms a refused program is traced, and which of their refusals is shown."""

from __future__ import annotations

import pytest

import morula as mo
from morula.core.compilation import compiled, forms as forms_of_programs
from morula.core.specialise.statements import StatementsOf
from morula.core.specialise.steps import Steps


@pytest.fixture
def forms(monkeypatch):
    """The forms in which programs have been traced."""
    found, specialise = [], compiled.specialise

    def noted(*args, **options):
        found.append(tuple(k for k in ("may_choose", "may_fork", "may_grow") if options.get(k)))
        return specialise(*args, **options)

    monkeypatch.setattr(compiled, "specialise", noted)
    return found


def unsupported(x, n):
    return x.as_integer_ratio()


def merged_and_unsupported(x, n):
    y = x if x > 0.0 else -x
    return y.as_integer_ratio()


def of_two_kinds(x, n):
    y = None
    for _ in range(n):
        if x > 0.0:
            y = x
        else:
            y = None
    return (x if y is None else y).as_integer_ratio()


def longer(x, n):
    ys = []
    for i in range(n):
        ys.append(x * i)
    return sum(ys).as_integer_ratio()


@pytest.mark.parametrize(
    "f, expected",
    [
        (unsupported, [()]),
        (merged_and_unsupported, [()]),
        (of_two_kinds, [(), ("may_choose",)]),
        (longer, [(), ("may_choose", "may_grow")]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_program_is_traced_only_in_forms_that_may_help(f, expected, forms):
    with pytest.raises(mo.BadInput, match="as_integer_ratio"):
        mo.jit(f, target="native").lower(1.5, 3)
    assert list(dict.fromkeys(forms)) == expected


def test_the_refusal_is_that_of_the_form_that_came_furthest():
    with pytest.raises(mo.BadInput, match="as_integer_ratio"):
        mo.jit(longer, target="native").lower(1.5, 3)


def test_refused_programs_are_interpreted_a_few_times(monkeypatch):
    found, statement = [], StatementsOf.statement
    monkeypatch.setattr(StatementsOf, "statement", lambda self, node: (found.append(node), statement(self, node))[1])
    with pytest.raises(mo.BadInput):
        mo.jit(longer, target="native").lower(1.5, 3)
    assert len(found) <= 40


def growing_on_some_paths(x, n):
    ys = []
    for i in range(n):
        if x > i:
            ys.append(x)
    return sum(ys).as_integer_ratio()


def test_a_program_with_forks_is_refused_after_many_calls(monkeypatch):
    for name in ("FREE", "LAST_FREE"):
        monkeypatch.setattr(forms_of_programs, name, 50)
    monkeypatch.setattr(forms_of_programs, "LAST", 3)
    found, take = [], Steps.take
    monkeypatch.setattr(Steps, "take", lambda self: (found.append(1), take(self))[1])
    with pytest.raises(mo.BadInput, match="as_integer_ratio|needed"):
        mo.jit(growing_on_some_paths, target="native", static_argnums=1).lower(1.5, 9)
    assert len(found) < 600  # 1,019 if nothing ended the forks
