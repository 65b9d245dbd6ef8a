"""A compiled program that can be called with arrays and numbers, saved as bytes and loaded."""

from __future__ import annotations

import ctypes
import math
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from threading import get_ident, main_thread
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Function
from ...ir.exceptions import exception_of
from ...ir.places import Calls, raised_at
from ...ir.typed import STACK, ArrayType, Dim
from ...passes.accumulations import as_additions
from . import machine, thread_pool
from .entry import built_in, has_fast_call, write_call, write_entry
from .function import FunctionCode
from .interrupts import SIGNALLED
from .library import PENDING, PythonCall
from .long_functions import in_pieces
from .program_text import ProgramText


class NativeProgram:
    """A native program: ``program([x, y, ...])`` takes arrays and numbers of exactly its parameters' dtypes and shapes.

    It returns a list of new arrays, and NumPy scalars for results without dimensions.

    Raises:
        BadInput: an argument has another dtype or shape.
        The exceptions of the user's program.
    """

    def __init__(self, saved: dict[str, Any], threads: int = 1) -> None:
        self._saved = saved
        self.llvm_text: str = saved["text"]
        self._loaded = machine.Loaded(saved["code"], saved["symbols"], saved["kept"])
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
            self._loaded.address("entry")
        )
        self._parameters: list[_Kind] = saved["parameters"]
        self._results: list[_Kind] = saved["results"]
        self._calls: list[PythonCall] = saved["callbacks"]
        self.runs_python = bool(self._calls)
        self._failures = saved["failures"]
        self._pending: dict[int, BaseException] = {}  # by thread
        self.places: Sequence[Calls] = ()
        """For each place number, the calls and lines in the user's program."""
        if self._calls:
            self._callback = machine.c_callback(self._call_python)
            address = self._loaded.variable("callback")
            ctypes.c_void_p.from_address(address).value = ctypes.cast(self._callback, ctypes.c_void_p).value
        self.loops: list[tuple[int, str]] = saved["loops"]
        """For loops and operations on large arrays of a parallel program: the number of the place, and how they run."""
        if "@parallel.run" in self.llvm_text:
            thread_pool.connect(self._loaded, threads)
        if "@main_thread" in self.llvm_text:
            ctypes.c_int64.from_address(self._loaded.variable("main_thread")).value = main_thread().ident or 0
        if "@stack.key" in self.llvm_text:
            ctypes.c_int32.from_address(self._loaded.variable("stack.key")).value = _stack_key()
        self.call: Callable[..., list[Any]] = self._converted
        """The program as a function of separate arguments; a built-in function if all shapes are static."""
        if saved["objects"] is not None:
            self.call, self._kept = built_in(self, self._loaded, saved["objects"], self._converted, self._fail_at)

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        return self.call(*arguments)

    def _converted(self, *arguments: Any) -> list[Any]:
        if len(arguments) != len(self._parameters):
            raise BadInput(f"compiled code takes {len(self._parameters)} arguments, {len(arguments)} were given")
        inputs = [kind.input(k, x) for k, (kind, x) in enumerate(zip(self._parameters, arguments))]
        places = np.array([x.ctypes.data for x in inputs] or [0], np.uintp)
        outputs = [kind.output() for kind in self._results]
        targets = np.array([x.ctypes.data for x in outputs] or [0], np.uintp)
        context = np.zeros(self._saved["words"], np.int64)
        if self._entry(places.ctypes.data, targets.ctypes.data, context.ctypes.data):
            self._fail(context)
        lengths = iter(context[ProgramText.LENGTHS :])
        return [kind.found(x, lengths) for kind, x in zip(self._results, outputs)]

    def _call_python(self, number: int, words: int) -> int:
        try:
            call = self._calls[number]
            call.run((ctypes.c_int64 * call.words).from_address(words))
        except BaseException as error:  # noqa: BLE001 - it is raised when the program has ended
            self._pending[get_ident()] = self._raised(error, self._saved["places_of_callbacks"][number])
            return 1
        return 0

    def _fail_at(self, address: int) -> None:
        self._fail(np.frombuffer((ctypes.c_char * (8 * self._saved["words"])).from_address(address), np.int64))

    def _fail(self, context: np.ndarray) -> None:
        if context[0] == PENDING:
            raise self._pending.pop(get_ident())
        if context[0] == SIGNALLED:
            _restore(*(int(x) for x in context[ProgramText.VALUES : ProgramText.VALUES + 3]))
        exception, text, dtypes, place = self._failures[int(context[0]) - 1]
        words = context[ProgramText.VALUES :]
        values = [words[2 * i : 2 * i + 2].view(np.uint8)[: d.itemsize].view(d)[0] for i, d in enumerate(dtypes)]
        raise self._raised(exception_of(exception, text, values), place)

    def _raised(self, error: BaseException, place: int) -> BaseException:
        return raised_at(error, self.places[place]) if 0 <= place < len(self.places) else error

    def to_bytes(self) -> bytes:
        """Return the serialised program: object code for this processor, and its metadata.

        Raises:
            BadInput: the program calls a Python function that cannot be pickled by its name.
        """
        try:
            return pickle.dumps((machine.circumstances(), self._saved))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise BadInput(f"a native program that calls a local Python function cannot be saved: {error}") from None

    @classmethod
    def from_bytes(cls, data: bytes, threads: int = 1) -> NativeProgram:
        """Load a program saved by ``to_bytes``; the bytes are unpickled, so they must come from a trusted source.

        ``threads`` are those of its parallel loops.

        Raises:
            BadInput: it was compiled for another processor or by another version of LLVM.
        """
        made_for, saved = pickle.loads(data)
        if made_for != machine.circumstances():
            raise BadInput(
                "native code was compiled for another processor or by another version of LLVM; compile it again"
            )
        return cls(saved, threads)


