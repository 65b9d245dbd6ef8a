"""Numbers that become bytes and are read back: the gradient is right or refused, and never zero.

A way in puts three numbers into an object with a buffer, a way out reads three numbers from a buffer.  Every way in is
followed by every way out, on an array; and by a quarter of them on Python's floats.
"""

from __future__ import annotations

import array
import base64
import ctypes
import hashlib
import io
import mmap
import multiprocessing
import pickle
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from multiprocessing import shared_memory
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import morula as mo

Doubles = ctypes.c_double * 3
Pointer = ctypes.POINTER(ctypes.c_double)
Packing = struct.Struct("3d")


class Triple(ctypes.Structure):
    _fields_ = [("a", ctypes.c_double), ("b", ctypes.c_double), ("c", ctypes.c_double)]


class Pair(ctypes.Structure):
    _fields_ = [("values", Doubles)]


INTO: dict[str, Callable[[Any], Any]] = {}
OUT_OF: dict[str, Callable[[Any], Any]] = {}


def into(f):
    INTO[f.__name__] = f
    return f


def out_of(f):
    OUT_OF[f.__name__] = f
    return f


INTO |= {
    "tobytes": lambda v: np.array(v).tobytes(),
    "bytes": lambda v: bytes(np.array(v)),
    "bytearray": lambda v: bytearray(np.array(v)),
    "memoryview": lambda v: memoryview(np.array(v)),
    "data": lambda v: np.array(v).data,
    "bytes of a memoryview": lambda v: memoryview(np.array(v)).tobytes(),
    "a cast memoryview": lambda v: memoryview(np.array(v)).cast("B"),
    "a part of a memoryview": lambda v: memoryview(np.array([0.0, *v]))[1:],
    "joined bytes": lambda v: b"".join([np.array(x).tobytes() for x in v]),
    "added bytes": lambda v: np.array(v)[:1].tobytes() + np.array(v)[1:].tobytes(),
    "a part of bytes": lambda v: np.array([0.0, *v]).tobytes()[8:],
    "view": lambda v: np.array(v).view(np.uint8),
    "struct.pack": lambda v: struct.pack("3d", *v),
    "Struct.pack": lambda v: Packing.pack(*v),
    "array.array": lambda v: array.array("d", v),
    "array.array of a list": lambda v: array.array("d", list(v)),
    "array.array of bytes": lambda v: array.array("d", np.array(v).tobytes()),
    "ctypes array": lambda v: Doubles(*v),
    "ctypes structure": lambda v: Triple(*v),
    "ctypes structure by name": lambda v: Triple(a=v[0], b=v[1], c=v[2]),
    "as_ctypes": lambda v: np.ctypeslib.as_ctypes(np.array(v)),
    "from_buffer": lambda v: Doubles.from_buffer(np.array(v)),
    "from_buffer_copy": lambda v: Doubles.from_buffer_copy(np.array(v)),
    "string buffer": lambda v: ctypes.create_string_buffer(np.array(v).tobytes(), 24),
    "string_at": lambda v: ctypes.string_at(Doubles(*v), 24),
    "BytesIO": lambda v: io.BytesIO(np.array(v).tobytes()).getvalue(),
    "BytesIO.getbuffer": lambda v: io.BytesIO(np.array(v).tobytes()).getbuffer(),
    "Value": lambda v: multiprocessing.RawArray("d", list(v)),
    "Array": lambda v: multiprocessing.Array("d", list(v)).get_obj(),
    "base64": lambda v: base64.b64decode(base64.b64encode(np.array(v).tobytes())),
    "zlib": lambda v: zlib.decompress(zlib.compress(np.array(v).tobytes())),
    "an integer": lambda v: int.from_bytes(np.array(v).tobytes(), "little").to_bytes(24, "little"),
    "pickle": lambda v: pickle.loads(pickle.dumps(np.array(v))),
    "reversed twice": lambda v: np.array(v).tobytes()[::-1][::-1],
    "replaced": lambda v: np.array(v).tobytes().replace(b"no such bytes", b""),
    "ljust": lambda v: np.array(v)[:2].tobytes().ljust(24, b"\0")[:16] + np.array(v)[2:].tobytes(),
}


