"""Statements of several families in one program, to find errors that occur only in combination."""

from __future__ import annotations

from ..grammar import Family
from .arrays import INDICES
from .flow import CLOSURES, EXCEPTIONS, GENERATORS
from .sharing import CHECKPOINTS

PARTS = (GENERATORS, EXCEPTIONS, CLOSURES, INDICES, CHECKPOINTS)

MIXED = Family(
    "mixed",
    prelude="\n".join(part.prelude for part in PARTS),
    statements=[s for part in PARTS for s in part.statements],
    expressions={kind: [e for part in PARTS for e in part.expressions.get(kind, ())] for kind in "fvm"},
    start=[s for part in PARTS for s in part.start],
    observed={kind: x for part in PARTS for kind, x in part.observed.items()},
    leaves=("f", "f", "v", "m"),
    length=(3, 7),
    settings=["ORDER = 2?"],
)

FAMILIES = (MIXED,)
