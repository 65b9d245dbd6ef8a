"""Today's date is a constant of a program for one day; other times, and random names, are made when a program has run."""

from __future__ import annotations

import copy
import datetime
import uuid

import numpy as np
import pytest

import morula as mo
from morula.core.specialise import after_run
from morula.core.testing.differences import ridders

TABLE: dict = {}


class Record:
    def __init__(self, x):
        self.x = x
        self.when = datetime.datetime.now(datetime.timezone.utc)
        self.name = uuid.uuid4()
        self.same = self.name


@pytest.fixture(params=["native", "xla"])
def target(request):
    return request.param


def recorded(x):
    record = Record(x * x)
    TABLE["last"] = record.name
    return record, [record.when, copy.deepcopy(record.name)], record.name is record.same


def test_each_run_makes_its_own(target):
    compiled = mo.jit(recorded, target=target)
    names = set()
    for _ in range(3):
        before = datetime.datetime.now(datetime.timezone.utc)
        record, (when, name), is_same = compiled(3.0)
        assert record.x == 9.0 and is_same is True
        assert type(record.name) is uuid.UUID and record.name is record.same is name is TABLE["last"]
        assert record.when is when and before <= when <= datetime.datetime.now(datetime.timezone.utc)
        names.add(name)
    assert len(names) == 3


def test_their_types_are_known(target):
    def f(x):
        name, when = uuid.uuid1(), datetime.datetime.today()
        if isinstance(name, uuid.UUID) and type(when) is datetime.datetime and not isinstance(when, str):
            return 2.0 * x
        return x

    assert mo.jit(f, target=target)(1.5) == 3.0
    assert mo.jit(mo.grad(f), target=target)(1.5) == 2.0


def test_one_that_a_condition_chooses(target):
    def f(x):
        name = None
        if x > 0.0:
            name = uuid.uuid4()
        return x, name

    compiled = mo.jit(f, target=target)
    assert compiled(-1.0) == (-1.0, None)
    first, second = compiled(1.0)[1], compiled(1.0)[1]
    assert type(first) is uuid.UUID and first != second


def of_today(x):
    today = datetime.date.today()
    return (today.year + today.timetuple().tm_yday / 365.0) * x * x


def test_the_date_of_today(target, monkeypatch):
    compiled, slope = mo.jit(of_today, target=target), mo.jit(mo.grad(of_today), target=target)
    assert compiled(1.5) == pytest.approx(of_today(1.5), rel=1e-15)
    assert slope(1.5) == pytest.approx(ridders(lambda h: of_today(1.5 + h), 0.01)[0], rel=1e-9)


def test_a_program_is_for_one_day():
    guard = after_run.Today()
    assert guard.holds()
    guard.found -= datetime.timedelta(days=1)
    assert not guard.holds()
    compiled = mo.jit(of_today)
    compiled(1.5)
    (form,) = compiled.forms.values()
    (program,) = form.programs.values()
    (found,) = [g for g in program.program.guards if type(g) is after_run.Today]
    found.found -= datetime.timedelta(days=1)
    compiled(1.5)
    assert [*form.programs.values()] != [program]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * datetime.datetime.now().year,
        lambda x: (x, str(uuid.uuid4())),
        lambda x: (x, f"{uuid.uuid4()}"),
        lambda x: {uuid.uuid4(): x},
        lambda x: (datetime.datetime.now() - datetime.datetime.now(), x),
        lambda x: x * uuid.uuid4().int,
        lambda x: x if datetime.datetime.now() < datetime.datetime(2020, 1, 1) else 2 * x,
        lambda x: (x, [uuid.uuid4()].index(3)),
        lambda x: np.full(2, x) * (uuid.uuid4() == 3),
    ],
)
def test_what_is_in_them_is_refused(f, target):
    with pytest.raises(
        mo.BadInput, match="is another one at each call, .* it can be stored and returned, but not used"
    ):
        mo.jit(f, target=target)(1.0)