@into
def byte_by_byte(v):
    found = bytearray()
    for byte in np.array(v).tobytes():
        found.append(byte)
    return found


@into
def pack_into(v):
    memory = bytearray(24)
    struct.pack_into("3d", memory, 0, *v)
    return memory


@into
def pack_into_an_array(v):
    memory = np.zeros(24, np.uint8)
    struct.pack_into("d", memory, 0, v[0])
    struct.pack_into("2d", memory, 8, v[1], v[2])
    return memory


@into
def slices_of_a_bytearray(v):
    memory = bytearray(24)
    memory[:8] = struct.pack("d", v[0])
    memory[8:24] = np.array(v[1:]).tobytes()
    return memory


@into
def extended_bytearray(v):
    memory = bytearray(struct.pack("d", v[0]))
    memory.extend(struct.pack("d", v[1]))
    memory += struct.pack("d", v[2])
    return memory


@into
def items_of_a_memoryview(v):
    memory = bytearray(24)
    view = memoryview(memory).cast("d")
    for i in range(3):
        view[i] = v[i]
    return memory


@into
def slice_of_a_memoryview(v):
    memory = bytearray(24)
    memoryview(memory)[:] = np.array(v).tobytes()
    return memory


@into
def written_through_frombuffer(v):
    memory = bytearray(24)
    np.frombuffer(memory)[:] = v
    return memory


@into
def written_through_ndarray(v):
    memory = bytearray(24)
    np.ndarray(3, float, buffer=memory)[:] = v
    return memory


@into
def appended(v):
    values = array.array("d")
    for x in v:
        values.append(x)
    return values


@into
def extended(v):
    values = array.array("d", [v[0]])
    values.extend(array.array("d", [v[1]]))
    values += array.array("d", [v[2]])
    return values


@into
def fromlist(v):
    values = array.array("d")
    values.fromlist(list(v))
    return values


@into
def frombytes(v):
    values = array.array("d")
    values.frombytes(np.array(v).tobytes())
    return values


@into
def items_of_an_array(v):
    values = array.array("d", [0.0] * 3)
    for i in range(3):
        values[i] = v[i]
    return values


@into
def items_of_a_ctypes_array(v):
    values = Doubles()
    for i in range(3):
        values[i] = v[i]
    return values


@into
def slice_of_a_ctypes_array(v):
    values = Doubles()
    values[:] = list(v)
    return values


@into
def fields_of_a_structure(v):
    found = Triple()
    found.a, found.b, found.c = v
    return found


@into
def an_array_in_a_structure(v):
    found = Pair()
    for i in range(3):
        found.values[i] = v[i]
    return found


@into
def through_a_pointer(v):
    values = Doubles()
    pointer = ctypes.cast(values, Pointer)
    for i in range(3):
        pointer[i] = v[i]
    return values


@into
def through_a_pointer_to_an_array(v):
    values = np.zeros(3)
    pointer = values.ctypes.data_as(Pointer)
    for i in range(3):
        pointer[i] = v[i]
    return values


@into
def through_the_contents_of_a_pointer(v):
    values = np.zeros(3)
    for i in range(3):
        values[i:].ctypes.data_as(Pointer).contents.value = v[i]
    return values


@into
def through_an_address(v):
    values = np.zeros(3)
    memory = Doubles.from_address(values.ctypes.data)
    memory[:] = list(v)
    return values


@into
def through_the_array_interface(v):
    values = np.zeros(3)
    memory = Doubles.from_address(values.__array_interface__["data"][0])
    memory[:] = list(v)
    return values


@into
def memmove(v):
    values, given = Doubles(), np.array(v)
    ctypes.memmove(values, given.ctypes.data, 24)
    return values


@into
def memmove_between_addresses(v):
    values, given = np.zeros(3), np.array(v)
    ctypes.memmove(values.ctypes.data, given.ctypes.data, 24)
    return values


@into
def memmove_of_pointers(v):
    values, given = np.zeros(3), np.array(v)
    ctypes.memmove(values.ctypes.data_as(ctypes.c_void_p), given.ctypes.data_as(ctypes.c_void_p), 24)
    return values


