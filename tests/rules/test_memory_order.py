"""The order "K": elements in memory order, for any layout, also one that repeats entries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import morula as mo

BASE = np.linspace(0.2, 1.7, 24)

LAYOUTS = {
    "transposed": lambda x: x.reshape(2, 3, 4).transpose(2, 0, 1),
    "reversed": lambda x: x.reshape(2, 3, 4)[::-1, :, ::-1].transpose(1, 2, 0),
    "strided": lambda x: x.reshape(4, 6)[::2, 1::2].T,
    "repeated rows": lambda x: np.broadcast_to(x[:4], (3, 4)),
    "repeated columns": lambda x: np.broadcast_to(x[:4, None], (4, 3)),
    "repeated and transposed": lambda x: np.broadcast_to(x.reshape(4, 6).T[:, None], (6, 2, 4)),
    "repeated twice": lambda x: np.broadcast_to(x[:4, None, None], (2, 4, 3, 2)),
    "length one": lambda x: x.reshape(4, 1, 6).T,
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x[:6], 3).T,
    "column order": lambda x: np.asfortranarray(x.reshape(4, 6)),
    "number": lambda x: x[3].reshape(()),
    **{
        f"axes {axes}": lambda x, axes=axes: np.broadcast_to(x.reshape(2, 1, 3, 4), (2, 2, 3, 4)).transpose(axes)
        for axes in itertools.permutations(range(4))
    },
}
CALLS = {
    "np.ravel": lambda x, order: np.ravel(x, order=order),
    "ravel": lambda x, order: x.ravel(order),
    "flatten": lambda x, order: x.flatten(order),
    "copy": lambda x, order: np.copy(x, order).ravel("K"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_cotangent_goes_back_to_its_element(layout, call):
    for order in "CFAK":

        def program(x, order=order):
            flat = CALLS[call](LAYOUTS[layout](x), order)
            return np.sum(flat * np.cos(np.arange(flat.size)))

        gradient = mo.grad(program)(BASE)
        units = np.eye(24)
        np.testing.assert_allclose(gradient, [program(e) for e in units], atol=1e-14)
