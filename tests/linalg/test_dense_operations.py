"""``docs/dense_operations.md`` is what the code can do, tried anew for eager code; compiled code is tried by the tests of the rules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs"
_spec = importlib.util.spec_from_file_location("dense_operations", FOLDER / "dense_operations.py")
assert _spec is not None and _spec.loader is not None
dense = sys.modules["dense_operations"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(dense)

COLUMNS = (*dense.OURS, *dense.PEERS)


def rows():
    found = {}
    for line in dense.PAGE.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == len(COLUMNS) + 1 and cells[0] in {o.name for o in dense.OPERATIONS}:
            found[cells[0]] = dict(zip(COLUMNS, cells[1:]))
    return found


ROWS = rows()


def test_every_operation_has_its_row():
    assert list(ROWS) == [o.name for o in dense.OPERATIONS], "run: python docs/dense_operations.py"


@pytest.mark.parametrize("operation", dense.OPERATIONS, ids=lambda o: o.name)
def test_the_cells_of_eager_code(operation):
    cells = dense.eager_cells(operation)
    assert cells == {column: ROWS[operation.name][column] for column in cells}, "run: python docs/dense_operations.py"
