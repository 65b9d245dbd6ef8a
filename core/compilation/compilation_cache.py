"""Compiled programs on disk, shared between processes.

An entry is a file named by its cache key, a digest of the typed program, morula's code, library and compiler versions,
and the CPU.  Files are written under a temporary name and then renamed, so that several processes can share a folder.
If the folder grows too large, the least recently used entries are removed.

Environment: ``MORULA_CACHE=0`` turns the cache off; ``MORULA_CACHE_DIR`` sets its folder (default: ``morula`` in
``$XDG_CACHE_HOME`` or ``~/.cache``, ``%LOCALAPPDATA%`` or ``~/Library/Caches``); ``MORULA_CACHE_SIZE`` sets the most
megabytes for each kind of program (512).
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import scipy

from ..errors import ENGINE, FOLDER
from ..ir import typed
from ..ir.dynamic import Block, Function, Operation, Value
from ..ir.places import Calls, calls_to
from ..ir.typed import ArrayType, Dim, Primitive

SIZE = 512
CHECKED_EVERY = 64


def folder(kind: str) -> Path | None:
    """Return the cache folder for programs of a kind ("native", "xla"); None if the cache is off."""
    if os.environ.get("MORULA_CACHE", "1") in ("0", "off", "false"):
        return None
    given = os.environ.get("MORULA_CACHE_DIR")
    try:
        return (Path(given) if given else _of_user() / "morula") / kind
    except RuntimeError as error:  # no home directory
        _not_kept(str(error))
        return None


@lru_cache(maxsize=1)
def _warned() -> set[str]:
    return set()


def _not_kept(reason: str) -> None:
    """Warn, once per process, that compiled programs are not cached on disk."""
    if not _warned():
        _warned().add(reason)
        warnings.warn(
            f"compiled programs cannot be cached on disk: {reason}; set MORULA_CACHE_DIR to a writable folder, or "
            "MORULA_CACHE=0 to turn the cache off",
            RuntimeWarning,
            stacklevel=2,
        )


def _of_user() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def bound() -> int:
    """Return the most bytes that the programs of one kind may take."""
    try:
        return int(float(os.environ.get("MORULA_CACHE_SIZE", SIZE)) * 2**20)
    except ValueError:
        return SIZE * 2**20


def load(kind: str, key: str) -> bytes | None:
    """Return the entry for a key and mark it as used; None if it is missing, unreadable or corrupt."""
    where = folder(kind)
    if where is None:
        return None
    try:
        data = (where / key).read_bytes()
    except OSError:
        return None
    with suppress(OSError):
        os.utime(where / key)
    digest, content = data[:32], data[32:]
    return content if hashlib.sha256(content).digest() == digest else None


def store(kind: str, key: str, content: bytes) -> None:
    """Store an entry; warn once if the folder cannot be written."""
    where = folder(kind)
    if where is None:
        return
    try:
        where.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=where, prefix="new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, where / key)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        if int(key[:8], 16) % CHECKED_EVERY == 0 or len(content) > bound() // CHECKED_EVERY:
            shrink(where)
    except OSError as error:
        _not_kept(str(error))


def shrink(where: Path) -> None:
    """Remove the least recently used entries until the folder fits its bound."""
    found = []
    for path in where.iterdir():
        with suppress(OSError):  # another process may remove it meanwhile
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found, key=lambda entry: entry[0]):
        if total <= bound():
            return
        with suppress(OSError):
            path.unlink()
        total -= size


def fingerprint(function: Function, *more: Any) -> str | None:
    """Return the cache key of a typed function; None if it refers to objects that exist only in this process."""
    try:
        text = _Text().function(function)
    except _OfThisProcess:
        return None
    return hashlib.sha256("\n".join([text, *_circumstances(), *map(str, more)]).encode()).hexdigest()


class _OfThisProcess(Exception):
    """A program refers to an object that has no stable text, so it cannot be cached on disk."""


class _Text:
    """Writes a typed function as text that determines it completely."""

    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        self.functions: dict[int, int] = {}
        self.places: dict[Calls, int] = {}
        self.lines: list[str] = []

    def function(self, function: Function) -> str:
        self.functions[id(function)] = len(self.functions)
        self.lines.append(f"function {self.listed(function.parameters)}")
        self.block(function.block)
        return "\n".join(self.lines)

    def listed(self, values: list[Value]) -> str:
        return " ".join(f"{self.value(v)}:{self.type(v.type)}" for v in values)

    def value(self, value: Value) -> str:
        if value.is_constant:
            return self.constant(value.constant)
        return f"%{self.numbers.setdefault(value, len(self.numbers))}"

    def type(self, kind: Any) -> str:
        if not isinstance(kind, ArrayType):
            return str(kind)
        shape = (f"{self.value(n.value)}<={n.bound}" if isinstance(n, Dim) else str(n) for n in kind.shape)
        return f"{kind.dtype.str}{'w' if kind.weak else ''}[{','.join(shape)}]"

    def constant(self, x: Any) -> str:
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc":
            return (
                f"{x.dtype.str}{x.shape}{hashlib.sha256(x.tobytes()).hexdigest() if x.size > 4 else x.tobytes().hex()}"
            )
        if x is None or isinstance(x, (bool, int, str, float, complex, bytes, np.dtype)):
            return repr(x)
        if isinstance(x, (tuple, list)):
            return f"({','.join(map(self.constant, x))})"
        return self.callee(x)

    def callee(self, x: Any) -> str:
        if isinstance(x, Function):
            if id(x) not in self.functions:
                inner = _Text()
                inner.functions, inner.places = self.functions, self.places
                self.lines.append(inner.function(x))
            return f"function{self.functions[id(x)]}"
        if isinstance(x, Primitive):
            return x.name
        if isinstance(x, np.ufunc):
            return f"ufunc {x.__name__}"
        module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
        known = isinstance(x, type) or (module or "").startswith(("numpy", "scipy", ENGINE))
        if name is None or "<" in name or not known or isinstance(x, FunctionType) and x.__closure__:
            raise _OfThisProcess
        return f"{module}.{name}"

    def block(self, block: Block) -> None:
        for op in block.operations:
            self.operation(op)
        self.lines.append(f"yield {self.listed(block.results)}")

    def operation(self, op: Operation) -> None:
        # The callee of a loop is of no matter for its code: a memory policy, or a bound.
        callee = self.callee(op.callee) if op.callee is not None and op.kind == "call" else ""
        callee = "reversed" if op.callee is typed.REVERSED else callee
        operands = f"{self.listed(op.operands)} {op.keywords}"
        place = self.places.setdefault(calls_to(op.line), len(self.places))  # not the line: edits move it
        self.lines.append(f"{self.listed(op.results)} = {op.kind} {callee} {operands} @{place}")
        for block in op.blocks:
            self.lines.append(f"block {self.listed(block.parameters)}")
            self.block(block)


@lru_cache(maxsize=1)
def _circumstances() -> tuple[str, ...]:
    """Return the part of the key common to all targets: library versions and machine; targets add their compiler's."""
    versions = np.__version__, scipy.__version__, sys.implementation.cache_tag or ""
    return (*versions, platform.machine(), _processor(), platform.system(), _state_of_the_code())


def _processor() -> str:
    """Return the CPU model and its instruction set extensions, as far as the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(("flags", "model name", "Features"))))


def _state_of_the_code() -> str:
    """Return a digest of the core's file names and times: a checkout can change without a new version."""
    here = Path(FOLDER)
    found = sorted((str(p.relative_to(here)), p.stat().st_mtime_ns) for p in here.rglob("*.py"))
    return hashlib.sha256(repr(found).encode()).hexdigest()
