"""Log records of compiled code: those of Python, at the same lines, when the program runs."""

from __future__ import annotations

import logging

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
    with pytest.raises(mo.BadInput, match="logging with exc_info cannot be compiled"):
        mo.jit(lambda x: (LOG.error("x", exc_info=True), x)[1], target=target)(2.0)
    with pytest.raises(mo.BadInput, match="log its parts"):
        mo.jit(lambda x: (LOG.error("%s", [x]), x)[1], target=target)(2.0)