@into
def read_through_a_pointer(v):
    given = np.array(v)
    pointer = given.ctypes.data_as(Pointer)
    return array.array("d", [pointer[i] for i in range(3)])


@into
def read_through_an_address(v):
    given = np.array(v)
    found = Doubles.from_address(given.ctypes.data)
    found.keeps = given
    return found


@into
def as_ctypes_items(v):
    values = np.zeros(3)
    memory = np.ctypeslib.as_ctypes(values)
    memory[0], memory[1], memory[2] = v
    return values


@into
def written_into_bytesio(v):
    file = io.BytesIO()
    file.write(np.array(v).tobytes())
    return file.getvalue()


@into
def read_from_bytesio(v):
    file = io.BytesIO()
    for x in v:
        file.write(struct.pack("d", x))
    file.seek(0)
    return file.read()


@into
def readinto(v):
    memory = bytearray(24)
    io.BytesIO(np.array(v).tobytes()).readinto(memory)
    return memory


@into
def readinto_an_array(v):
    values = np.zeros(3)
    io.BytesIO(np.array(v).tobytes()).readinto(values)
    return values


@into
def saved_and_loaded(v):
    file = io.BytesIO()
    np.save(file, np.array(v))
    file.seek(0)
    return np.load(file)


@into
def saved_compressed(v):
    file = io.BytesIO()
    np.savez(file, a=np.array(v))
    file.seek(0)
    return np.load(file)["a"]


@into
def in_a_map(v):
    memory = mmap.mmap(-1, 24)
    memory[:24] = np.array(v).tobytes()
    return memory


@into
def written_into_a_map(v):
    memory = mmap.mmap(-1, 24)
    for x in v:
        memory.write(struct.pack("d", x))
    return memory


@into
def an_array_on_a_map(v):
    memory = mmap.mmap(-1, 24)
    np.frombuffer(memory)[:] = v
    return memory


@into
def values_of_processes(v):
    found = [multiprocessing.RawValue("d", v[0]), multiprocessing.Value("d", v[1]), multiprocessing.RawValue("d")]
    found[2].value = v[2]
    return array.array("d", [x.value for x in found])


@into
def numbers_of_ctypes(v):
    return array.array("d", [ctypes.c_double(x).value for x in v])


class WithInterface:
    def __init__(self, x):
        self.__array_interface__ = x.__array_interface__
        self.x = x


class WithProperty:
    def __init__(self, x):
        self.x = x

    @property
    def __array_interface__(self):
        return self.x.__array_interface__


class WithStruct:
    def __init__(self, x):
        self.x = x

    @property
    def __array_struct__(self):
        return self.x.__array_struct__


class WithArray:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


class WithDlpack:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class WithBuffer:
    def __init__(self, x):
        self.x = x

    def __buffer__(self, flags):
        return memoryview(self.x)


INTO |= {
    "__array_interface__": lambda v: np.asarray(WithInterface(np.array(v))),
    "__array_interface__ as a property": lambda v: np.asarray(WithProperty(np.array(v))),
    "__array_interface__ copied": lambda v: np.array(WithProperty(np.array(v))),
    "__array_interface__ in arithmetic": lambda v: np.add(WithProperty(np.array(v)), 0.0),
    "__array_struct__": lambda v: np.asarray(WithStruct(np.array(v))),
    "__array__": lambda v: np.asarray(WithArray(np.array(v))),
    "dlpack": lambda v: np.from_dlpack(np.array(v)),
    "dlpack of an object": lambda v: np.from_dlpack(WithDlpack(np.array(v))),
}


@into
def written_through_the_interface(v):
    values = np.zeros(3)
    np.asarray(WithProperty(values))[:] = v
    return values


@into
def written_through_dlpack(v):
    values = np.zeros(3)
    view = np.from_dlpack(values)
    if view.flags.writeable:
        view[:] = v
        return values
    return np.array(v)


