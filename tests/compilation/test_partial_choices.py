"""What ``jit(f, partial=True)`` compiles, what it leaves to Python, and how long it tries: see ``partial`` and ``race``."""

from __future__ import annotations

import functools
import io
import logging
import math

import pytest

import morula as mo
from morula.core.compilation import compiled, partial
from morula.core.compilation.race import LONG, QUICK, TRIES, Race

OUT = io.StringIO()
LOG = logging.getLogger("morula.test.partial")


def refused(x):
    """Write to a file, which compiled code does not do."""
    OUT.write("")


def compiled_parts(text):
    return [s for s in text.splitlines() if s.split()[2:3] == ["compiled"]]


def test_python_runs_what_is_too_small_to_be_compiled():
    def add(x):
        for _ in range(2):
            x = x + 1.0
        return x

    def f(x):
        refused(x)
        return add(x)

    part = mo.jit(f, partial=True)
    for _ in range(30):
        assert part(2.0) == 4.0
        assert mo.grad(part)(2.0) == 1.0
    assert "Python is faster without entering compiled code" in part.explain(2.0)


def test_data_that_grow_are_compiled_after_all():
    def total(x, n):
        for i in range(n):
            x = x + math.sin(i * x)
        return x

    def f(x, n):
        refused(x)
        return total(x, n)

    part = mo.jit(f, partial=True)
    for n in (1, 20_000):
        for _ in range(40):
            assert part(2.0, n) == pytest.approx(f(2.0, n))
    lines = part.explain(2.0, 20_000).splitlines()
    assert any("compiled" in s.split()[2:3] and "total" in s for s in lines)


def test_a_part_whose_result_is_a_number_has_a_compiled_gradient():
    def total(x, n):
        for i in range(n):
            x = x + math.sin(i * x) / (1 + i * i)
        return x

    def f(x):
        refused(x)
        return total(x, 2000) * x

    part = mo.jit(f, partial=True)
    assert mo.grad(part)(0.3) == pytest.approx(mo.grad(f)(0.3))
    found = next(code for code in part.parts.codes.values() if code.function is total)
    gradient = found.parts[total].with_gradient
    assert any(form.programs for form in gradient.forms.values())
    assert not found.reason


def test_a_path_that_prints_or_logs_is_run_by_python(capsys, caplog):
    def f(x):
        for i in range(2000):
            x = x + 0.001 * x
            if x > 30.0 and i == 1999:
                print("large", i)
        if x > 20.0:
            LOG.warning("exceeds %s", 20)
        return x * x

    part = mo.jit(f, partial=True)
    slope = mo.jit(mo.value_and_grad(f), partial=True)
    for x in (1.0, 4.5, 1.0, 3.0):
        for run, expected in ((part, f), (slope, mo.value_and_grad(f))):
            caplog.clear(), capsys.readouterr()
            y, out, messages = expected(x), capsys.readouterr().out, caplog.messages[:]
            caplog.clear()
            assert run(x) == pytest.approx(y)
            assert (capsys.readouterr().out, caplog.messages) == (out, messages)
    assert part.explain(1.0).startswith("f for the target native")


def test_a_part_that_prints_in_any_case_is_left_to_python(capsys):
    def f(x):
        print("begins")
        for _ in range(20_000):
            x = math.sin(x)
        return x

    part = mo.jit(f, partial=True)
    for _ in range(20):
        assert part(1.0) == pytest.approx(f(1.0))
        assert capsys.readouterr().out == "begins\n" * 2
    text = part.explain(1.0)
    assert "it prints, logs or calls Python while it runs" in text
    assert any("the loop at" in s for s in compiled_parts(text))


class Simulation:
    """Does its work while it is made, as some packages do."""

    def __init__(self, x, steps):
        refused(x)
        self.x = x
        for i in range(steps):
            x = x + math.sin(i * x) / (1 + i * i)
        self.result = x


class Derived(Simulation):
    def __init__(self, x):
        super().__init__(x, steps=3000)
        self.square = self.result * self.result


class Returning:
    def __init__(self, x):
        return refused(x) or x  # noqa: PLE0101


class Singleton:
    made = None

    def __new__(cls, x):
        cls.made = cls.made or object.__new__(cls)
        return cls.made

    def __init__(self, x):
        refused(x)
        self.x = x


def test_constructors_are_parts():
    def f(x):
        refused(x)
        return Derived(x).square * Simulation(x, 3000).x

    part = mo.jit(f, partial=True)
    for x in (0.3, 0.7):
        assert part(x) == pytest.approx(f(x), rel=1e-12)
        assert mo.grad(part)(x) == pytest.approx(mo.grad(f)(x), rel=1e-9)
    assert any("the loop at" in s for s in compiled_parts(part.explain(0.3)))


class Point:
    """Caches what is computed from it, also for ``repr`` and ``hash``."""

    x = 0.0

    def __init__(self, x):
        refused(x)
        for _ in range(3):
            self.x = x

    @functools.cached_property
    def double(self):
        return 2.0 * self.x

    def __repr__(self):
        return f"Point({self.double})"

    __hash__ = None

    def __eq__(self, other):
        return self.double == other.double


class Hashed(Point):
    def __hash__(self):
        return hash(self.double)


