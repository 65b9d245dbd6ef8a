"""Optimisers, their state, and chains of steps.

An optimiser holds only its settings. Its memory is a ``State`` that the caller passes from update to update, so an update
depends only on its arguments: it can be repeated, saved, compiled and differentiated.

>>> from morula.optim.stochastic import sgd
>>> optimiser = sgd(0.1)
>>> parameters = {"slope": 2.0}
>>> state = optimiser.init(parameters)
>>> parameters, state = optimiser.update(parameters, {"slope": 5.0}, state)
>>> parameters
{'slope': 1.5}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, tree

Rate = float | Callable[[Any], Any]
"""A learning rate: a number, or a schedule, a function of the number of updates made."""


@dataclass(frozen=True)
class State:
    """The memory of an optimiser between two updates.

    >>> from morula.optim.stochastic import sgd
    >>> sgd(0.1, momentum=0.9).init([2.0, 3.0])
    State(updates=0, memory=[((0.0,), ()), ((0.0,), ())])
    """

    updates: int
    """The number of updates made."""
    memory: Sequence[Any]
    """The optimiser's memory for each leaf, in the order of ``tree.leaves``; a shared leaf has one entry."""


@dataclass(frozen=True)
class Call:
    """What one update knows besides parameters and gradients."""

    number: Any
    """The number of this update, from 1."""
    paths: Sequence[str]
    """The places of the leaves, such as ``"['layers'][0].weights"``."""
    value: Any
    """The loss, if the caller gave it."""
    curvatures: Sequence[Any] | None
    """An estimate of the diagonal of the Hessian for each leaf, if the caller gave it."""