OUT_OF |= {
    "frombuffer": lambda b: np.frombuffer(b),
    "frombuffer of bytes": lambda b: np.frombuffer(bytes(b)),
    "frombuffer of a bytearray": lambda b: np.frombuffer(bytearray(b)),
    "frombuffer of integers": lambda b: np.frombuffer(b, np.int64).view(np.float64),
    "ndarray": lambda b: np.ndarray(3, float, buffer=b),
    "unpack": lambda b: struct.unpack("3d", b),
    "unpack_from": lambda b: [struct.unpack_from("d", b, 8 * i)[0] for i in range(3)],
    "iter_unpack": lambda b: [x for (x,) in struct.iter_unpack("d", b)],
    "Struct.iter_unpack": lambda b: list(Packing.iter_unpack(b))[0],
    "next of iter_unpack": lambda b: (lambda i: [next(i)[0] for _ in range(3)])(struct.iter_unpack("d", b)),
    "starred iter_unpack": lambda b: (lambda *parts: [x for (x,) in parts])(*struct.iter_unpack("d", b)),
    "map over iter_unpack": lambda b: list(map(lambda x: x[0], struct.iter_unpack("d", b))),
    "next of a memoryview": lambda b: (lambda i: [next(i), next(i), next(i)])(iter(memoryview(b).cast("B").cast("d"))),
    "starred memoryview": lambda b: [*memoryview(b).cast("B").cast("d")],
    "zipped memoryview": lambda b: [x for x, _ in zip(memoryview(b).cast("B").cast("d"), range(3))],
    "next of array.array": lambda b: (lambda i: [next(i), next(i), next(i)])(iter(array.array("d", bytes(b)))),
    "zipped array.array": lambda b: [x for x, _ in zip(array.array("d", bytes(b)), range(3))],
    "next of a ctypes array": lambda b: (lambda i: [next(i), next(i), next(i)])(iter(Doubles.from_buffer_copy(b))),
    "reversed array.array": lambda b: list(reversed(array.array("d", bytes(b))))[::-1],
    "sorted array.array": lambda b: sorted(array.array("d", bytes(b)), key=lambda x: 0),
    "next of tolist": lambda b: (lambda i: [next(i), next(i), next(i)])(iter(memoryview(b).cast("B").cast("d").tolist())),
    "Struct.unpack": lambda b: Packing.unpack(b),
    "Struct.unpack_from": lambda b: Packing.unpack_from(b),
    "tolist": lambda b: memoryview(b).cast("B").cast("d").tolist(),
    "list of a memoryview": lambda b: list(memoryview(b).cast("B").cast("d")),
    "items of a memoryview": lambda b: [memoryview(b).cast("B").cast("d")[i] for i in range(3)],
    "iterated memoryview": lambda b: [x for x in memoryview(b).cast("B").cast("d")],
    "asarray of a memoryview": lambda b: np.asarray(memoryview(b).cast("B").cast("d")),
    "array of a memoryview": lambda b: np.array(memoryview(b).cast("B").cast("d")),
    "array.array": lambda b: array.array("d", bytes(b)).tolist(),
    "items of array.array": lambda b: [array.array("d", bytes(b))[i] for i in range(3)],
    "array of array.array": lambda b: np.array(array.array("d", bytes(b))),
    "popped": lambda b: [*map(array.array("d", bytes(b)).pop, [0, 0, 0])],
    "ctypes array": lambda b: Doubles.from_buffer_copy(b)[:],
    "items of a ctypes array": lambda b: [Doubles.from_buffer_copy(b)[i] for i in range(3)],
    "list of a ctypes array": lambda b: list(Doubles.from_buffer_copy(b)),
    "ctypes structure": lambda b: [getattr(Triple.from_buffer_copy(b), name) for name in "abc"],
    "as_array": lambda b: np.ctypeslib.as_array(Doubles.from_buffer_copy(b)),
    "as_array of a pointer": lambda b: np.ctypeslib.as_array(ctypes.cast(Doubles.from_buffer_copy(b), Pointer), (3,)),
    "cast pointer": lambda b: ctypes.cast(Doubles.from_buffer_copy(b), Pointer)[:3],
    "pointer": lambda b: ctypes.pointer(Doubles.from_buffer_copy(b)).contents[:],
    "BytesIO": lambda b: np.frombuffer(io.BytesIO(b).read()),
    "pieces": lambda b: [struct.unpack("d", bytes(b)[8 * i : 8 * i + 8])[0] for i in range(3)],
    "bytes one by one": lambda b: np.frombuffer(bytes([byte for byte in bytes(b)])),
    "an integer": lambda b: np.frombuffer(int.from_bytes(bytes(b), "big").to_bytes(24, "big")),
    "hash of no consequence": lambda b: (hash(bytes(b)), np.frombuffer(b))[1],
    "a copy of a part": lambda b: np.array([np.frombuffer(bytes(b)[i : i + 8])[0] for i in (0, 8, 16)]),
    "a structured array": lambda b: np.frombuffer(bytes(b), [("a", float), ("b", float), ("c", float)])[0].tolist(),
    "complex numbers": lambda b: (lambda z: [z[0].real, z[0].imag, z[1].real])(np.frombuffer(bytes(b) + bytes(8), complex)),
}  # fmt: skip


