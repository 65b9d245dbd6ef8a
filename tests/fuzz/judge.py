"""The verdict on a program: its derivative is right, refused or wrong, or the engine fails.

The reference is the plain program: its value or exception, the final state of its arguments, and its slopes along
random directions by differences extrapolated to step zero.  Float32 leaves are moved in double precision, so that the
slopes are accurate.
"""

from __future__ import annotations

import enum
import random
import signal
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import morula as mo
from morula.core.compilation import codes, partial
from morula.core.eager.forward import compiled
from morula.core.eager.recorded import compiled_calls
from morula.core.eager.structured.functions import compiled_for
from morula.core.testing.differences import ridders

from .case import Module, copied, moved, totals, world
from .duals import MATH, DualNumPy, transforms

REFUSALS = (mo.NoDerivative, mo.BadInput)
LIMITS = ("a negative float to a fractional power is a complex number", "an int of compiled code has 64 bits")
"""Messages of compiled programs at numbers that only Python can represent; they count as refusals at run time."""
TIERS = ("eager", "recorded", "native", "xla", "partial")


class Outcome(enum.Enum):
    """The outcome for a program.  INVALID: it fails, overflows or does not end in plain Python, and tests nothing."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "WRONG"
    CRASH = "CRASH"
    INVALID = "invalid"

    @property
    def is_failure(self) -> bool:
        return self in (Outcome.WRONG, Outcome.CRASH)


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    message: str = ""
    compared: int = 0
    """The number of directions along which the derivative was compared."""


class Slow(BaseException):
    """A program exceeds its time limit.  ``except Exception`` in a program does not catch this."""


@contextmanager
def recording() -> Iterator[None]:
    """Record every function on the tape, also those that the structured tier would compile."""
    assert compiled_calls.compiled_for is compiled.compiled_for is compiled_for
    compiled_calls.compiled_for = compiled.compiled_for = lambda *args, **kwargs: None
    try:
        yield
    finally:
        compiled_calls.compiled_for = compiled.compiled_for = compiled_for


@contextmanager
def divided(program: Any) -> Iterator[None]:
    """Compile parts at their first call, but neither the whole program nor one part of three."""
    usual = partial.Part.compiled_for

    def compiled_for(self: Any, *given: Any) -> Any:
        code = self.function.__code__ if self.code is None else self.code.function.__code__
        if code is program.__code__ or zlib.crc32(repr((code.co_name, code.co_firstlineno)).encode()) % 3 == 0:
            return None
        return usual(self, *given)

    soon, codes.SOON, partial.Part.compiled_for = codes.SOON, 0, compiled_for
    try:
        yield
    finally:
        codes.SOON, partial.Part.compiled_for = soon, usual


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise ``Slow`` after this time.  Limits nest: an outer one keeps counting during and after an inner one."""

    def stop(*_: Any) -> None:
        raise Slow(f"still running after {seconds} s")

    start = time.monotonic()
    previous = signal.signal(signal.SIGALRM, stop)
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, left or seconds), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - start), 1e-3), interval)


def judge(text: str, tier: str = "eager", seconds: float = 60.0) -> Verdict:
    """Run a program plainly and differentiated, and compare."""
    try:
        with limit(seconds), np.errstate(all="ignore"):
            return _judge(text, tier, min(1.5, seconds / 3))
    except Slow as slow:
        return Verdict(Outcome.CRASH, str(slow))


