"""A process of its own for what is measured, which answers requests.

A failed request returns a ``Failure``.  So does a request that takes too long or kills the process; the next one then
starts a new process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Answer = Any


@dataclass(frozen=True)
class Failure:
    """Why there is no answer: a reason in one line, and the full text."""

    reason: str
    text: str


class Worker:
    """A process with one desk.  ``order`` calls a method of the desk and waits for its result, ``limit`` seconds at most.

    ``make`` makes the desk, in the process; it must be picklable.
    """

    def __init__(self, make: Callable[[], Any], environment: dict[str, str]) -> None:
        self.make = make
        self.environment = environment
        self.process: Any = None
        self.connection: Any = None

    def order(self, what: str, *details: Any, limit: float = 300.0) -> Answer | Failure:
        if self.process is None:
            self._start()
        try:
            self.connection.send((what, details))
            if self.connection.poll(limit):
                return self.connection.recv()
            self.stop()
            reason = f"more than {limit:.0f} s"
        except (EOFError, OSError):
            reason = f"its process ended with code {self.stop()}"
        return Failure(reason, reason)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.make), daemon=True)
        with _environment(self.environment):
            self.process.start()
        other.close()

    def stop(self) -> int | None:
        """End the process at once, and return its exit code."""
        if self.process is None:
            return None
        self.process.join(0.2)  # a crashed process ends with its own exit code
        self.process.kill()
        self.process.join()
        self.connection.close()
        code, self.process = self.process.exitcode, None
        return code


@contextlib.contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _serve(connection: Any, make: Callable[[], Any]) -> None:
    desk = make()
    while True:
        try:
            what, details = connection.recv()
        except EOFError:
            return
        try:
            answer = getattr(desk, what)(*details)
        except Exception as error:
            said = " ".join([str(error), *getattr(error, "__notes__", ())]).split()
            answer = Failure(f"{type(error).__name__}: {' '.join(said)}", traceback.format_exc())
        connection.send(answer)