@out_of
def from_buffer(b):
    return Doubles.from_buffer(bytearray(b))[:]


@out_of
def array_frombytes(b):
    values = array.array("d")
    values.frombytes(memoryview(b).cast("B"))
    return [values[0], values[1], values[2]]


@out_of
def bytes_written_into_floats(b):
    values = np.zeros(3)
    values.view(np.uint8)[:] = np.frombuffer(b, np.uint8)
    return values


@out_of
def bytes_written_into_a_memoryview(b):
    values = np.zeros(3)
    memoryview(values).cast("B")[:] = bytes(b)
    return values


@out_of
def moved_to_an_address(b):
    values = np.zeros(3)
    ctypes.memmove(values.ctypes.data, bytes(b), 24)
    return values


WEIGHTS = [1.0, -2.0, 3.0]
X = [0.5, -1.25, 2.0]


def judged(f: Callable[[Any], Any], x: Any) -> str:
    """Empty if the gradient of ``f``, which is the weighted sum of squares, is right or refused; what is wrong, if not."""
    assert f(x) == sum(w * e * e for w, e in zip(WEIGHTS, X))
    try:
        g = mo.grad(f)(x)
    except mo.NoDerivative as error:
        named = "test_bytes.py" in str(error) and any(
            word in str(error) for word in ("morula.", "convert", "copy", "use")
        )
        return "" if named else f"the message does not help: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if np.allclose(g, [2 * w * e for w, e in zip(WEIGHTS, X)]) else f"gradient {np.asarray(g).tolist()}"


def program(put: Callable[[Any], Any], take: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x):
        squares = x * x if isinstance(x, np.ndarray) else [e * e for e in x]
        y = take(put(squares))
        return WEIGHTS[0] * y[0] + WEIGHTS[1] * y[1] + WEIGHTS[2] * y[2]

    return f


@pytest.mark.parametrize("put", INTO)
def test_what_becomes_bytes_and_comes_back_has_its_gradient_or_is_refused(put):
    first = list(INTO).index(put)
    wrong = {}
    for i, (name, take) in enumerate(OUT_OF.items()):
        for x in [np.array(X)] if (first + i) % 4 else [np.array(X), X]:
            found = judged(program(INTO[put], take), x)
            if found:
                wrong[name, type(x).__name__] = found
    assert not wrong


# What is not in the table: memory that goes, and programs in which no derivative passes through bytes


def shared(x):
    memory = shared_memory.SharedMemory(create=True, size=24)
    try:
        values = np.ndarray(3, float, buffer=memory.buf)
        values[:] = x * x
        return float(values @ WEIGHTS)
    finally:
        del values
        memory.close()
        memory.unlink()


def shared_and_kept(x):
    """What looks into the memory outlives it, which Python allows for arrays alone."""
    memory = shared_memory.SharedMemory(create=True, size=24)
    values = np.ndarray(3, float, buffer=memory.buf)
    values[:] = x * x
    y = values @ WEIGHTS
    try:
        memory.close()
    except BufferError:
        del values
        memory.close()
    memory.unlink()
    return y


