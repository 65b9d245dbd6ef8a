"""The time to compile, the time of a call, and the memory of residuals for the backward sweep."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from statistics import median

from ..racing.desk import Started
from ..racing.race import Stable, differs
from ..report import Table
from ..worker import Failure, Worker
from .contenders import CONTENDERS
from .desk import Desk
from .program import find, programs

COMPILERS = ("JAX", "native", "xla")
CACHED = (
    ("gauss_seidel", "native"),
    ("lorenz", "native"),
    ("cavity_flow", "native"),
    ("lorenz", "xla"),
    ("syrk", "xla"),
)


def growth(limit: float) -> Table:
    """Seconds of the first call as the number of lines doubles, each in a new process, and the growth factors."""
    rows = [["lines", *(f"{c}, s" for c in COMPILERS), *(f"{c}, growth" for c in COMPILERS)]]
    before: dict[str, float] = {}
    for name, program in programs("compiling").items():
        if not name.startswith("straight"):
            continue
        reference = _first("hand", name, program.size, limit, {})
        now: dict[str, float] = {}
        cells = []
        for c in COMPILERS:
            answer = _first(c, name, program.size, limit, {})
            problem = _problem(answer, reference, program.rtol)
            if problem is None and isinstance(answer, Started):
                now[c] = answer.seconds
            cells.append(problem or f"{now[c]:.3f}")
        ratios = [f"{now[c] / before[c]:.2f}" if c in now and c in before else "" for c in COMPILERS]
        rows.append([f"{program.size:,}", *cells, *ratios])
        before = now
    return rows


def cached(limit: float) -> Table:
    """Seconds of the first call in one process, and in a second one that finds the compiled program in the cache."""
    rows = [["program", "target", "first process, s", "second process, s"]]
    for name, target in CACHED:
        with tempfile.TemporaryDirectory() as folder:
            environment = {"MORULA_CACHE": "1", "MORULA_CACHE_DIR": folder}
            answers = [_first(target, name, find(name).size, limit, environment) for _ in range(2)]
        cells = [f"{a.seconds:.3f}" if isinstance(a, Started) else "fails" for a in answers]
        rows.append([name, target, *cells])
    return rows


def overhead(stable: Stable, repeats: int) -> Table:
    """Microseconds until a call returns that computes almost nothing."""
    rows = [["call", "us"]]
    for c in COMPILERS:
        answer = stable.order(c, "start", "dot", 4)
        if isinstance(answer, Failure):
            rows.append([c, "fails"])
            continue
        stable.order(c, "returns", 100)
        times = [t for _ in range(repeats) if isinstance(t := stable.order(c, "returns", 2000), float)]
        rows.append([c, f"{median(times) * 1e6:.2f}"])
    return rows


def kept(limit: float, names: Sequence[str] = ("store", "checkpoint", "lorenz")) -> Table:
    """The peak memory of a call in MB and its time, each in a new process."""
    contenders = ("hand", *COMPILERS)
    rows = [["program", "size", *(f"{c}, MB" for c in contenders), *(f"{c}, ms" for c in contenders)]]
    for name in names:
        program = find(name)
        reference, peaks, times = None, [], []
        for c in contenders:
            worker = Worker(partial(Desk, c), CONTENDERS[c].environment)
            answer = worker.order("start", name, program.size, limit=limit)
            reference = reference or answer
            problem = _problem(answer, reference, program.rtol)
            peak, seconds = worker.order("memory", limit=limit), worker.order("time", 1, limit=limit)
            worker.stop()
            peaks.append(problem or _number(peak, 1e-6, ".1f"))
            times.append("" if problem else _number(seconds, 1e3, ".3g"))
        rows.append([name, str(program.size), *peaks, *times])
    return rows


def _first(contender: str, name: str, size: object, limit: float, environment: dict[str, str]) -> Started | Failure:
    worker = Worker(partial(Desk, contender), {**CONTENDERS[contender].environment, **environment})
    answer = worker.order("start", name, size, limit=limit)
    worker.stop()
    return answer


def _number(x: object, scale: float, form: str) -> str:
    return format(x * scale, form) if isinstance(x, int | float) else "fails"


def _problem(answer: object, reference: object, rtol: float) -> str | None:
    if not isinstance(answer, Started):
        return "fails"
    return "wrong" if isinstance(reference, Started) and differs(answer, reference, rtol) else None
