"""The loop of all searches: evaluations, history, callback, progress, and the limit on iterations.

A method is a state machine (``Search``) that names the next point to evaluate and is told the evaluation there. The
function is therefore called at one place only, whatever the method does with it: a compiled search contains the user's
program once, ``vmap`` evaluates all problems of a batch together, and a search can be stored between any two iterations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from tqdm import tqdm

from .results import MAX_ITERATIONS, RUNNING, STOPPED


class Search(ABC):
    """The state of one search; plain numbers and arrays, so that it can be pickled."""

    point: Any
    """The best point so far."""
    value: float
    """What is minimised, at ``point``."""
    measure: float
    """What is compared with the tolerance, at ``point``."""
    trial: Any
    """The point to evaluate next."""
    moved: bool
    """Whether the last evaluation completed an iteration."""
    code: int
    """``RUNNING``, or the code of the status."""
    iterations: int
    evaluations: int

    @abstractmethod
    def learn(self, problem: Any, evaluation: Any) -> None:
        """Take the evaluation of ``trial``: set the attributes above."""


def iterate(
    problem: Any,
    search: Search,
    max_iterations: int,
    callback: Callable[[], Any] | None,
    keep_history: bool,
    progress: bool,
) -> Any:
    """Run ``search`` on ``problem`` until it ends; return its history, or None.

    ``max_iterations`` counts from the start of the first run of a resumed search. ``callback`` is called after every
    iteration, and ends the search by a true value.
    """
    history = np.zeros((max_iterations + 1, 2)) if keep_history else None
    bar = tqdm(total=max_iterations, desc="iterations") if progress else None
    if search.code == MAX_ITERATIONS or search.code == STOPPED:
        search.code = RUNNING
        if search.iterations >= max_iterations:
            search.code = MAX_ITERATIONS
    while search.code == RUNNING:
        is_start = search.evaluations == 0
        with np.errstate(all="ignore"):  # a trial may leave the domain; searches handle NaN and Inf
            search.learn(problem, problem(search.trial))
        search.evaluations += 1
        if search.moved:
            search.iterations += 1
        if history is not None and (search.moved or is_start):
            history[search.iterations, 0] = search.value
            history[search.iterations, 1] = search.measure
        if search.code == RUNNING and search.iterations >= max_iterations and (search.moved or is_start):
            search.code = MAX_ITERATIONS
        if search.moved:
            if bar is not None:
                bar.set_postfix_str(f"value {search.value:.6g}, measure {search.measure:.2g}", refresh=False)
                bar.update()
            if callback is not None and callback() and search.code == RUNNING:
                search.code = STOPPED
    if bar is not None:
        bar.close()
    return None if history is None else history[: search.iterations + 1]


def searched(
    problem: Any,
    search: Search,
    found: Callable[[], Any],
    max_iterations: int,
    callback: Callable[[Any], Any] | None,
    keep_history: bool,
    progress: bool,
    is_resumable: bool,
) -> Any:
    """Run ``search`` on ``problem`` until it ends; return its result: what ``found`` makes of it, history and state."""
    seen = None if callback is None else lambda: callback(found())
    history = iterate(problem, search, max_iterations, seen, keep_history, progress)
    result = found()
    result.history = history
    if is_resumable:
        result.state = search
    return result