def unmapped(x):
    memory = mmap.mmap(-1, 24)
    values = np.frombuffer(memory)
    values[:] = x * x
    y = values @ WEIGHTS
    del values
    memory.close()
    return y


def released(x):
    squares = x * x
    view = memoryview(squares)
    y = sum(w * e for w, e in zip(WEIGHTS, view))
    view.release()
    return y


def shrunk(x):
    memory = bytearray(24)
    values = np.frombuffer(memory)
    values[:] = x * x
    y = values @ WEIGHTS
    del values
    memory.clear()
    memory.extend(bytes(8))
    return y


def mapped_in_a_block(x):
    with mmap.mmap(-1, 24) as memory:
        values = np.ndarray(3, float, buffer=memory)
        values[:] = x * x
        return float(values @ WEIGHTS)


def shared_and_forgotten(x):
    memory = shared_memory.SharedMemory(create=True, size=24)
    memory.unlink()
    values = np.ndarray(3, float, buffer=memory.buf)
    values[:] = x * x
    return float(values @ WEIGHTS)


GONE = [shared, shared_and_kept, shared_and_forgotten, unmapped, mapped_in_a_block, released, shrunk]


def test_memory_that_is_gone_when_the_gradient_is_taken():
    """In a process of its own: a mistake here ends in a segmentation fault."""
    program = (
        "import numpy as np, morula as mo, test_bytes as t\n"
        "for f in t.GONE:\n"
        "    try:\n"
        "        g = mo.grad(f)(np.array(t.X)).tolist()\n"
        "    except BufferError as error:\n"
        "        g = str(error)\n"
        "    print(f.__name__, g)\n"
    )
    folder = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    g = str([2 * w * e for w, e in zip(WEIGHTS, X)])
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert found.pop("shrunk") == "Existing exports of data: object cannot be re-sized"
    assert found == {f.__name__: g for f in GONE[:-1]}


DATA = struct.pack("3d", 7.0, 11.0, 13.0)


def logged(x):
    hashlib.sha256(x.tobytes()).hexdigest()
    return x * np.frombuffer(DATA)


def written_to_a_file(x):
    with tempfile.TemporaryFile() as file:
        file.write(x.tobytes())
        x.tofile(file)
        np.save(file, x)
    return x * np.array(struct.unpack("3d", DATA))


def printed_through_a_pointer(x):
    ctypes.cast(x.ctypes.data_as(Pointer), ctypes.c_void_p)
    io.StringIO().write(str(memoryview(x)[1]))
    return x * np.array(array.array("d", DATA))


def kept_by_its_bytes(x):
    cache = {x.tobytes(): 3.0}
    return x * cache[x.tobytes()] * np.frombuffer(DATA)


def drawn(x):
    random = np.random.default_rng(int.from_bytes(hashlib.md5(x.data).digest()[:4], "big"))
    random.standard_normal(3)
    return x * np.frombuffer(DATA)


def compared(x):
    return x * np.frombuffer(DATA) if pickle.dumps(x) != DATA and x.tobytes() == bytes(x) else x


def fitted(x):
    """Compiled code without a rule that is given numbers, and other such code that gives equal ones from constants."""
    hashlib.sha256(x.tobytes()).digest()
    spline = scipy.interpolate.RectBivariateSpline(range(4), range(4), np.outer(X[:1] * 4, [1, 2, 0, 1]))
    scipy.interpolate.splev(x, scipy.interpolate.splrep(range(5), [0.5, -1.25, 2.0, 0.5, 2.0]))
    return x * np.frombuffer(DATA) + 0.0 * spline.get_coeffs().sum()


@pytest.mark.parametrize(
    "f", [fitted, logged, written_to_a_file, printed_through_a_pointer, kept_by_its_bytes, drawn, compared]
)
def test_programs_in_which_no_derivative_passes_through_bytes(f):
    scale = 3.0 if f is kept_by_its_bytes else 1.0
    assert mo.grad(lambda x: np.sum(f(x)))(np.array(X)).tolist() == [7 * scale, 11 * scale, 13 * scale]