def _judge(text: str, tier: str, plain_seconds: float) -> Verdict:
    try:
        module = Module(text)
        is_dual = module.setting("DUALS", False)
        reference = Module(text, {"mo": transforms, **({"np": DualNumPy(), "math": MATH} if is_dual else {})})
        leaves = module.leaves
        plain = reference.fresh()
        expected_args = plain["arguments"](**copied(leaves))
        with limit(plain_seconds):
            expected = outcome(lambda: plain["program"](*expected_args))
    except (Exception, Slow) as error:
        return Verdict(Outcome.INVALID, f"{type(error).__name__}: {error}")
    raises = isinstance(expected, Raised)
    if not raises and not (isinstance(expected, (int, float, np.number)) and np.all(abs(expected) < 1e8)):
        return Verdict(Outcome.INVALID, f"the value is {expected!r}")
    try:
        found, run = differentiated(module, copied(leaves), tier)
    except REFUSALS as refusal:
        is_fault = "fault of morula" in str(refusal) or "InvalidIR" in str(refusal)
        return Verdict(Outcome.CRASH if is_fault else Outcome.REFUSED, f"{type(refusal).__name__}: {refusal}")
    except Exception:
        return Verdict(Outcome.CRASH, traceback.format_exc(limit=-6))
    try:
        exact: bool | None = tier in ("eager", "recorded") and not is_dual
        if not exact and any(np.asarray(x).dtype in (np.float32, np.complex64) for x in leaves.values()):
            exact = None
        if isinstance(found.value, Raised) and found.value.is_limit:
            return Verdict(Outcome.REFUSED, repr(found.value))
        _assert_same(found.value, expected, exact, "the value")
        if not raises or tier in ("eager", "recorded"):  # a compiled program that raises leaves its arguments unchanged
            _assert_same(run.args, expected_args, exact, "the arguments afterwards")
            if not is_dual:
                _assert_same(world(run.scope), world(plain), exact, "the module afterwards")
        if raises:
            return Verdict(Outcome.RIGHT, "raised")
        gradient = run.gradient()
        slopes = totals(run.scope["arguments"], leaves, gradient)
        _assert_same(run.args, expected_args, exact, "the arguments after the backward sweep")
        compared = _compare(reference, module, leaves, slopes)
        if module.setting("THREADS", 0):
            _compare_threads(module, leaves, gradient, module.setting("THREADS", 0))
        if module.setting("ORDER", 1) > 1 and tier == "eager":
            _compare_second(module, leaves)
    except REFUSALS as refusal:
        return Verdict(Outcome.REFUSED, f"{type(refusal).__name__}: {refusal}")
    except AssertionError as error:
        return Verdict(Outcome.WRONG, str(error))
    except Exception:
        return Verdict(Outcome.CRASH, traceback.format_exc(limit=-6))
    return Verdict(Outcome.RIGHT, compared=compared)


class Raised:
    """An exception that left a program."""

    def __init__(self, error: Exception) -> None:
        self.kind, self.args = type(error).__name__, error.args

    def __repr__(self) -> str:
        return f"raised {self.kind}{self.args}"

    @property
    def is_limit(self) -> bool:
        return any(limit in x for x in self.args if isinstance(x, str) for limit in LIMITS)


@dataclass
class _Found:
    value: Any


EXPECTED = (ArithmeticError, AssertionError, LookupError, NameError, RuntimeError, TypeError, ValueError)


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except EXPECTED as error:
        return Raised(error)


class _Run:
    """One differentiated run: the arguments after it, and the gradient on request."""

    def __init__(self, scope: dict[str, Any], args: Any, back: Callable[..., Any] | None) -> None:
        self.scope, self.args, self.back = scope, args, back

    def gradient(self) -> tuple[Any, ...]:
        gradient = self.back(1.0)
        again = self.back(1.0)
        _assert_same(again, gradient, False, "the gradient, going back a second time,")
        return gradient


def differentiated(module: Module, leaves: dict[str, Any], tier: str) -> tuple[_Found, _Run]:
    scope = module.fresh()
    args = scope["arguments"](**leaves)
    program = scope["program"]
    try:
        if tier == "recorded":
            with recording():
                value, back = mo.vjp(program, *args)
                gradients = back(1.0)
            return _Found(value), _Run(scope, args, lambda dy: gradients)
        if tier == "eager":
            value, back = mo.vjp(program, *args)
            return _Found(value), _Run(scope, args, back)
        if tier == "partial":
            with divided(program):
                return _divided(module, leaves, scope, args)
        compiled = mo.jit(mo.value_and_grad(program, tuple(range(len(args)))), target=tier)
        value, gradients = compiled(*args)
        return _Found(value), _Run(scope, args, lambda dy: gradients)
    except REFUSALS:
        raise
    except EXPECTED as error:
        return _Found(Raised(error)), _Run(scope, args, None)


