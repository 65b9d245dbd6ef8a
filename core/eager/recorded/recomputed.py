"""``checkpoint``: a call of which the backward sweep recomputes what it needs (``repeated``, ``recomputed_loops``)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ...ir.memory_policies import Policy, policy_of
from ...rules.registry import handles
from ...source.requirements import check_function
from .call import call
from .recomputed_loops import with_policy
from .repeated import run_to_repeat
from .tape import Tape

CHOSEN: ContextVar[list[Policy] | None] = ContextVar("chosen", default=None)
"""The policies of the checkpointed calls so far, where someone has asked for them."""


def checkpoint(f: Callable[..., Any], *args: Any, policy: Any = None, memory: Any = None, **kwargs: Any) -> Any:
    """Call ``f`` with less memory for its derivative: what the backward sweep needs is recomputed instead of kept.

    Without a policy, the backward sweep runs the call again. For that second run, the containers, objects and variables
    that ``f`` can reach are restored, and the arrays that it writes into. A function that stores computed values
    elsewhere or reads an iterator is not repeated but kept.

    With a policy or a budget, loops of ``f`` hold few of their states, and iterations are run again from these. In
    compiled programs this concerns all outermost loops that run in ``f``; eagerly, those in the source of ``f`` that
    have no ``break``, ``return`` or ``else``. Other operations are kept.

    Args:
        f: a function that returns numbers and arrays, or lists and tuples of these.
        *args: positional arguments of ``f``.
        policy: for the loops of ``f``: ``"store"`` keeps everything, ``"recompute"`` the state of each iteration, ``"sqrt"``
            about 2 sqrt(n) states of n iterations, ``revolve(snapshots)`` and ``online(snapshots)`` so many states,
            ``"offload"`` all of them in a file (``offload``), ``"inverse"`` none (``inverse``).
        memory: in place of a policy, the number of bytes that the backward sweep may take, as a number or as text
            (``"200MB"``, ``"1.5GiB"``); the policy with the fewest recomputed iterations is chosen.
        **kwargs: keyword arguments of ``f``. Wrap ``f`` in a lambda if it has arguments ``policy`` or ``memory``.

    Returns:
        ``f(*args, **kwargs)``.

    Raises:
        BadInput: ``f`` is not callable, the policy is unknown, or ``memory`` is too small or no amount of memory.
        NoDerivative: in the backward sweep, the second run fails or gives another result, as with random numbers.

    >>> from morula.core import grad, pullback
    >>> grad(lambda x: checkpoint(lambda u: u * u * u, x))(2.0)
    12.0
    >>> def decay(x):
    ...     for _ in range(1000):
    ...         x = x - 0.001 * x * x
    ...     return x
    >>> round(grad(lambda x: checkpoint(decay, x, policy="sqrt"))(1.0), 4)
    0.2497
    """
    check_function(f)
    policy_of(policy, memory)
    return f(*args, **kwargs)


@handles(checkpoint)
def _checkpoint(
    tape: Tape, f: Callable[..., Any], *args: Any, policy: Any = None, memory: Any = None, **kwargs: Any
) -> Any:
    check_function(f)
    chosen = policy_of(policy, memory)
    asked = CHOSEN.get()
    if asked is not None:
        asked.append(chosen)
    if tape.tangents is not None or chosen.is_stored:  # forward mode stores nothing
        return call(tape, f, *args, **kwargs)
    if chosen.is_for_loops:
        return call(tape, with_policy(f, chosen), *args, **kwargs)
    return run_to_repeat(tape, f, args, kwargs)
