"""Functions that write into arrays, made functions of copies that return the new elements: these can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from ..values.layout import Describe, scan
from .compiled import check_overlap


class NotCompiled(BadInput):
    """A part is not compiled, or not yet, for its arguments."""


def written_places(found: Any, given: Any) -> tuple[int, ...]:
    """Return the positions of the arrays that a program writes.

    Raises:
        NotCompiled: it does more than to write into arguments, or they cannot be written.
    """
    program = found.program
    if program.updates or program.knows_objects or program.gives_arguments or program.may_give_arguments:
        raise NotCompiled
    leaves = scan(given)[0]
    if any(i >= len(program.leaves) for i in program.written):
        raise NotCompiled
    written = {id(leaves[program.leaves[i]]) for i in program.written}
    places = tuple(i for i, x in enumerate(given[0]) if id(x) in written)
    check_overlap([leaves[i] for i in program.leaves], program.written)
    others = Describe()
    others.describe(([x for i, x in enumerate(given[0]) if i not in places], given[1]))
    is_alone = len(places) == len(written) and written.isdisjoint(map(id, others.objects))
    if not is_alone or not all(given[0][i].flags.writeable for i in places):
        raise NotCompiled
    return places


def on_copies(f: Callable[..., Any], places: tuple[int, ...]) -> Callable[..., Any]:
    """Return ``f`` as a function that writes into copies of the arrays at these places, and returns them too."""

    def run(*args: Any, **kwargs: Any) -> Any:
        given = [x.copy() if i in places else x for i, x in enumerate(args)]
        y = f(*given, **kwargs)
        return y, tuple(given[i] for i in places)

    return run
