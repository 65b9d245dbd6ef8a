"""Policies for the backward sweep of a loop: what it stores and what it recomputes, chosen by name or by a budget.

A loop is reversed segment by segment, last to first. A *segment* is a number of iterations that are run once more, with
what their adjoint needs stored, and then reversed. *Snapshots* are states of the loop at the beginnings of segments, from
which others are recomputed by a binomial schedule (``schedules``).

    store        everything is stored, nothing that is expensive is recomputed
    recompute    a snapshot of every iteration
    sqrt         segments of about sqrt(n) of n iterations, and a snapshot of each: one more run of the loop
    revolve(s)   s snapshots, segments of one iteration: the fewest recomputed iterations for this memory
    online(s)    at most s snapshots of a loop whose number of iterations is not known before it has run: at equal
                 distances, of which every second is dropped when s are taken (Heuveline and Walther, "Online
                 checkpointing for parallel adjoint computation in PDEs", Euro-Par 2006)
    offload      a snapshot of every segment, in a file; segments of what fits into ``OFFLOADED_SEGMENT`` bytes
    inverse      nothing is stored: the state before an iteration is computed from the state after it (``inverse``)
    memory       snapshots and segments for which the fewest iterations are recomputed within a number of bytes
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput
from .schedules import advances

NAMES = ("store", "recompute", "sqrt", "online", "offload", "inverse")
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

MOST_ITERATIONS = 2**62
"""More iterations than any loop has."""
UNKNOWN = 256
"""The snapshots for a loop whose number of iterations is unknown, unless they would take more than ``MOST_BYTES``."""
MOST_BYTES = 2**28
FEW = 8
SEGMENT = 128
"""The iterations of a segment of such a loop, unless their states take more than ``SEGMENT_BYTES``."""
SEGMENT_BYTES = 2**20
TOLERANCE = 1e-6
"""The largest drift that is accepted of a loop that is reversed by inverses."""
OFFLOADED_SEGMENT = 2**23
"""The bytes that the adjoint of a segment may take where snapshots are held in a file."""


@dataclass(frozen=True)
class Plan:
    """How a loop is reversed: at most so many snapshots, and so many iterations in a segment."""

    snapshots: int
    segment: int
    is_offloaded: bool = False  # whether snapshots are held in a file

    def extra(self, length: int) -> float:
        """The number of iterations run beyond those of the forward sweep, in units of the loop's length."""
        segments = -(-length // self.segment)
        again = (advances(segments, self.snapshots) - (segments - 1)) * self.segment
        return (again + length) / max(1, length)


@dataclass(frozen=True)
class Note:
    """What was chosen for a loop, for ``explain``: the predicted peak in bytes, and a text."""

    peak: float
    text: str


class Report:
    """The drift of the last backward sweep that has computed states by inverses; None before the first."""

    drift: float | None = None


class Reports:
    """What a compiled sweep calls with its drift."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self.reports = reports
        self.__name__ = "drift"

    def __call__(self, drift: Any) -> tuple[()]:
        for report in self.reports:
            report.drift = float(drift)
        return ()


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """A policy for the loops of one checkpointed call; its identity tells which loops share a budget."""

    name: str = ""
    snapshots: int | None = None
    memory: float | None = None
    directory: str | None = None  # that of the files, if the states are offloaded
    tolerance: float | None = None  # the largest drift, if states are computed by inverses
    report: Report = field(default_factory=Report)
    notes: dict[int, Note] = field(default_factory=dict)  # by line of a loop: what was chosen for it

    def __repr__(self) -> str:
        given = self.snapshots if self.memory is None else text_of_bytes(self.memory)
        return f"<memory policy {self.name or 'by default'}{'' if given is None else f' {given}'}>"

    @property
    def is_stored(self) -> bool:
        return self.name == "store"

    @property
    def is_offloaded(self) -> bool:
        return self.name == "offload"

    @property
    def is_inverse(self) -> bool:
        return self.name == "inverse"

    @property
    def is_for_loops(self) -> bool:
        """Whether it was asked for, rather than chosen by default."""
        return self.name != ""

    @property
    def drift(self) -> float | None:
        """The drift of the last backward sweep under this policy, if it is ``inverse``; None before the first sweep."""
        return self.report.drift

    def renewed(self) -> Policy:
        """The same policy for another call."""
        return Policy(self.name, self.snapshots, self.memory, self.directory, self.tolerance, self.report)


def policy_of(policy: Any, memory: Any) -> Policy:
    """Return the policy that the arguments of ``checkpoint`` name.

    Raises:
        BadInput: the policy or the number of bytes is not one, or both are given.
    """
    if memory is not None:
        if policy is not None:
            raise BadInput("checkpoint takes a policy or memory=, not both: from a budget the policy follows")
        return Policy("memory", memory=bytes_of(memory))
    if policy is None:
        return Policy()
    if isinstance(policy, Policy):
        return policy.renewed()
    if isinstance(policy, str) and policy in NAMES:
        return Policy(policy)
    hint = " (morula.revolve(n) needs the number of snapshots)" if policy == "revolve" else ""
    raise BadInput(
        f"checkpoint: there is no policy {policy!r}{hint}; use one of {', '.join(map(repr, NAMES))}, morula.revolve(snapshots), "
        "morula.online(snapshots), morula.offload(directory), morula.inverse(tolerance), or memory='200MB'"
    )


def revolve(snapshots: int) -> Policy:
    """Return the policy that holds ``snapshots`` states of a loop and recomputes the fewest iterations.

    The states are chosen by the binomial schedule. It runs r n - beta(s + 1, r - 1) of n iterations to get from state to
    state, where r is the least number with n <= beta(s, r) = (s + r)! / (s! r!).

    Args:
        snapshots: the number of states, at least 1; the state before the loop is one of them.

    Returns:
        A policy for ``checkpoint``.

    Raises:
        BadInput: ``snapshots`` is not an int, or less than 1.

    Source: Griewank and Walther, "Algorithm 799: Revolve", ACM TOMS 26 (2000).

    >>> from morula.core import checkpoint, grad, revolve
    >>> def power(x):
    ...     y = 1.0
    ...     for _ in range(100):
    ...         y = y * x
    ...     return y
    >>> grad(lambda x: checkpoint(power, x, policy=revolve(5)))(1.0)
    100.0
    """
    return _of_snapshots("revolve", snapshots, 1)


def online(snapshots: int) -> Policy:
    """Return the policy for loops of unknown length, which holds at most ``snapshots`` states.

    States are held at equal distances. When all places are taken, every second state is dropped and the distance
    doubles. The backward sweep uses the places that become free, by the schedule of ``revolve``.

    Args:
        snapshots: the largest number of states, at least 2; an odd number is rounded down.

    Returns:
        A policy for ``checkpoint``.

    Raises:
        BadInput: ``snapshots`` is not an int, or less than 2.

    Source: Heuveline and Walther, "Online checkpointing for parallel adjoint computation in PDEs", Euro-Par 2006.

    >>> from morula.core import checkpoint, grad, online
    >>> def halved(x):
    ...     y = x
    ...     while y > 1e-3:
    ...         y = y / 2
    ...     return y
    >>> grad(lambda x: checkpoint(halved, x, policy=online(4)))(1.0)
    0.0009765625
    """
    return _of_snapshots("online", snapshots, 2)


def offload(directory: Any = None) -> Policy:
    """Return the policy that holds the states of loops in temporary files, which are mapped into memory.

    The memory for the backward sweep does not grow with the number of iterations, and each iteration is run once more. A
    program on an accelerator sends the states to the host. The files have no name, and vanish with the states.

    Args:
        directory: where to put the files, a path; by default that of Python's ``tempfile``.

    Returns:
        A policy for ``checkpoint``; the text ``"offload"`` stands for ``offload()``.

    Raises:
        BadInput: ``directory`` is not a directory.

    >>> from morula.core import checkpoint, grad, offload
    >>> def decay(x):
    ...     for _ in range(100):
    ...         x = x - 0.01 * x * x
    ...     return x
    >>> round(grad(lambda x: checkpoint(decay, x, policy=offload()))(1.0), 4)
    0.247
    """
    if directory is not None and not (isinstance(directory, (str, os.PathLike)) and os.path.isdir(directory)):
        raise BadInput(f"offload: {directory!r} is not a directory; pass the path of one that exists, or nothing")
    return Policy("offload", directory=None if directory is None else os.fspath(directory))


def inverse(tolerance: float = TOLERANCE) -> Policy:
    """Return the policy that stores no states: the backward sweep computes the state before an iteration from that after it.

    It is for loops whose iterations can be inverted: their inverse follows from their form, or is declared
    (``invertible``). It follows if each variable is changed by adding or subtracting what does not depend on it, by
    multiplying or dividing by such a value, or by a function like ``exp``, one variable after the other: the steps of the
    leapfrog method, additive and affine coupling layers. Rounding adds up on the way back. The *drift* is the largest
    difference between the state before the loop and the one computed, relative to 1 + the largest number in it. The
    attribute ``drift`` of the policy holds that of the last backward sweep.

    Args:
        tolerance: the largest drift that is accepted, for steps without a declared inverse.

    Returns:
        A policy for ``checkpoint``; the text ``"inverse"`` stands for ``inverse()``.

    Raises:
        BadInput: ``tolerance`` is not a positive number; in the backward sweep: the drift exceeds it, or an iteration
            cannot be inverted.

    Source: Gomez, Ren, Urtasun and Grosse, "The reversible residual network", NeurIPS 2017.

    >>> from morula.core import checkpoint, grad, inverse
    >>> def orbit(q, p):
    ...     for _ in range(1000):
    ...         p -= 0.01 * q
    ...         q += 0.01 * p
    ...     return q * q
    >>> policy = inverse()
    >>> round(grad(lambda q: checkpoint(orbit, q, 0.0, policy=policy))(1.0), 4)
    1.3989
    >>> policy.drift < 1e-12
    True
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not tolerance > 0:
        raise BadInput(f"inverse: the tolerance must be a positive number, not {tolerance!r}")
    return Policy("inverse", tolerance=float(tolerance))


def _of_snapshots(name: str, snapshots: Any, least: int) -> Policy:
    if isinstance(snapshots, bool) or not isinstance(snapshots, int) or snapshots < least:
        raise BadInput(f"{name}: the number of snapshots must be an int of at least {least}, not {snapshots!r}")
    return Policy(name, snapshots - snapshots % 2 if name == "online" else snapshots)


def bytes_of(memory: Any) -> float:
    """Return a number of bytes, given as a number or as text with a unit.

    >>> bytes_of("200MB"), bytes_of("1.5 GiB"), bytes_of(4096)
    (200000000.0, 1610612736.0, 4096.0)
    """
    found = None
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*", memory)
        if match and match[2].upper() in _UNITS:
            found = float(match[1]) * _UNITS[match[2].upper()]
    elif isinstance(memory, (int, float)) and not isinstance(memory, bool):
        found = float(memory)
    if found is None or not 0 < found < math.inf:
        raise BadInput(
            f"memory={memory!r} is not an amount of memory; write bytes as a number, or text like '200MB' or '1.5GiB'"
        )
    return found


def text_of_bytes(n: float) -> str:
    """
    >>> text_of_bytes(2_560_000), text_of_bytes(320)
    ('2.56 MB', '320 bytes')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:.0f} bytes"


@dataclass(frozen=True)
class Costs:
    """What a loop needs, in bytes, and its number of iterations, None if that is not known before the program runs."""

    length: int | None
    state: float  # a snapshot
    residuals: float  # what the adjoint of an iteration needs
    rest: float  # everything else that the backward sweep holds
    allocated: float = 1.0  # the memory that states and residuals take, in units of their bytes

    def peak(self, plan: Plan | None) -> float:
        if plan is None:
            return self.rest + (self.length or 1) * self.residuals * self.allocated
        snapshots = 0 if plan.is_offloaded else plan.snapshots
        return self.rest + ((snapshots + 2) * self.state + plan.segment * self.residuals) * self.allocated

    def note(self, policy: Policy, line: int, plan: Plan | None) -> None:
        """Note for ``explain`` what was chosen for the loop at a line."""
        peak = self.peak(plan)
        name = f"memory={text_of_bytes(policy.memory)!r}" if policy.memory is not None else policy.name or "checkpoint"
        if plan is None:
            how = f"everything is stored, {text_of_bytes(self.residuals)} in each iteration"
        else:
            extra = "" if self.length is None else f", {plan.extra(self.length):.2f} extra forward passes"
            segments = f"segments of {plan.segment} iteration{'s' if plan.segment > 1 else ''}"
            number, place = ("", " in a file") if plan.is_offloaded else (f"{plan.snapshots} ", "")
            how = f"{number}snapshots of {text_of_bytes(self.state)}{place}, {segments}{extra}"
        text = f"the loop at line {line} ({name}): {how}, about {text_of_bytes(peak)} at the peak"
        policy.notes[line] = Note(peak, text)


def planned(policy: Policy, costs: Costs, loops: int = 1, is_single: bool = False) -> Plan | None:
    """Return the plan for a loop; None if everything is to be stored.

    ``loops`` is the number of loops that share a budget, and ``is_single`` says that segments are single iterations.

    Raises:
        BadInput: the budget is too small for every schedule.
    """
    length, state = costs.length, costs.state
    if policy.memory is not None:
        return _within(policy.memory, costs, loops, is_single)
    longest = math.inf if length is None else max(1, length)
    if policy.is_offloaded:
        fitting = OFFLOADED_SEGMENT / max(1.0, costs.residuals)
        segment = 1 if is_single else int(max(1, min(longest, SEGMENT, fitting)))
        return Plan(-(-int(min(longest, MOST_ITERATIONS)) // segment), segment, True)
    if policy.snapshots is not None:
        return Plan(int(min(policy.snapshots, longest)), 1)
    if policy.name == "recompute" and length is not None:
        return Plan(int(longest), 1)
    room = MOST_BYTES / max(1.0, state)
    if length is None or policy.name == "online":
        segment = 1 if is_single else int(max(1, min(SEGMENT, SEGMENT_BYTES / max(1.0, state))))
        return Plan(2 ** int(math.log2(max(FEW, min(UNKNOWN, room)))), segment)
    if is_single:
        return Plan(int(min(longest, max(FEW, room))), 1)
    segment = math.isqrt(int(longest) - 1) + 1
    return Plan(-(-int(longest) // segment), segment)


def _within(asked: float, costs: Costs, loops: int, is_single: bool) -> Plan | None:
    """The plan with the fewest recomputed iterations in so many bytes; the smallest of several."""
    length, state, residuals = costs.length, *(costs.allocated * max(1.0, x) for x in (costs.state, costs.residuals))
    room = asked / loops - costs.rest
    if room < 3 * state + residuals:
        needed = text_of_bytes(loops * costs.peak(Plan(1, 1)))
        raise BadInput(
            f"memory={text_of_bytes(asked)!r} is not enough: with one snapshot the backward sweep of this loop needs {needed} "
            f"(state {text_of_bytes(costs.state)}, adjoint of an iteration {text_of_bytes(costs.residuals)}, cotangents and temporaries "
            f"{text_of_bytes(costs.rest)}{f', {loops} such loops' if loops > 1 else ''}); allow that much"
        )
    if length is None:
        segment = 1 if is_single else max(1, int(min(SEGMENT, room / 4 / residuals)))
        snapshots = min(UNKNOWN, (room - segment * residuals) / state - 2)
        return Plan(max(2, 2 * int(snapshots / 2)), segment)
    if length * residuals <= room:
        return None
    best: tuple[tuple[float, float], Plan] | None = None
    for segment in [1] if is_single else _candidates(length):
        snapshots = int(min(length, (room - segment * residuals) / state - 2))
        if snapshots < 1:
            break
        plan = Plan(min(snapshots, -(-length // segment)), segment)
        found = plan.extra(length), costs.peak(plan)
        if best is None or found < best[0]:
            best = found, plan
    assert best is not None
    return best[1]


def _candidates(length: int) -> list[int]:
    """Lengths of segments: all small ones, and larger ones that differ by few per cent."""
    found, n = [], 1
    while n < length:
        found.append(n)
        n += max(1, n // 32)
    return [*found, length]
