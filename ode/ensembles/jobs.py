"""Jobs computed by workers, as one operation that has derivatives: those of each job, computed by the same workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tqdm import tqdm

from ...core import adjoint, tangent
from .members import PYTHON, Cotangents, Job, Tangents


class Workers:
    """Where jobs are computed, and what the bar says.

    executor: the user's; by default the threads of this process, or for the target "python" this thread.
    sizes: the number of members of each job.
    """

    def __init__(self, executor: Any, sizes: Sequence[int], is_shown: bool) -> None:
        self.executor, self.sizes, self.is_shown = executor, list(sizes), is_shown

    def results(self, job: Job, arguments: Sequence[Any], what: str) -> list[Any]:
        """Return job(*a) for each a of ``arguments``."""
        with tqdm(total=sum(self.sizes), desc=what, unit="members", disable=not self.is_shown) as bar:
            if self.executor is not None:
                return self._submitted(self.executor, job, arguments, bar)
            if job.target == PYTHON or len(arguments) == 1:
                return self._called([partial(job, *a) for a in arguments], bar)
            with ThreadPoolExecutor(usable_cores()) as threads:
                return self._submitted(threads, job, arguments, bar)

    def _submitted(self, executor: Any, job: Job, arguments: Sequence[Any], bar: Any) -> list[Any]:
        futures = [executor.submit(job, *a) for a in arguments]
        try:
            return self._called([future.result for future in futures], bar)
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def _called(self, calls: Sequence[Callable[[], Any]], bar: Any) -> list[Any]:
        results: list[Any] = []
        for call, size in zip(calls, self.sizes):
            try:
                results.append(call())
            except Exception as error:
                first = sum(self.sizes[: len(results)])
                error.add_note(f"in members {first} to {first + size - 1} of the ensemble")
                raise
            bar.update(size)
        return results


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def computed(workers: Workers, job: Job, arguments: list[Any], what: str) -> list[Any]:
    """Return job(*a) for each a of ``arguments``."""
    return workers.results(job, arguments, what)


@adjoint(computed)
def _(workers: Workers, job: Job, arguments: list[Any], what: str) -> Any:
    def back(dys: list[Any]) -> Any:
        pairs = [(a, dy) for a, dy in zip(arguments, dys)]
        return None, None, computed(workers, Cotangents(job, job.target), pairs, "cotangents"), None

    return workers.results(job, arguments, what), back


@tangent(computed)
def _(workers: Workers, job: Job, arguments: list[Any], what: str) -> Any:
    def push(*tangents: Any) -> Any:
        pairs = [(a, t) for a, t in zip(arguments, tangents[2])]
        return computed(workers, Tangents(job, job.target), pairs, "tangents")

    return workers.results(job, arguments, what), push
