"""LLVM: compile the text of a module to object code for a processor, and load object code as callable functions.

LLVM runs in a thread of its own, whose stack is large enough for deeply nested programs.  In the caller's thread, a signal (Ctrl-C) or
a RecursionError could come while llvmlite takes its lock or frees an object: the lock would stay taken, or the object be freed twice.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

try:
    import llvmlite.binding as _binding
except ImportError:
    _binding = None

from ...errors import BadInput
from ...recursion import in_thread
from . import capsules, ufunc_loops

llvm: Any = _binding


@dataclass(frozen=True)
class Processor:
    """A compilation target: name and features in LLVM's form, ``+avx2,-avx512f``; the last mark of a feature counts."""

    name: str
    features: str

    def has(self, feature: str) -> bool:
        marks = [mark[0] for mark in self.features.split(",") if mark[1:] == feature]
        return marks[-1:] == ["+"]

    def without(self, *features: str) -> Processor:
        """Return a processor without these features; LLVM then also drops the features that need them."""
        return Processor(self.name, ",".join([self.features, *(f"-{feature}" for feature in features)]))


@cache
def _start() -> None:
    """Prepare LLVM for this kind of processor.

    Raises:
        BadInput: llvmlite is missing.
    """
    if llvm is None:
        raise BadInput("native code needs llvmlite, which is not installed: pip install llvmlite")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for the assembly in `thread_pool`
    for library in ("libm.so.6", "libmvec.so.1"):
        try:
            llvm.load_library_permanently(library)
        except RuntimeError:
            pass  # another C library: its functions are found in the process; vector versions are not used


@cache
def host() -> Processor:
    """Return the processor that this process runs on, with the features that the operating system enables."""
    _start()
    return Processor(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def _machine(processor: Processor) -> Any:
    _start()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=processor.name, features=processor.features, opt=3, reloc="pic", jit=True)


def circumstances() -> str:
    """Return the part of the cache key beside the program's text: LLVM's version, the processor and its features."""
    processor = host()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{version} {llvm.get_default_triple()} {processor.name} {processor.features}"


def object_code(text: str, processor: Processor) -> bytes:
    """Return the object code of a module, given as text, after LLVM's optimisation passes."""
    return _compiled(text, processor, lambda module, machine: machine.emit_object(module))


def assembly(text: str, processor: Processor) -> str:
    """Return the same machine code as assembly text."""
    return _compiled(text, processor, lambda module, machine: machine.emit_assembly(module))


def _compiled(text: str, processor: Processor, emit: Callable[[Any, Any], Any]) -> Any:
    def run() -> Any:
        machine = _machine(processor)
        module = _optimised(text, machine)
        try:
            return emit(module, machine)
        finally:
            module.close()

    return in_thread(run)


def _optimised(text: str, machine: Any) -> Any:
    """Return a module after LLVM's optimisation passes.

    The vectoriser of straight-line code ("SLP") of LLVM 22 may use values before their definitions, from which the code generator makes
    a program that computes something else, or ends the process.  Such a module is compiled without it.
    """
    for is_slp in (True, False):
        module = llvm.parse_assembly(text)
        module.triple = llvm.get_default_triple()
        module.data_layout = str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.loop_interleaving = True
        options.slp_vectorization = is_slp
        # Small loops are written unrolled; more of it costs time to compile and wins nothing.
        options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        passes = builder.getModulePassManager()
        passes.run(module, builder)
        for used in (passes, builder, options):
            used.close()
        if _is_valid(module):
            return module
        module.close()
    raise BadInput(
        "LLVM's optimisation passes made an invalid program of this function, which would compute something else; compile it for another "
        "target, or differentiate it eagerly"
    )


def _is_valid(module: Any) -> bool:
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


_ENGINES: dict[int, Any] = {}
"""The engines of the programs that are loaded.

A program may be garbage as part of a cycle, whose objects are finalised in any order: its engine, which is not part of it, is there
until the program is.
"""


class Loaded:
    """Object code in memory, linked with ``symbols``: arrays, which are kept alive, C functions of SciPy, and
    loops of NumPy's ufuncs.

    ``owned`` are the names of its variables that hold memory of the C library, which is freed with the program.
    """

    def __init__(self, code: bytes, symbols: Mapping[str, Any], owned: Sequence[str] = ()) -> None:
        self.keep = dict(symbols)
        self.owned = owned
        _ENGINES[id(self)] = in_thread(lambda: _engine(code, symbols))

    def address(self, name: str) -> int:
        return _ENGINES[id(self)].get_function_address(name)

    def variable(self, name: str) -> int:
        """Return the address of a global variable."""
        return _ENGINES[id(self)].get_global_value_address(name)

    def stay(self) -> None:
        """Leave the code in memory until the process ends; it is not asked for addresses any more."""
        _ENGINES.pop(id(self)).detach()

    def __del__(self) -> None:
        if id(self) in _ENGINES:
            for name in self.owned:
                free(ctypes.c_void_p.from_address(self.variable(name)).value)
            del _ENGINES[id(self)]


free = ctypes.CDLL(None).free
free.argtypes = [ctypes.c_void_p]


def _engine(code: bytes, symbols: Mapping[str, Any]) -> Any:
    _start()
    for name, found in symbols.items():
        llvm.add_symbol(name, _address(found))
    # An engine takes ownership of its target machine, so it cannot share the cached one.
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=3, reloc="pic", jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _address(found: Any) -> int:
    if isinstance(found, np.ndarray):
        return found.ctypes.data
    return ufunc_loops.address(found) if isinstance(found, ufunc_loops.Loop) else capsules.address(found)


def c_callback(function: Any) -> Any:
    """Return a C function ``i32 (i64, ptr)`` that calls a Python function of two ints."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p)(function)
