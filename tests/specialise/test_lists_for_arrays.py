"""NumPy's functions take lists and nested lists of numbers as arrays, in compiled code too."""

import numpy as np
import pytest
from path_tester import check_gradient

FUNCTIONS = {
    "choose": lambda v: np.choose([0, 1, 1], [v, [2.0, v[0], v[1]]]),
    "choose, clipped": lambda v: np.choose([0, 5, -1], [v, [2.0, v[0], v[1]]], mode="clip"),
    "choose, wrapped": lambda v: np.choose([0, 3, -2], [v, [2.0, v[0], v[1]]], mode="wrap"),
    "select": lambda v: np.select([[True, False, False], [False, True, False]], [v, v[::-1]], 3.0),
    "where": lambda v: np.where([True, False, True], v, v[::-1]),
    "angle": lambda v: np.angle(v, deg=True),
    "sinc": lambda v: np.sinc(v),
    "diff": lambda v: np.diff(v),
    "gradient": lambda v: np.gradient(v, 0.5),
    "trapezoid": lambda v: np.trapezoid(v, [0.0, 1.0, 3.0]),
    "unwrap": lambda v: np.unwrap(v),
    "interp": lambda v: np.interp([0.5, 1.5], [0.0, 1.0, 2.0], v),
    "clip": lambda v: np.clip(v, [0.0, 0.0, 0.0], [1.0, 1.0, 0.5]),
    "maximum": lambda v: np.maximum(v, [1.0, 0.0, 0.5]),
    "real and imag": lambda v: np.real(v) + np.imag(v),
    "nan_to_num": lambda v: np.nan_to_num(v),
    "heaviside": lambda v: np.heaviside(v, [0.5, 0.5, 0.5]) * np.array(v),
    "linspace": lambda v: np.linspace(v, v[::-1], 4),
    "cross": lambda v: np.cross(v, [1.0, 2.0, 3.0]),
    "convolve": lambda v: np.convolve(v, [1.0, 2.0]),
    "outer": lambda v: np.outer(v, v),
    "dot": lambda v: np.dot([v, v], v),
    "einsum": lambda v: np.einsum("ij,j->i", [v, v[::-1]], v),
    "tensordot": lambda v: np.tensordot([v, v], v, 1),
    "kron": lambda v: np.kron(v, [1.0, v[0]]),
    "stack": lambda v: np.stack([v, v[::-1]], 1),
    "concatenate": lambda v: np.concatenate([v, [1.0]]),
    "block": lambda v: np.block([[v], [v[::-1]]]),
    "append and insert": lambda v: np.append(np.insert(v, 1, v[0]), v),
    "tile and repeat": lambda v: np.tile(np.repeat(v, 2), 2),
    "roll and flip": lambda v: np.roll(np.flip(v), 1),
    "take": lambda v: np.take(v, [2, 0, 2]),
    "compress": lambda v: np.compress([True, False, True], v),
    "cumsum and cumprod": lambda v: np.cumsum(v) * np.cumprod(v),
    "average": lambda v: np.average(v, weights=[1.0, 2.0, v[0]]),
    "std and median": lambda v: np.std(v) + np.median(v) + np.ptp(v),
    "percentile": lambda v: np.percentile(v, [25.0, 60.0]),
    "sort and partition": lambda v: np.sort(v) * [1.0, 2.0, 3.0] + np.max(v),
    "norm and det": lambda v: np.linalg.norm(v) + np.linalg.det([[v[0], 1.0], [0.5, v[1]]]),
    "solve": lambda v: np.linalg.solve([[v[0], 1.0], [0.5, v[1]]], [1.0, v[2]]),
    "vander and diag": lambda v: np.vander(v) + np.diag(v) + np.triu([v, v, v]),
    "prod and any": lambda v: np.prod(v) * np.any(v) + np.count_nonzero(v),
    "hypot and arctan2": lambda v: np.hypot(v, [1.0, 2.0, 3.0]) + np.arctan2(v, v[::-1]),
    "power and remainder": lambda v: np.power(v, [2, 3, 2]) + np.remainder(v, [0.6, 0.7, 0.8]),
    "ravel and reshape": lambda v: np.reshape([v, v], (3, 2)) + np.ravel(v)[:2],
    "ix_": lambda v: np.outer(v, v)[np.ix_([0, 2], [1, 2])],
    "trace": lambda v: np.trace([v, v[::-1], v]) + np.sum(np.transpose([v, v]), 0),
}


@pytest.mark.parametrize("path", ["eager", "native"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_list(name, path):
    f = FUNCTIONS[name]
    check_gradient(path, lambda a, b: np.sum(np.asarray(f([a, b, a * b])) ** 2), 0.55, 1.7)