def _divided(module: Module, leaves: dict[str, Any], scope: dict[str, Any], args: Any) -> tuple[_Found, _Run]:
    """Run the program in parts, plainly and differentiated; both runs must agree."""
    others = copied(leaves)
    part = mo.jit(scope["program"], target="native", partial=True)
    value, back = mo.vjp(part, *args)
    gradients = back(1.0)
    again = module.fresh()
    others = again["arguments"](**others)
    plain = mo.jit(again["program"], target="native", partial=True)
    _assert_same(plain(*others), value, False, "the value of the plain run in parts")
    _assert_same(others, args, False, "the arguments after the plain run in parts")
    return _Found(value), _Run(scope, args, lambda dy: gradients)


def _direction(leaves: dict[str, Any], r: random.Random, ties: bool) -> dict[str, Any]:
    """A random displacement of every leaf; with ``ties``, the same displacement for equal numbers."""
    drawn: dict[float, float] = {}
    draw = (lambda v: drawn.setdefault(float(v), r.gauss(0, 1))) if ties else (lambda v: r.gauss(0, 1))
    along: dict[str, Any] = {}
    for name, x in leaves.items():
        if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
            real = np.array([draw(v) for v in np.real(x).ravel()]).reshape(x.shape)
            along[name] = real + 1j * np.array([draw(v) for v in np.imag(x).ravel()]).reshape(x.shape) if x.dtype.kind == "c" else real  # fmt: skip  # noqa: E501
        elif isinstance(x, complex):
            along[name] = complex(draw(x.real), draw(x.imag))
        elif isinstance(x, (float, int, np.floating)) and not isinstance(x, bool):
            along[name] = draw(x)
    return along


def _compare(reference: Module, module: Module, leaves: dict[str, Any], slopes: dict[str, Any]) -> int:
    """Assert that the slopes along random directions agree with differences; return how many could be compared."""
    r = random.Random(zlib.crc32(module.text.encode()))
    single = any(np.asarray(x).dtype in (np.float32, np.complex64) for x in leaves.values())
    rtol, compared = 2e-3 if single else 1e-5, 0
    for _ in range(2):
        along = _direction(leaves, r, module.setting("TIES", False))
        whole = [name for name, x in leaves.items() if isinstance(x, int)]
        slope, error = _slope(reference, leaves, along)
        if not error < 0.1 * rtol * max(1.0, abs(slope)) and whole:  # an int used as a count cannot be moved
            for name in whole:
                along.pop(name)
            slope, error = _slope(reference, leaves, along)
        if not error < 0.1 * rtol * max(1.0, abs(slope)):
            continue
        found = _inner(slopes, along)
        if not abs(found - slope) <= rtol * max(1.0, abs(slope)):
            again, _ = _slope(reference, leaves, along, 7e-4)
            if not abs(again - slope) <= rtol * max(1.0, abs(slope)) or _is_kink(reference, leaves, along):
                continue  # the program oscillates, or a branch switches: differences are inconclusive
        compared += 1
        assert abs(found - slope) <= rtol * max(1.0, abs(slope)), (
            f"along {along} the slope is {found!r}; differences give {slope!r} (error {error:.0e}); gradient {slopes!r}"
        )
    return compared


def _slope(reference: Module, leaves: dict[str, Any], along: dict[str, Any], step: float = 1e-2) -> tuple[float, float]:
    def phi(t: float) -> float:
        try:
            return float(np.real(reference.call(moved(leaves, along, t))))
        except Exception:  # the program may fail on another path
            return float("nan")

    return ridders(phi, step, levels=7)


def _is_kink(reference: Module, leaves: dict[str, Any], along: dict[str, Any], h: float = 1e-6) -> bool:
    """Whether the slopes on both sides differ, as for a maximum at a tie."""
    before, here, after = (float(np.real(reference.call(moved(leaves, along, t)))) for t in (-h, 0.0, h))
    return not abs(after - 2.0 * here + before) / h <= 1e-3 * max(1.0, abs(after - before) / h)


def _inner(slopes: dict[str, Any], along: dict[str, Any]) -> float:
    return sum(float(np.sum(np.real(np.conj(d) * slopes[name]))) for name, d in along.items() if name in slopes)


