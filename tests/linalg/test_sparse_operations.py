"""``docs/sparse_operations.md`` is what the code can do, tried anew for eager code; compiled code is tried by the tests of the operations."""

from __future__ import annotations

import pytest
from docs_scripts import load

page = load("sparse_operations")
COLUMNS = (*page.OURS, *page.PEERS)


def rows():
    found = {}
    for line in page.PAGE.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == len(COLUMNS) + 1 and cells[0] in {o.name for o in page.OPERATIONS}:
            found[cells[0]] = dict(zip(COLUMNS, cells[1:]))
    return found


ROWS = rows()


def test_every_operation_has_its_row():
    assert list(ROWS) == [o.name for o in page.OPERATIONS], "run: python docs/sparse_operations.py"


@pytest.mark.parametrize("operation", page.OPERATIONS, ids=lambda o: o.name)
def test_the_cells_of_eager_code(operation):
    cells = page.eager_cells(operation)
    assert cells == {column: ROWS[operation.name][column] for column in cells}, "run: python docs/sparse_operations.py"
