"""Log records of compiled code: those of Python, at the same lines, when the program runs."""

from __future__ import annotations

import logging
import math
import traceback
from contextlib import suppress

import numpy as np
import pytest

import morula as mo

LOG = logging.getLogger("morula.test")


def on_a_path(x):
    LOG.warning("begins")
    if x > 1:
        LOG.error("x is %.2f of %s", x, "two")
    return x * x


def in_a_loop(x):
    for i in range(12):
        if x > i:
            LOG.info(f"step {i} of {x}")
    return x * x


def before_a_fork(x):
    items = [x]
    LOG.log(logging.CRITICAL, "known")
    if x > 1:
        items.append(x)
        LOG.debug("not seen")
    return sum(items) * len(items)


def of_the_root(x):
    logging.warning("an array %s", np.array([x, 2.0]))
    return x


PROGRAMS = [on_a_path, in_a_loop, before_a_fork, of_the_root]


@pytest.mark.parametrize("x", [2.0, 0.5])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_records_of_python(f, x, target, caplog):
    caplog.set_level(logging.INFO)
    compiled = mo.jit(mo.value_and_grad(f), target=target)

    def logged(run):
        caplog.clear()
        y = run(x)
        return y, [
            (r.getMessage(), r.name, r.levelno, r.pathname, r.lineno, r.funcName)
            for r in caplog.records
            if r.name[:3] != "jax"
        ]

    expected = logged(f)
    for _ in range(2):
        (value, _), records = logged(compiled)
        assert (value, records) == expected


def test_levels_are_those_of_the_run(target, caplog):
    compiled = mo.jit(on_a_path, target=target)
    compiled(2.0)
    caplog.set_level(logging.CRITICAL)
    caplog.clear()
    compiled(2.0)
    assert not caplog.records


def test_refused(target):
    with pytest.raises(mo.BadInput, match="logging with stack_info cannot be compiled"):
        mo.jit(lambda x: (LOG.error("x", stack_info=True), x)[1], target=target)(2.0)
    with pytest.raises(mo.BadInput, match="log its parts"):
        mo.jit(lambda x: (LOG.error("%s", [x]), x)[1], target=target)(2.0)


def _root(x):
    if x > 5.0:
        raise ValueError(f"too large: {x}")
    return math.sqrt(x)


def caught(x):
    try:
        return _root(x) + 1
    except ValueError:
        LOG.exception("no root of %s", x)
        return 2 * x


def caught_and_raised(x):
    try:
        return _root(x)
    except Exception as error:
        LOG.error("no root", exc_info=error)
        raise


def nothing_caught(x):
    LOG.warning("nothing", exc_info=True)
    return x


@pytest.mark.parametrize("f", [caught, caught_and_raised, nothing_caught])
def test_with_the_exception_and_its_traceback(target, caplog, f):
    def told(f, x):
        caplog.clear()
        with suppress(ValueError):
            f(x)
        found = []
        for record in caplog.records:
            kind, error, trace = record.exc_info or (None, None, None)
            lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(trace)]
            found.append((record.getMessage(), kind, str(error), [line for line in lines if line[0] != "__call__"]))
        return found

    compiled = mo.jit(f, target=target)
    for x in (4.0, 9.0, -1.0):
        expected = told(f, x)
        assert told(compiled, x) == expected
    assert told(mo.jit(mo.grad(f), target=target), 9.0) == told(f, 9.0)


def test_what_a_level_leaves_out_costs_nothing(target):
    def f(x):
        LOG.debug("x is %s", {"x": x})  # not compiled if it is logged
        return x * x

    compiled = mo.jit(f, target=target)
    assert "callback" not in compiled.lower(3.0).as_text()
    assert compiled(3.0) == 9.0


def test_a_level_that_changes_compiles_again(target, caplog):
    def f(x):
        LOG.info("x is %s", x)
        return x * x

    compiled = mo.jit(f, target=target)
    for level in (logging.WARNING, logging.INFO, logging.WARNING, logging.DEBUG):
        with caplog.at_level(level, LOG.name):
            caplog.clear()
            assert compiled(3.0) == 9.0
            assert caplog.messages == ([] if level == logging.WARNING else ["x is 3.0"])
