"""What changes a whole optimiser: averages of its iterates, accumulated gradients, groups of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core import BadInput, tree
from .moments import Adaptive
from .optimiser import Call, Optimiser, State, check, in_kind_of


@dataclass(frozen=True)
class Averaged(Optimiser):
    inner: Optimiser
    decay: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        return x, self.inner.remember(x)

    def move_all(
        self, call: Call, xs: list[Any], gradients: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        values, kept = self.inner.move_all(call, xs, gradients, [inner for _, inner in memories])
        means = [
            in_kind_of(x, self.decay * mean + (1.0 - self.decay) * x)
            for (mean, _), x in zip(memories, values, strict=True)
        ]
        return values, list(zip(means, kept, strict=True))

    def evaluated(self, parameters: Any, state: State) -> Any:
        return tree.with_leaves(parameters, [memory[0] for memory in state.memory])


@dataclass(frozen=True)
class Accumulated(Optimiser):
    inner: Optimiser
    every: int

    def remember(self, x: Any) -> tuple[Any, ...]:
        return 0 * x, self.inner.remember(x)

    def move_all(
        self, call: Call, xs: list[Any], gradients: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        sums = [m[0] if g is None else m[0] + g for g, m in zip(gradients, memories, strict=True)]
        inner = [m[1] for m in memories]
        if call.number % self.every != 0:
            return xs, list(zip(sums, inner, strict=True))
        part = Call(call.number // self.every, call.paths, call.value, call.curvatures)
        means = [None if g is None else s / self.every for g, s in zip(gradients, sums, strict=True)]
        values, inner = self.inner.move_all(part, xs, means, inner)
        return values, [(0 * s, m) for s, m in zip(sums, inner, strict=True)]

    def evaluated(self, parameters: Any, state: State) -> Any:
        return self.inner.evaluated(parameters, State(state.updates, [memory[1] for memory in state.memory]))


@dataclass(frozen=True)
class Groups(Optimiser):
    select: Callable[[str, Any], str]
    members: dict[str, Optimiser]

    def remember(self, x: Any) -> tuple[Any, ...]:
        raise BadInput("groups: a member depends on the place of a leaf; wrap the members, not the groups")

    def init(self, parameters: Any) -> State:
        found = tree.leaves_with_paths(parameters)
        return State(0, [self._member(path, x).remember(x) for path, x in found])

    def _member(self, path: str, x: Any) -> Optimiser:
        name = self.select(path, x)
        if name not in self.members:
            raise BadInput(
                f"groups: select returned {name!r} for {path}, expected one of {', '.join(map(repr, self.members))}"
            )
        return self.members[name]

    def move_all(
        self, call: Call, xs: list[Any], gradients: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        values, kept = list(xs), list(memories)
        owners = [self._member(path, x) for path, x in zip(call.paths, xs, strict=True)]
        for member in self.members.values():
            at = [i for i, owner in enumerate(owners) if owner is member]
            curvatures = None if call.curvatures is None else [call.curvatures[i] for i in at]
            part = Call(call.number, [call.paths[i] for i in at], call.value, curvatures)
            moved, after = member.move_all(
                part, [xs[i] for i in at], [gradients[i] for i in at], [memories[i] for i in at]
            )
            for i, x, memory in zip(at, moved, after, strict=True):
                values[i], kept[i] = x, memory
        return values, kept


@dataclass(frozen=True)
class ScheduleFreeOptimiser(Optimiser):
    """z descends; the average x of all z is the answer; gradients are taken at y = (1 - beta) z + beta x, the parameters."""

    rate: float
    beta: float
    scaling: Adaptive

    def remember(self, x: Any) -> tuple[Any, ...]:
        return (x, x, *self.scaling.remember(x))

    def move(self, update: int, x: Any, gradient: Any, *memory: Any) -> tuple[Any, ...]:
        z, mean, *rest = memory
        direction, *rest = self.scaling.turn(update, x, gradient, *rest)
        z = in_kind_of(x, z - self.rate * direction)
        mean = in_kind_of(x, mean + (z - mean) / update)
        return in_kind_of(x, (1.0 - self.beta) * z + self.beta * mean), z, mean, *rest

    def evaluated(self, parameters: Any, state: State) -> Any:
        return tree.with_leaves(parameters, [memory[1] for memory in state.memory])


def average(optimiser: Optimiser, decay: float = 0.999) -> Optimiser:
    """Make an optimiser that also keeps an exponential moving average of the parameters.

    ``evaluated(parameters, state)`` returns the average.

    Source: B.T. Polyak and A.B. Juditsky, SIAM J. Control Optim. 30 (1992) 838-855.
    """
    check("average", "decay", decay, "a number in [0, 1)", 0 <= decay < 1)
    return Averaged(optimiser, decay)


def accumulate(optimiser: Optimiser, every: int) -> Optimiser:
    """Make an optimiser that moves at each ``every``-th update only, with the mean of the gradients since.

    >>> from morula.optim.stochastic import sgd
    >>> method = accumulate(sgd(1.0), 2)
    >>> x, state = method.update(0.0, 1.0, method.init(0.0))
    >>> x, method.update(x, 3.0, state)[0]
    (0.0, -2.0)
    """
    check("accumulate", "every", every, "1 or more", every >= 1)
    return Accumulated(optimiser, every)


def groups(select: Callable[[str, Any], str], **optimisers: Optimiser) -> Optimiser:
    """Make an optimiser that leaves each parameter to one of several.

    Args:
        select: ``select(path, leaf)`` returns the name of an optimiser; the path is written as a user would, such as
            ``"['layers'][0].weights"``.
        optimisers: by name.

    >>> from morula.optim.stochastic import sgd
    >>> method = groups(lambda path, x: "slow" if "bias" in path else "fast", slow=sgd(0.1), fast=sgd(1.0))
    >>> parameters = {"weight": 1.0, "bias": 1.0}
    >>> method.update(parameters, {"weight": 1.0, "bias": 1.0}, method.init(parameters))[0]
    {'weight': 0.0, 'bias': 0.9}
    """
    return Groups(select, optimisers)
