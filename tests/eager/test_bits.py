"""Numbers whose bits are changed as integers and read as numbers again are refused.

The values differ from those that became bytes, so comparing bytes does not find where they come from.
"""

from __future__ import annotations

import array
import base64
import hashlib
import io
import math
import struct
import zlib

import numpy as np
import pytest

import morula as mo

X = np.array([0.5, -1.25, 2.0])
FLIP = np.tile(np.array([0x5A, 0, 0, 0, 0, 0, 0x0A, 0], np.uint8), 3)


def flipped(data):
    return bytes(b ^ int(m) for b, m in zip(data, FLIP))


def flipped_in_place(data):
    changed = bytearray(data)
    for i, m in enumerate(FLIP):
        changed[i] ^= int(m)
    return bytes(changed)


def by_map(data):
    return bytes(map(lambda b, m: b ^ int(m), data, FLIP))


def as_one_integer(data):
    return (int.from_bytes(data, "little") ^ int.from_bytes(FLIP.tobytes(), "little")).to_bytes(24, "little")


def by_struct(data):
    return struct.pack("3Q", *(n ^ 0x5A for n in struct.unpack("3Q", data)))


CHANGES = {
    "bytes": flipped,
    "bytes of a list": lambda data: bytes([b ^ int(m) for b, m in zip(data, FLIP)]),
    "bytes of a map": by_map,
    "bytearray": lambda data: bytearray(b ^ int(m) for b, m in zip(data, FLIP)),
    "in place": flipped_in_place,
    "one integer": as_one_integer,
    "struct": by_struct,
    "compressed": lambda data: zlib.decompress(zlib.compress(flipped(data))),
    "base64": lambda data: base64.b64decode(base64.b64encode(flipped(data))),
    "uint8": lambda data: (np.frombuffer(data, np.uint8) ^ FLIP).tobytes(),
    "quantised": lambda data: (np.frombuffer(data, np.uint64) >> 12 << 12).tobytes(),
    "through a file": lambda data: io.BytesIO(flipped(data)).read(),
}
READINGS = {
    "frombuffer": np.frombuffer,
    "unpack": lambda data: np.array(struct.unpack("3d", data)),
    "array": lambda data: np.array(array.array("d", bytes(data))),
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("change", CHANGES)
def test_bytes_that_change_on_the_way_are_refused(change, reading):
    def f(x):
        return np.sum(READINGS[reading](CHANGES[change]((x * x).tobytes())) * X)

    assert np.isfinite(f(X))
    with pytest.raises(mo.NoDerivative, match=r"test_bits\.py:\d+"):
        mo.grad(f)(X)


def fast_inverse_root(x):
    """Of a game of 1999."""
    y = (0x5FE6EB50C7B537A9 - (x.view(np.int64) >> 1)).view(np.float64)
    return np.sum(y * (1.5 - 0.5 * x * y * y))


def fast_inverse_root_of_one(x):
    i = struct.unpack("q", struct.pack("d", x[0]))[0]
    y = struct.unpack("d", struct.pack("q", 0x5FE6EB50C7B537A9 - (i >> 1)))[0]
    return y * (1.5 - 0.5 * x[0] * y * y)


def next_number(x):
    return np.sum((x.view(np.int64) + 1).view(np.float64))


def shares_of_bytes(x):
    return np.sum(np.frombuffer((x * x).tobytes(), np.uint8) / 255.0)


def shares_of_bits(x):
    return np.sum(((x * x).view(np.uint64) >> 52 & 2047).astype(float))


def exponents(x):
    return np.sum(np.ldexp(1.0, (x.view(np.int64) >> 52) - 1023) * ((x.view(np.int64) >> 52) * 0.5))


def one_entry(x):
    return x.view(np.int64)[1] * 1e-18 * x[0]


@pytest.mark.parametrize(
    "f",
    [fast_inverse_root, fast_inverse_root_of_one, next_number, shares_of_bytes, shares_of_bits, exponents, one_entry],
    ids=lambda f: f.__name__,
)
def test_tricks_with_bits_are_refused(f):
    x = np.abs(X)
    with pytest.raises(mo.NoDerivative, match=r"(?s)test_bits\.py:\d+.*morula\.stop_gradient") as caught:
        mo.grad(f)(x)
    assert len(str(caught.value)) < 700
    with pytest.raises(mo.NoDerivative, match="morula.stop_gradient"):
        mo.grad(lambda x: np.sum(mo.grad(f)(x)))(x)


# Programs in which no derivative passes through bits

TABLE = np.array([3, 1, 4], np.uint8).tobytes()


def pixels(x):
    return np.sum(x * np.frombuffer(TABLE, np.uint8) / 255.0)


def by_bits(x):
    """Bits choose a branch, an entry and a seed."""
    bits = x.view(np.int64)
    entry = x[int(bits[0] >> 62) & 1] if bits[0] != bits[1] else x[2]
    seed = int.from_bytes(hashlib.sha256(x.tobytes()).digest()[:4], "big") ^ zlib.crc32(bytes([1, 2, 3]))
    noise = np.random.default_rng(seed).normal()
    return entry * (1.0 if math.isfinite(noise) else 2.0) * X[0]


def with_packed_constants(x):
    logged = hashlib.md5(x.tobytes()).hexdigest()
    weight = struct.unpack("d", struct.pack("d", 2.75))[0]
    return np.sum(x) * weight * len(logged)


def in_a_workspace(x):
    """Memory that was made for bytes."""
    memory = np.zeros(24, np.uint8)
    values = memory.view(float)
    values[:] = x * x
    return np.sum(values * X)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (pixels, np.array([3, 1, 4]) / 255.0),
        (by_bits, [0.5, 0.0, 0.0]),
        (with_packed_constants, [88.0] * 3),
        (in_a_workspace, 2 * X * X),
    ],
)
def test_programs_in_which_no_derivative_passes_through_bits(f, expected):
    np.testing.assert_allclose(mo.grad(f)(X), expected, atol=1e-15)
