"""Random generators of NumPy and ``random`` that the program makes from a known seed: their draws are constants.

The generator is created, and draws, while compiling.  Its state is numbered, and the number is a part of the program's
state: branches and loops save and restore it like an iterator's position.  If the number depends on a traced condition,
the next draw is refused.  A loop of known length that draws is unrolled.

For the modules' global generators, which ``random.seed`` and ``np.random.seed`` set, the program has generators of its
own; the global ones do not change.
"""

from __future__ import annotations

import math
import operator
import pickle
import random
from typing import Any

import numpy as np

from ..errors import BadInput
from ..source.definitions import describe
from ..values.attributes import bound_to
from .impure import refuse_impure
from .iterators import Iterator, UnknownPosition
from .scopes import Conflict, Late
from .traced import Scalar, Traced

_OF_BITS = (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
_MAKERS = frozenset(
    (
        np.random.default_rng,
        np.random.Generator,
        np.random.RandomState,
        np.random.SeedSequence,
        random.Random,
        *_OF_BITS,
    )
)
_SEEDING = frozenset(("seed", "setstate", "set_state"))
STATES = frozenset(("getstate", "get_state"))
"""Methods whose result is a generator's state, which stays Python's."""
_SHARED: dict[int, type] = {
    id(random._inst): random.Random,  # type: ignore[attr-defined]
    id(np.random.mtrand._rand): np.random.RandomState,
}
_OF_POSITIONS = frozenset(("choice", "permutation", "permuted", "shuffle"))
_WRITING = frozenset(
    ("shuffle", "permuted", "random", "standard_normal", "standard_exponential", "standard_gamma")  # ``out``
)

_STATE = "the state of a random generator from which numbers were drawn under a condition or in a loop"
_REMEDY = "draw all numbers into an array first, or use morula.random.Generator"
POSITION = f"{_STATE}; {_REMEDY}"
DRAWN = f"{_STATE} is not known while compiling; {_REMEDY}"


class Draws(Iterator):
    """A generator; ``position`` numbers its state, and is 0 if the program has not seeded it."""

    def __init__(self, generator: Any, is_seeded: bool) -> None:
        self.generator = generator
        self.states: list[Any] = [None]
        self.numbers: dict[bytes, int] = {}
        self.position: Any = self.number() if is_seeded else 0

    def number(self) -> int:
        """Return the number of the generator's present state."""
        state = _state(self.generator)
        key = pickle.dumps(state)
        if key not in self.numbers:
            self.numbers[key] = len(self.states)
            self.states.append(state)
        return self.numbers[key]

    @property
    def is_unseeded(self) -> bool:
        return isinstance(self.position, int) and not self.position

    def load(self) -> None:
        """Put the generator into the state in which the program has it, if that is known."""
        if isinstance(self.position, int) and self.position:
            _set_state(self.generator, self.states[self.position])

    def save(self, trace: Any, is_set: bool) -> None:
        """Note the state after a call; ``is_set``: the call has set it, whatever it was before."""
        if self.is_unseeded and not is_set:
            return
        now = self.number()
        if isinstance(self.position, int) and now == self.position:
            return
        if isinstance(self.position, Scalar) and not is_set:
            raise UnknownPosition(self.position.ir, POSITION)
        if isinstance(self.position, (Conflict, Late)) and not is_set:
            raise BadInput(DRAWN)
        self.move(trace, position=now)


class Generators:
    """The generators that the program has made."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.draws: dict[int, Draws] = {}
        self.own_of: dict[int, Any] = {}

    def own(self, x: Any) -> Any:
        """Return the program's own generator in place of one of a module, else ``x``."""
        if id(x) not in _SHARED:
            return x
        if id(x) not in self.own_of:
            made = self.own_of[id(x)] = _SHARED[id(x)](0)
            self.note(made, Draws(made, False))
            for part in (made, self.draws[id(made)]):
                self.trace.note_made(part, None)
        return self.own_of[id(x)]

    def note(self, x: Any, draws: Draws) -> None:
        self.draws[id(x)] = draws
        self.trace.new(draws)
        if isinstance(x, random.Random):
            self.trace.new(x)
        if isinstance(x, np.random.Generator):
            self.draws[id(x.bit_generator)] = draws

    def prepared(self, function: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return the function and the arguments of a random call that the program may make; refuse any other."""
        if function is np.random.seed:
            function, args = np.random.RandomState.seed, (np.random.mtrand._rand, *args)
        if function in _MAKERS:
            given = [*args, *kwargs.values()]
            is_seeded = bool(given) and given[0] is not None
            if not is_seeded and function not in _SHARED.values() or is_seeded and not self.is_known(given[0]):
                refuse_impure(function)
            return function, args
        owner = bound_to(function)
        if owner is not None and id(owner) in _SHARED:
            function = getattr(self.own(owner), function.__name__)
        elif args and id(args[0]) in _SHARED:
            args = (self.own(args[0]), *args[1:])
        owner = _owner(function, args)
        draws = self.draws.get(id(owner))
        name = getattr(function, "__name__", "")
        given = [x for x in (*args, *kwargs.values()) if x is not owner]
        if draws is None or name == "seed" and (not given or given[0] is None):
            refuse_impure(function)
        if draws is not None and draws.is_unseeded and name not in _SEEDING:
            raise BadInput(
                f"{describe(function)} draws from a generator that the function has not seeded, which would happen only once, while "
                "compiling; seed it in the function, or use morula.random.Generator"
            )
        return function, args

    def selected(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Return the result of a method of NumPy's that is given traced values; NotImplemented if it is not.

        For entries of a traced array positions are drawn, and the entries read; parameters scale standard numbers.
        """
        name = getattr(function, "__name__", "")
        every = (*args, *kwargs.values())
        given = [
            x for x in every if isinstance(x, Traced) and not (isinstance(x, Scalar) and x.type.dtype.kind in "iu")
        ]
        if not given or name in _SEEDING:
            return NotImplemented
        if name in _STANDARD:
            return self.trace.calls.interpret(_STANDARD[name], args, kwargs)
        x: Any = args[1] if len(args) > 1 else None
        if name not in _OF_POSITIONS or len(given) > 1 or given[0] is not x or not x.type.is_static:
            raise BadInput(
                f"{describe(function)} with arguments that are not known while compiling cannot be compiled; draw standard numbers, "
                "such as standard_normal(n), random(n) or permutation(n), and transform them"
            )
        places = np.arange(math.prod(x.type.bounds)).reshape(x.type.bounds)
        found = self.trace.uninterpreted.call_real(function, (args[0], places, *args[2:]), kwargs)
        if name == "shuffle":
            x.check_writeable("array is read-only")
            self.trace.call(operator.setitem, x, ..., self.trace.call(np.take, x, places))
            return None
        return self.trace.call(np.take, x, found)

    def is_known(self, seed: Any) -> bool:
        """Whether a generator made from ``seed`` draws the same numbers at each call."""
        if isinstance(seed, (np.random.BitGenerator, np.random.Generator)):
            return id(seed) in self.draws
        return not isinstance(seed, np.random.RandomState)

    def load(self) -> None:
        """Put all generators into the states that the program has them in."""
        for draws in self.draws.values():
            draws.load()

    def save(self, function: Any, args: Any, found: Any) -> None:
        """Note the states after a call, and the generator that it has made."""
        set_ = self.draws.get(id(_owner(function, args))) if getattr(function, "__name__", "") in _SEEDING else None
        for draws in {id(d): d for d in self.draws.values()}.values():
            draws.save(self.trace, draws is set_)
        if function in _MAKERS and not isinstance(found, np.random.SeedSequence) and id(found) not in self.draws:
            bits = getattr(found, "bit_generator", None) or getattr(found, "_bit_generator", None)
            self.note(found, self.draws.get(id(bits)) or Draws(found, bool(args) and args[0] is not None))


def _owner(function: Any, args: Any) -> Any:
    return getattr(function, "__self__", args[0] if args else None)


def normal(generator: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    if np.any(np.less(scale, 0)):
        raise ValueError("scale < 0")
    return loc + scale * generator.standard_normal(_size(size, loc, scale))


def uniform(generator: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    return low + (high - low) * generator.random(_size(size, low, high))


def exponential(generator: Any, scale: Any = 1.0, size: Any = None) -> Any:
    if np.any(np.less(scale, 0)):
        raise ValueError("scale < 0")
    return scale * generator.standard_exponential(_size(size, scale))


def _size(size: Any, *parameters: Any) -> Any:
    """Return the shape of what is drawn; None is one number."""
    return size if size is not None else np.broadcast_shapes(*(np.shape(x) for x in parameters)) or None


def writes(function: Any) -> bool:
    """Whether a method of a generator may write into an array that it is given."""
    return getattr(function, "__name__", "") in _WRITING


_STANDARD = {f.__name__: f for f in (normal, uniform, exponential)}


def _state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return super(random.Random, generator).getstate()
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return getattr(generator, "bit_generator", generator).state


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        super(random.Random, generator).setstate(state)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        getattr(generator, "bit_generator", generator).state = state
