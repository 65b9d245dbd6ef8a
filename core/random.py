"""Counter-based random numbers, the same in eager, recorded and compiled programs.

The state of a generator is a key and a counter.  Its output is a function of both: Philox4x32-10, a bijection of the
counter that passes BigCrush, in NumPy arithmetic on unsigned integers.  So all targets draw the same bits, and a
copied or saved state continues the stream of the original.

J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11 (2011).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from .errors import BadInput
from .rules.table import zero

__all__ = ["Generator"]


def __dir__() -> list[str]:
    return sorted(__all__)


_WORD = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = tuple(range(10))

Shape = int | Sequence[int] | None


def philox(key: Any, counter: Any, stream: Any = 0) -> tuple[Any, Any, Any, Any]:
    """Return the four 32-bit words of Philox4x32-10 for a counter, as uint64.

    All arguments are uint64 numbers or arrays of two 32-bit words, the first in the lower half: ``key`` is the key,
    ``counter`` the lower and ``stream`` the upper half of the counter.
    """
    stream = np.uint64(stream)
    k0, k1 = key & _WORD, key >> _32
    a, b, c, d = counter & _WORD, counter >> _32, stream & _WORD, stream >> _32
    for _ in _ROUNDS:
        left, right = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (right >> _32) ^ b ^ k0, right & _WORD, (left >> _32) ^ d ^ k1, left & _WORD
        k0, k1 = (k0 + _WEYL[0]) & _WORD, (k1 + _WEYL[1]) & _WORD
    return a, b, c, d


zero(philox)


class Generator:
    """A stream of random numbers.

    In all methods ``size`` is a length or a shape, or None for a single number (or for the broadcast shape of the
    parameters), and ``dtype`` is float64 or float32.  A method advances the counter by as many blocks of four words as
    it needs.  The methods have the names of those of ``numpy.random.Generator``, but draw other numbers.

    Args:
        seed: an integer of up to 64 bits; the same seed gives the same stream.

    >>> rng = Generator(42)
    >>> rng.random(2).tolist() == Generator(42).random(2).tolist()
    True
    """

    key: Any
    counter: Any

    def __init__(self, seed: int = 0) -> None:
        try:
            seed = operator.index(seed)
        except TypeError:
            raise BadInput(f"a seed must be an integer, not {seed!r}") from None
        if not -(1 << 63) <= seed < 1 << 64:
            raise BadInput(f"a seed must fit in 64 bits, but {seed} does not")
        self.key = np.int64(seed).astype(np.uint64) if seed < 1 << 63 else np.uint64(seed)
        self.counter = np.uint64(0)

    def __repr__(self) -> str:
        return f"Generator(key={self.key}, counter={self.counter})"

    def bits(self, size: Shape = None, width: int = 64) -> Any:
        """Return random bits, as uint64.

        Args:
            size: the shape of the result; None for one number.
            width: the number of bits per value, 32 or 64.

        >>> Generator(1).bits(3).dtype
        dtype('uint64')
        """
        shape = _shape(size)
        n = 1
        for length in shape:
            n *= length
        blocks = -(-n * width // 128)
        counter = self.counter + np.arange(blocks, dtype=np.uint64)
        self.counter = self.counter + np.uint64(blocks)
        a, b, c, d = philox(self.key, counter)
        parts = [a, b, c, d] if width == 32 else [a | b << _32, c | d << _32]
        if not shape:
            return parts[0][0] if size is None else parts[0].reshape(())
        return np.concatenate(parts)[:n].reshape(shape)

    def random(self, size: Shape = None, dtype: Any = np.float64) -> Any:
        """Return numbers uniform in [0, 1): multiples of 2^-53, or of 2^-24 for float32.

        Args:
            size: the shape of the result; None for one number.
            dtype: float64 or float32.

        Raises:
            BadInput: ``dtype`` is neither float64 nor float32.

        >>> bool(0 <= Generator(1).random() < 1)
        True
        """
        if _is_single(dtype):
            return (self.bits(size, 32) >> np.uint64(8)).astype(np.float32) * np.float32(2**-24)
        return (self.bits(size) >> np.uint64(11)).astype(np.float64) * 2**-53

    def _inside(self, size: Shape, dtype: Any) -> Any:
        """Return numbers uniform in (0, 1), symmetric about 1/2."""
        if _is_single(dtype):
            return ((self.bits(size, 32) >> np.uint64(9)).astype(np.float32) + np.float32(0.5)) * np.float32(2**-23)
        return _between(self.bits(size))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Shape = None, dtype: Any = np.float64) -> Any:
        """Return numbers uniform in [low, high); differentiable in both.

        Args:
            low, high: numbers or arrays, broadcast against each other.
            size: the shape of the result; None for the shape to which the parameters broadcast.
            dtype: float64 or float32.

        >>> Generator(1).uniform(np.zeros(3), 2.0).shape
        (3,)
        """
        return low + (high - low) * self.random(_common(size, low, high), dtype)

    def standard_normal(self, size: Shape = None, dtype: Any = np.float64) -> Any:
        """Return normal numbers of mean 0 and variance 1, by inversion of the distribution function.

        Args:
            size: the shape of the result; None for one number.
            dtype: float64 or float32.

        >>> Generator(1).standard_normal(3).shape
        (3,)
        """
        return ndtri(self._inside(size, dtype))

    def normals_at(self, blocks: Any) -> Any:
        """Return two normal numbers of mean 0 and variance 1 for each block of the stream; the state does not change.

        What a block gives depends on its number and the seed alone, so that any of them can be drawn again, in any order.

        Args:
            blocks: the numbers of the blocks, a uint64 array of any shape.

        Returns:
            float64 of the shape of ``blocks`` with a further axis of length 2.

        >>> blocks = np.arange(4, dtype=np.uint64)
        >>> bool(np.all(Generator(1).normals_at(blocks)[2] == Generator(1).normals_at(blocks[2])))
        True
        """
        a, b, c, d = philox(self.key, blocks)
        both = np.stack([a | b << _32, c | d << _32], axis=-1)
        return ndtri(_between(both))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Shape = None, dtype: Any = np.float64) -> Any:
        """Return normal numbers of mean ``loc`` and standard deviation ``scale``; differentiable in both.

        Args:
            loc, scale: numbers or arrays, broadcast against each other.
            size: the shape of the result; None for the shape to which the parameters broadcast.
            dtype: float64 or float32.

        >>> Generator(1).normal(5.0, 0.0)
        np.float64(5.0)
        """
        return loc + scale * self.standard_normal(_common(size, loc, scale), dtype)

    def exponential(self, scale: Any = 1.0, size: Shape = None, dtype: Any = np.float64) -> Any:
        """Return exponentially distributed numbers of mean ``scale``; differentiable in it.

        Args:
            scale: a number or an array.
            size: the shape of the result; None for the shape to which the parameters broadcast.
            dtype: float64 or float32.

        >>> bool(Generator(1).exponential(2.0) >= 0)
        True
        """
        return -np.log1p(-self.random(_common(size, scale), dtype)) * scale

    def bernoulli(self, p: Any = 0.5, size: Shape = None) -> Any:
        """Return bools that are True with probability ``p``.

        Args:
            p: a number or an array.
            size: the shape of the result; None for the shape to which the parameters broadcast.

        >>> Generator(1).bernoulli(1.0, 3).tolist()
        [True, True, True]
        """
        return self.random(_common(size, p)) < p

    def integers(self, low: Any, high: Any = None, size: Shape = None) -> Any:
        """Return integers uniform in [low, high), or in [0, low) without ``high``, as int64.

        Args:
            low, high: ints or integer arrays, broadcast against each other.
            size: the shape of the result; None for the shape to which the parameters broadcast.

        Raises:
            BadInput: the interval is empty.

        >>> Generator(1).integers(7, 8, 3).tolist()
        [7, 7, 7]
        """
        if high is None:
            low, high = 0, low
        if np.any(high <= low):
            raise BadInput("integers needs low < high")
        n = (np.asarray(high, np.int64) - np.asarray(low, np.int64)).astype(np.uint64)
        size = _common(size, low, high)
        # Reject the lowest 2^64 mod n values: the number of those left is a multiple of n.
        most = np.uint64(0xFFFFFFFFFFFFFFFF)
        least = (most - n + np.uint64(1)) % n
        drawn = self.bits(size)
        while np.any(drawn < least):
            drawn = np.where(drawn < least, self.bits(size), drawn)[()]
        return low + (drawn % n).astype(np.int64)

    def permutation(self, x: Any) -> Any:
        """Return the integers 0 to x - 1, or a copy of an array x with its rows, in random order.

        Args:
            x: an int or an array.

        >>> sorted(Generator(1).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        if np.ndim(x) == 0:
            return np.argsort(self.bits(x), kind="stable")
        x = np.asarray(x)
        return x[np.argsort(self.bits(len(x)), kind="stable")]

    def shuffle(self, x: Any) -> None:
        """Put the rows of an array in random order, in place.

        Args:
            x: an array of any shape.

        >>> x = np.arange(4)
        >>> Generator(1).shuffle(x)
        >>> sorted(x.tolist())
        [0, 1, 2, 3]
        """
        x[...] = self.permutation(x)

    def choice(self, a: Any, size: Shape = None, replace: bool = True, p: Any = None) -> Any:
        """Return integers below ``a``, or rows of an array ``a``, drawn uniformly or with probabilities ``p``.

        Args:
            a: an int, or an array whose rows are the items.
            size: the shape of the result; None for one number.
            replace: whether an item may be drawn several times.
            p: the weight of each item; without ``replace``, items are drawn from the remaining ones in proportion to p.

        Raises:
            BadInput: without replacement, ``size`` exceeds the number of items.

        Source for weights without replacement: P. S. Efraimidis and P. G. Spirakis, Weighted random sampling with a
        reservoir, Inf. Process. Lett. 97, 2006.

        >>> sorted(Generator(1).choice(3, 3, replace=False).tolist())
        [0, 1, 2]
        """
        n = a if np.ndim(a) == 0 else len(a)
        if not replace:
            shape = _shape(size)
            m = 1
            for length in shape:
                m *= length
            if m > n:
                raise BadInput(f"{m} of {n} cannot be chosen without replacement")
            keys = self.bits(n) if p is None else self.exponential(size=n) / np.asarray(p)
            chosen = np.argsort(keys, kind="stable")[:m].reshape(shape)
            chosen = chosen[()] if size is None else chosen
        elif p is None:
            chosen = self.integers(0, n, size)
        else:
            total = np.cumsum(p)
            chosen = np.searchsorted(total[:-1] / total[-1], self.random(size), side="right")
        return chosen if np.ndim(a) == 0 else np.asarray(a)[chosen]

    def spawn(self, n: int) -> list[Generator]:
        """Return n generators with streams independent of this one's and of each other's.

        Args:
            n: how many.

        >>> len(Generator(1).spawn(2))
        2
        """
        made = []
        for _ in range(n):
            child = Generator()
            a, b, c, d = philox(self.key, self.counter, 1)
            child.key = a | b << _32
            self.counter = self.counter + np.uint64(1)
            made.append(child)
        return made


def _between(bits: Any) -> Any:
    """Return float64 numbers uniform in (0, 1), symmetric about 1/2, from uint64 bits."""
    return ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2**-52


def _is_single(dtype: Any) -> bool:
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise BadInput(f"the dtype of random numbers must be float64 or float32, not {dtype}")
    return dtype == np.float32


def _shape(size: Shape) -> tuple[int, ...]:
    if size is None:
        return ()
    return tuple(size) if isinstance(size, (tuple, list)) else (operator.index(size),)


def _common(size: Shape, *parameters: Any) -> Shape:
    """Return ``size`` if given, else the broadcast shape of the parameters; None if all are numbers."""
    if size is not None:
        return size
    return np.broadcast_shapes(*(np.shape(x) for x in parameters)) or None