def test_a_constant_that_is_read_from_bytes_after_others_have_become_bytes():
    def f(x):
        struct.pack("3d", *x)
        return np.sum(x * np.frombuffer(DATA)) + struct.unpack("3d", DATA)[0] * x[0]

    assert mo.grad(f)(np.array(X)).tolist() == [14, 11, 13]


def test_the_message_names_both_lines_and_the_remedy():
    def f(x):
        packed = struct.pack("3d", *x) + bytes(8)
        return sum(struct.unpack("4d", packed))

    line = f.__code__.co_firstlineno
    with pytest.raises(mo.NoDerivative) as caught:
        mo.grad(f)(np.array(X))
    text = str(caught.value)
    assert f"test_bytes.py:{line + 1}" in text and f"test_bytes.py:{line + 2}" in text
    assert "stop_gradient" in text and len(text) < 600


def test_a_part_of_a_number_is_refused_with_the_remedy():
    def f(x):
        y = x * x
        memoryview(y).cast("B")[3] = 0
        return y.sum()

    with pytest.raises(mo.NoDerivative, match=r"a part of the bytes of numbers.*dtype float64"):
        mo.grad(f)(np.array(X))


def test_higher_derivatives_are_refused_too():
    def f(x):
        return sum(struct.unpack("3d", struct.pack("3d", *(x**3)) + b""))

    with pytest.raises(mo.NoDerivative, match="struct"):
        mo.grad(lambda x: np.sum(mo.grad(f)(x)))(np.array(X))
    with pytest.raises(mo.NoDerivative, match="struct|raw memory"):
        mo.grad(lambda x: struct.unpack("3d", struct.pack("3d", *mo.grad(lambda v: np.sum(v**3))(x)) + b"")[0])(
            np.array(X)
        )


@pytest.mark.parametrize("deep", [True, False], ids=["deep", "wide"])
def test_an_opaque_call_is_checked_to_the_end_of_what_it_is_given(deep):
    """The number stands behind more containers than anybody would look through."""

    def f(x):
        nested = [x * x]
        for _ in range(300 * deep):
            nested = [nested]
        given = [nested] if deep else [*([i] for i in range(20_000)), nested]
        return last(given)

    with pytest.raises(mo.NoDerivative, match="last"):
        mo.grad(f)(3.0)


def _last(given):
    while isinstance(given, list):
        given = given[-1]
    return given + 0.0


last = FunctionType(_last.__code__.replace(co_filename="<nowhere>"), globals(), "last")


INTEGERS_OF_BYTES = {
    "from_bytes": lambda x: int.from_bytes(struct.pack("d", x), "little") * 1e-18 * x,
    "struct": lambda x: struct.unpack("Q", struct.pack("d", x))[0] * 1e-18 * x,
    "each byte": lambda x: sum(struct.pack("d", x)) * x,
    "a view": lambda x: int(np.array([x]).view(np.int64)[0]) * 1e-18 * x,
    "hexadecimal text": lambda x: int(x.hex()[4:8], 16) * x,
    "masked bits": lambda x: (int.from_bytes(struct.pack("d", x), "little") & 0xFFFF) * x,
}


@pytest.mark.parametrize("how", INTEGERS_OF_BYTES)
def test_an_integer_that_is_read_from_the_bytes_of_a_number_is_constant(how):
    f = INTEGERS_OF_BYTES[how]
    assert mo.grad(f)(1.3) == pytest.approx(f(1.3) / 1.3, rel=1e-14)


@pytest.mark.parametrize("other", [struct.pack("d", 1.3), bytearray(struct.pack("d", 1.3))], ids=["bytes", "bytearray"])
def test_numbers_read_from_bytes_that_only_happen_to_be_equal_are_refused_too(other):
    def f(x):
        logged = struct.pack("d", x)
        return struct.unpack("d", other)[0] * x + len(logged)

    with pytest.raises(mo.NoDerivative, match="are read from bytes, a buffer or an address again"):
        mo.grad(f)(1.3)
    assert mo.grad(f)(1.5) == 1.3