class Optimiser(ABC):
    """A rule that improves parameters with a gradient.

    A subclass defines the initial memory of a leaf (``remember``) and the update of a leaf (``move``), or of all leaves
    together (``move_all``).

    >>> class SignDescent(Optimiser):
    ...     def remember(self, x):
    ...         return ()
    ...     def move(self, update, x, gradient, *memory):
    ...         return (x - 0.1 * np.sign(gradient),)
    >>> method = SignDescent()
    >>> method.update(2.0, 5.0, method.init(2.0))[0].item()
    1.9
    """

    @abstractmethod
    def remember(self, x: Any) -> tuple[Any, ...]:
        """Return the memory of a leaf before its first update.

        Args:
            x: the leaf, a number or an array.

        >>> from morula.optim.stochastic import schedule_free
        >>> schedule_free().remember(2.0)
        (2.0, 2.0, 0.0, 0.0)
        """

    def move(self, update: int, x: Any, gradient: Any, *memory: Any) -> tuple[Any, ...]:
        """Return the new value of a leaf, followed by its new memory.

        Args:
            update: the number of this update, from 1.
            x: the leaf, a number or an array.
            gradient: in the shape of ``x``.
            *memory: what ``remember`` or the previous update returned for this leaf.

        Raises:
            NotImplementedError: the optimiser moves all leaves together, by ``move_all``.

        >>> from morula.optim.stochastic import schedule_free
        >>> schedule_free(0.5, beta=0.0).move(1, 2.0, 3.0, 2.0, 2.0, 0.0, 0.0)[0]
        1.5000000016666666
        """
        raise NotImplementedError(f"{type(self).__name__} moves all leaves together: call move_all")

    def move_all(
        self, call: Call, xs: list[Any], gradients: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the new values and memories of all leaves; a leaf whose gradient is None stays.

        Args:
            call: the number of this update, the paths of the leaves, and what else the caller gave.
            xs: the leaves.
            gradients: one for each leaf, or None.
            memories: of each leaf.

        >>> from morula.optim.stochastic import sgd
        >>> sgd(0.5).move_all(Call(1, ["['a']"], None, None), [1.0], [1.0], [((),)])
        ([0.5], [((),)])
        """
        values, kept = [], []
        for x, g, memory in zip(xs, gradients, memories, strict=True):
            if g is not None:
                x, *memory = self.move(call.number, x, g, *memory)
            values.append(x)
            kept.append(tuple(memory))
        return values, kept

    def init(self, parameters: Any) -> State:
        """Return the state before the first update of ``parameters``.

        Args:
            parameters: a float, an array, or dicts, lists, tuples and objects of them.

        Returns:
            The state to pass to the first ``update``.

        Raises:
            BadInput: ``parameters`` holds no float and no array of floats.

        >>> from morula.optim.stochastic import sgd
        >>> sgd(0.1).init({"w": np.ones(2)})
        State(updates=0, memory=[((),)])
        """
        found = tree.leaves(parameters)
        if not found:
            raise BadInput(
                f"{type(self).__name__}: the {type(parameters).__name__} given holds no parameter;"
                " expected a float, an array of floats, or a structure of them (integers are settings)"
            )
        return State(0, [self.remember(x) for x in found])

    def update(
        self, parameters: Any, gradient: Any, state: State, *, value: Any = None, curvature: Any = None
    ) -> tuple[Any, State]:
        """Return the parameters after one step, and the new state.

        Args:
            parameters: a float, an array, or dicts, lists, tuples and objects of them; not changed.
            gradient: in the structure of ``parameters``, as ``grad`` returns it; a leaf whose gradient is None stays.
            state: from ``init`` or the previous update.
            value: the loss, which ``plateau`` needs.
            curvature: an estimate of the diagonal of the Hessian, in the structure of ``parameters``, for ``sophia``; None
                where it has not been renewed.

        Returns:
            New parameters in the same structure, and the state for the next update.

        Raises:
            BadInput: the gradient or the state does not fit the parameters.

        >>> from morula.optim.stochastic import sgd
        >>> method = sgd(0.5)
        >>> method.update([2.0], [1.0], method.init([2.0]))[0]
        [1.5]
        """
        pairs = tree.leaves(parameters, gradient)
        name = type(self).__name__
        if len(pairs) != len(state.memory):
            raise BadInput(
                f"{name}: the state remembers {len(state.memory)} leaves, the parameters have {len(pairs)};"
                " call init again after changing the structure of a model"
            )
        for x, g in pairs:
            if g is not None and np.shape(g) != np.shape(x):
                raise BadInput(
                    f"{name}: a gradient of shape {np.shape(g)} for a parameter of shape {np.shape(x)}; expected one shape"
                )
        paths = [path for path, _ in tree.leaves_with_paths(parameters)]
        curvatures = None if curvature is None else [h for _, h in tree.leaves(parameters, curvature)]
        call = Call(state.updates + 1, paths, value, curvatures)
        xs, gradients = [x for x, _ in pairs], [g for _, g in pairs]
        values, memories = self.move_all(call, xs, gradients, list(state.memory))
        return tree.with_leaves(parameters, values), State(state.updates + 1, memories)

    def evaluated(self, parameters: Any, state: State) -> Any:
        """Return the parameters to evaluate a model with: those given, unless the optimiser averages its iterates.

        Args:
            parameters: as returned by the last ``update``.
            state: as returned by the last ``update``.

        >>> from morula.optim.stochastic import average, sgd
        >>> method = average(sgd(1.0), 0.5)
        >>> method.evaluated(*method.update(0.0, -2.0, method.init(0.0)))
        1.0
        """
        return parameters


class Step(ABC):
    """One step of a chain: it turns directions, at first the gradients, into others."""

    def remember(self, x: Any) -> tuple[Any, ...]:
        """Return the memory of a leaf before the first update."""
        return ()

    @abstractmethod
    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        """Return the new direction of a leaf ``x``, followed by its new memory."""

    def turn_all(
        self, call: Call, xs: list[Any], directions: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the new directions and memories of all leaves."""
        turned = [self.turn(call.number, x, u, *m) for x, u, m in zip(xs, directions, memories, strict=True)]
        return [u for u, *_ in turned], [tuple(memory) for _, *memory in turned]


@dataclass(frozen=True)
class Descend(Step):
    """Multiply by minus the learning rate; a chain adds the result to the parameters."""

    rate: Rate

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        return (-(self.rate(number - 1) if callable(self.rate) else self.rate) * direction,)


@dataclass(frozen=True)
class Chain(Optimiser):
    """Steps, one after the other; ``chain`` makes it."""

    steps: tuple[Step, ...]

    def remember(self, x: Any) -> tuple[Any, ...]:
        return tuple(step.remember(x) for step in self.steps)

    def move_all(
        self, call: Call, xs: list[Any], gradients: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        active = [i for i, g in enumerate(gradients) if g is not None]
        chosen = [xs[i] for i in active]
        directions = [gradients[i] for i in active]
        part = Call(
            call.number,
            [call.paths[i] for i in active],
            call.value,
            None if call.curvatures is None else [call.curvatures[i] for i in active],
        )
        kept = [[memories[i][k] for i in active] for k in range(len(self.steps))]
        for k, step in enumerate(self.steps):
            directions, kept[k] = step.turn_all(part, chosen, directions, kept[k])
        values, after = list(xs), list(memories)
        for at, i in enumerate(active):
            values[i] = in_kind_of(xs[i], xs[i] + directions[at])
            after[i] = tuple(kept[k][at] for k in range(len(self.steps)))
        return values, after


def chain(*parts: Step | Chain) -> Chain:
    """Make an optimiser of steps and chains, applied one after the other to the gradient.

    Args:
        parts: steps such as ``clip_by_global_norm(1.0)``, and at the end a chain with a learning rate, such as ``adam()``.

    Returns:
        The optimiser.

    Raises:
        BadInput: a part is neither a step nor a chain, or the last has no learning rate.

    >>> from morula.optim.stochastic import clip, sgd
    >>> method = chain(clip(1.0), sgd(0.5))
    >>> method.update(2.0, 100.0, method.init(2.0))[0]
    1.5
    """
    steps: list[Step] = []
    for part in parts:
        if not isinstance(part, (Step, Chain)):
            raise BadInput(
                f"chain: got a {type(part).__name__}, expected steps and chains, such as clip(1.0) and adam()"
            )
        steps.extend(part.steps if isinstance(part, Chain) else [part])
    if not any(isinstance(step, Descend) for step in steps):
        raise BadInput("chain: no part has a learning rate; end with an optimiser such as sgd(0.1)")
    return Chain(tuple(steps))


def in_kind_of(x: Any, value: Any) -> Any:
    """Return ``value`` in the dtype of ``x``, and as a number of Python where x is one."""
    if type(x) is float:
        return float(value)
    return value if type(x) is complex or value.dtype == x.dtype else value.astype(x.dtype)


def check(method: str, name: str, value: float, expected: str, fits: bool) -> None:
    """Refuse a setting outside its range."""
    if not fits:
        raise BadInput(f"{method}: {name} is {value!r}; expected {expected}")


def check_rate(method: str, rate: Any) -> None:
    """Refuse a learning rate that is neither positive nor a schedule."""
    if not callable(rate):
        check(method, "learning_rate", rate, "a positive number or a schedule", 0 < rate < np.inf)
