"""The example of dense linear algebra: a material law of eigenvectors at rest, against closed forms."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[2] / "examples" / "sheet_with_fibres.py"
_spec = importlib.util.spec_from_file_location("sheet_with_fibres", PATH)
assert _spec is not None and _spec.loader is not None
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)


def test_a_sheet_without_fibres_and_hole_has_the_energy_of_uniform_tension():
    sheet = example.Sheet(*example.full_square(3), fibres=0.0, is_gripped=False)
    moved, energy = sheet.stretched(1.2, steps=2)
    along = np.log(1.2)
    across = -example.BULK * along / (2 * example.SHEAR + example.BULK)  # no stress
    expected = 4.0 * (example.SHEAR * (along**2 + across**2) + 0.5 * example.BULK * (along + across) ** 2)
    assert energy == pytest.approx(expected, rel=1e-8)
    assert np.ptp(moved[:, 0]) == pytest.approx(2.0 * np.exp(across), rel=1e-4)


def test_the_gradient_at_rest_is_that_of_small_strains():
    """All eigenvalues are equal; E is the symmetric part of the gradient of displacements, to first order."""
    sheet = example.Sheet(*example.holed_square(2, 12))
    x, step = sheet.nodes.ravel()[sheet.free], 1e-4 * np.sin(np.arange(len(sheet.free)))
    energy, gradient = sheet.compute(x, sheet.nodes)
    assert abs(energy) < 1e-28 and np.max(np.abs(gradient)) < 1e-13

    def linear(x):
        nodes = sheet.nodes.ravel().copy()
        nodes[sheet.free] = x
        f = example.edges(nodes.reshape(-1, 2), sheet.triangles) @ sheet.at_rest
        e = 0.5 * (f + np.swapaxes(f, -1, -2)) - np.eye(2)
        along = np.maximum((e @ sheet.along) @ sheet.along, 0.0)
        trace = e[:, 0, 0] + e[:, 1, 1]
        density = example.SHEAR * np.sum(e * e, axis=(1, 2)) + 0.5 * example.BULK * trace**2
        return np.sum(sheet.area * (density + 0.5 * sheet.fibres * along**2))

    assert sheet.compute(x + step, sheet.nodes)[0] == pytest.approx(linear(x + step), rel=1e-2)
    slope = sheet.compute(x + step, sheet.nodes)[1] @ step
    assert slope == pytest.approx(2.0 * linear(x + step), rel=1e-2)  # quadratic in small steps