@pytest.mark.parametrize("cls", [Point, Hashed])
def test_objects_without_attributes_yet_are_not_looked_at(cls):
    part = mo.jit(lambda x: cls(x).double, partial=True)
    for x in (1.5, 2.5, 3.5):
        assert part(x) == 2.0 * x
        assert mo.grad(part)(x) == 2.0


def test_refusals_do_not_call_methods_of_arguments():
    point = Point.__new__(Point)
    with pytest.raises(mo.BadInput, match="Point is a compile-time constant .* but is not hashable"):
        mo.jit(lambda p: 1.0)(point)
    assert not vars(point)


def test_constructors_that_do_more_are_pythons():
    def f(x):
        refused(x)
        return Singleton(x).x + Singleton(2.0 * x).x

    assert mo.jit(f, partial=True)(1.5) == f(1.5) == 4.5
    assert mo.grad(mo.jit(f, partial=True))(1.5) == 3.0
    with pytest.raises(TypeError, match=r"__init__\(\) should return None, not 'float'"):
        mo.jit(lambda x: Returning(x), partial=True)(1.5)


def test_solvers_in_c_are_no_effects():
    from scipy.optimize import brentq

    def f(a):
        return brentq(lambda x: x**3 - a, 0.0, 5.0)

    assert mo.jit(mo.grad(f), partial=True)(8.0) == pytest.approx(1 / 12)
    assert mo.jit(f, partial=True).explain(8.0).startswith("f for the target native")


def nested(x, depth):
    for _ in range(3):
        x = math.sin(x) if depth == 0 else nested(x, depth - 1)
    return x


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"most": 100}, "more than 100 calls of functions and operators"),
        ({"seconds": 0.0}, "more than 0 s; compile its parts"),
    ],
)
def test_a_part_that_is_too_long_to_trace_is_divided(monkeypatch, limit, text):
    monkeypatch.setattr(partial.Part, "limits", {**limit, "is_pure": True})
    part = mo.jit(lambda x: nested(x, 4), partial=True)
    for _ in range(2):
        assert part(0.5) == pytest.approx(nested(0.5, 4))
        assert mo.grad(part)(0.5) == pytest.approx(mo.grad(nested)(0.5, 4))
    assert text in part.explain(0.5)


def test_compiling_stops_when_it_takes_too_long(monkeypatch):
    monkeypatch.setattr(partial, "ALLOWANCE", -1e9)
    part = mo.jit(lambda x: nested(x, 2), partial=True)
    assert part(0.5) == pytest.approx(nested(0.5, 2))
    assert mo.grad(part)(0.5) == pytest.approx(mo.grad(nested)(0.5, 2))
    assert not part.forms or not any(form.programs for form in part.forms.values())


def test_functions_around_a_refused_one_are_not_traced_again_at_once(monkeypatch):
    def innermost(x):
        refused(x)
        return x * x

    def inner(x):
        return innermost(x) + x

    def outer(x):
        return inner(x) * x

    traced, specialised = [], compiled.specialised
    monkeypatch.setattr(
        "morula.core.compilation.jitted.specialised",
        lambda f, *args, **options: (traced.append(f), specialised(f, *args, **options))[1],
    )
    part = mo.jit(outer, partial=True)
    for _ in range(20):
        assert part(3.0) == 36.0
    assert traced == [outer]


def test_a_trace_with_forks_gives_way_to_other_forms():
    def f(x):
        found = []
        for i in range(14):
            if x > i:
                found.append(x * i)
        return len(found) * sum(found)

    text = mo.jit(f, target="native").explain(3.5)
    assert "after trace" in text
    assert mo.jit(f)(3.5) == f(3.5) and mo.grad(mo.jit(f))(3.5) == mo.grad(f)(3.5)


# Races


def run(race, in_parts, alone, calls, is_compiled=True):
    """Return how many of some calls were made without parts, of such lengths."""
    taken = 0
    for _ in range(calls):
        is_alone = not race.is_over and race.is_alone()
        taken += is_alone
        if not race.is_over:
            race.note(is_alone, alone if is_alone else in_parts, is_compiled)
    return taken


def test_the_faster_form_is_chosen():
    race = Race()
    assert run(race, 1e-4, 3e-4, 1000) == 2 and race.is_over
    race = Race()
    assert run(race, 1e-4, 0.9e-4, 1000) > 700 and race.is_won_alone


def test_parts_that_become_faster_are_chosen_later():
    race = Race()
    run(race, 1e-4, 0.5e-4, 100)
    assert race.is_won_alone
    run(race, 1e-5, 0.5e-4, 200)
    assert race.is_over and not race.is_won_alone


@pytest.mark.parametrize(("seconds", "is_compiled"), [(QUICK / 2, True), (2 * LONG, False), (LONG / 2, True)])
def test_short_and_long_calls_are_not_compared(seconds, is_compiled):
    race = Race()
    assert run(race, seconds, 1e-9, 100, is_compiled) == 0 and race.calls == TRIES


def test_other_data_begin_another_race():
    race = Race()
    run(race, 1e-4, 0.5e-4, 50)
    assert race.is_won_alone
    assert run(race, 1e-4, 1e-2, 100) < 20 and race.is_over