class _Kind:
    """How a parameter or a result is passed: its dtype, and its shape with bounds for lengths known at run time."""

    def __init__(self, kind: Any) -> None:
        self.is_stack = kind is STACK
        if isinstance(kind, ArrayType):
            self.dtype, self.bounds = kind.dtype, kind.bounds
            self.dynamic = [isinstance(n, Dim) for n in kind.shape]

    def input(self, k: int, x: Any) -> Any:
        if self.is_stack:
            return x.words
        found = np.ascontiguousarray(x, self.dtype if type(x) in (int, float, complex, bool) else None)
        found = found.reshape(np.shape(x))
        fits = len(found.shape) == len(self.bounds) and all(
            n <= m if moves else n == m for n, m, moves in zip(found.shape, self.bounds, self.dynamic)
        )
        if found.dtype != self.dtype or not fits:
            raise BadInput(
                f"argument {k} of compiled code is {found.dtype}{list(found.shape)}, but it was compiled for "
                f"{self.dtype}{list(self.bounds)}"
            )
        return found

    def output(self) -> np.ndarray:
        return np.empty(3, np.int64) if self.is_stack else np.empty(self.bounds, self.dtype)

    def found(self, x: np.ndarray, lengths: Any) -> Any:
        if self.is_stack:
            return NativeStack(x)
        if not self.bounds:
            return x[()]
        if any(self.dynamic):
            shape = [int(next(lengths)) if moves else n for n, moves in zip(self.bounds, self.dynamic)]
            return x.reshape(-1)[: math.prod(shape)].reshape(shape)
        return x


class NativeStack:
    """The values that a compiled forward sweep saved; owns their memory."""

    def __init__(self, words: np.ndarray) -> None:
        self.words = words
        words[2] = 0  # a program that is passed the stack does not own it

    @property
    def nbytes(self) -> int:
        return int(self.words[1])

    def __del__(self) -> None:
        if self.words[0]:
            machine.free(int(self.words[0]) - 32)


@cache
def _stack_key() -> int:
    """Return the pthread key under which each thread stores the lowest address of its stack."""
    key = ctypes.c_uint32()
    ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None)
    return key.value


_restore = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 3)(("PyErr_Restore", ctypes.pythonapi))


def compile_function(
    function: Function, *, bounds_check: bool = True, processor: machine.Processor | None = None, threads: int = 0
) -> NativeProgram:
    """Compile a typed function for a processor, by default this one.

    With ``bounds_check``, indices that are not proved to be within their array are checked at run time. With ``threads``, loops
    whose iterations are independent are run by so many threads; with 0, the program has serial loops only.

    Raises:
        BadInput: llvmlite is missing, or the function has an operation or dtype that native code does not support.
    """
    processor = processor or machine.host()
    function = as_additions(function, of_adjoints=not threads)
    program = ProgramText(function, bounds_check, processor, bool(threads))
    if not threads:
        function, pieces = in_pieces(function)
        program.pieces.update(pieces)
    name = program.name_of(function)
    while program.to_write:
        following = program.to_write.pop(0)
        FunctionCode(following, program, following is function).write(program.names[following])
    write_entry(function, name, program)
    dims = sum(isinstance(n, Dim) for v in function.block.results if v.type is not STACK for n in v.type.shape)
    words = ProgramText.LENGTHS + dims
    objects = write_call(function, program, words) if has_fast_call(function) else None
    text = program.text()
    return NativeProgram(
        {
            "text": text,
            "code": machine.object_code(text, processor),
            "symbols": program.module.symbols,
            "parameters": [_Kind(v.type) for v in function.parameters],
            "results": [_Kind(v.type) for v in function.block.results],
            "callbacks": program.callbacks,
            "places_of_callbacks": program.places_of_callbacks,
            "failures": program.failures,
            "words": words,
            "objects": objects,
            "kept": program.kept,
            "loops": program.loops,
        },
        threads,
    )