def _compare_threads(module: Module, leaves: dict[str, Any], gradient: tuple[Any, ...], count: int) -> None:
    """Assert that threads which differentiate the same arguments concurrently all find the same gradient."""
    scope = module.fresh()
    args = scope["arguments"](**copied(leaves))
    with ThreadPoolExecutor(count) as pool:
        for found in pool.map(lambda _: mo.gradient(scope["program"], *args), range(2 * count)):
            _assert_same(found, gradient, False, "the gradient in a thread")


def _compare_second(module: Module, leaves: dict[str, Any]) -> None:
    """Assert that second derivatives agree with differences of first derivatives, which have already been compared."""
    r = random.Random(zlib.crc32(module.text.encode()) + 1)
    real = {name: x for name, x in leaves.items() if not np.iscomplexobj(x)}
    one, two = (_direction(real, r, module.setting("TIES", False)) for _ in range(2))

    def first(leaves: dict[str, Any]) -> float:
        scope = module.fresh()
        gradient = mo.gradient(scope["program"], *scope["arguments"](**leaves))
        return _inner(totals(scope["arguments"], leaves, gradient), one)

    scope = module.fresh()
    program, names = scope["program"], list(leaves)

    def along_one(*values: Any) -> Any:
        inner = lambda *xs: program(*scope["arguments"](**dict(zip(names, xs))))  # noqa: E731
        total = 0.0
        for name, g in zip(names, mo.gradient(inner, *values)):
            if name in one:
                total = total + np.sum(g * one[name])
        return total

    def phi(t: float) -> float:
        try:
            return first(moved(leaves, two, t))
        except REFUSALS:
            raise
        except Exception:
            return float("nan")

    slope, error = ridders(phi, 1e-2, levels=4)
    if error < 1e-5 * max(1.0, abs(slope)):
        found = _inner(dict(zip(names, mo.gradient(along_one, *copied(leaves).values()))), two)
        assert abs(found - slope) <= 1e-4 * max(1.0, abs(slope)), (
            f"the second derivative is {found!r}; differences of the first give {slope!r}"
        )


def _assert_same(found: Any, expected: Any, exact: bool | None, what: str) -> None:
    """Assert equality: in types, dtypes and bits if ``exact``, else to rounding (None: of single precision)."""
    if isinstance(expected, Raised) or isinstance(found, Raised):
        assert isinstance(found, Raised) and isinstance(expected, Raised), f"{what}: {found!r}, not {expected!r}"
        if exact is not True and {found.kind, expected.kind} == {"TypeError", "UFuncTypeError"}:
            return  # compiled code may compute with NumPy's numbers for Python's, and raises the subclass
        assert found.kind == expected.kind, f"{what}: {found!r}, not {expected!r}"
        if exact and any(isinstance(x, float) for x in expected.args):  # raised by the program, not a message of NumPy
            assert repr(found.args) == repr(expected.args), f"{what}: {found!r}, not {expected!r}"
        if exact is False:
            _assert_same(found.args, expected.args, exact, f"{what}: {found!r}, not {expected!r}; its arguments")
        return
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected) and len(found) == len(expected), f"{what}: {found!r}, not {expected!r}"
        for a, b in zip(found, expected):
            _assert_same(a, b, exact, what)
    elif isinstance(expected, dict):
        assert list(found) == list(expected), f"{what}: {found!r}, not {expected!r}"
        for key in expected:
            _assert_same(found[key], expected[key], exact, f"{what}[{key!r}]")
    elif isinstance(expected, (int, float, complex, np.ndarray, np.generic)):
        if exact:
            assert type(found) is type(expected), (
                f"{what} is {found!r}, a {type(found).__name__}; Python's {expected!r}"
            )
            assert np.asarray(found).dtype == np.asarray(expected).dtype, f"{what} is {found!r}, not {expected!r}"
            assert np.array_equal(found, expected, equal_nan=True), f"{what} is {found!r}; Python's is {expected!r}"
        else:
            rtol = 1e-4 if exact is None or np.asarray(expected).dtype in (np.float32, np.complex64) else 1e-8
            assert np.allclose(found, expected, rtol, rtol, equal_nan=True), f"{what} is {found!r}, not {expected!r}"
    elif type(found).__name__ == type(expected).__name__ and hasattr(expected, "__dict__"):
        _assert_same(vars(found), vars(expected), exact, what)
