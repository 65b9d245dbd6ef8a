"""The solution of a differential equation as a table of pandas."""

from __future__ import annotations

import numpy as np

from morula.ode import odesolve


def test_the_columns_are_the_numbers_of_the_state():
    times = np.linspace(0.0, 1.0, 5)
    table = odesolve(lambda t, y: {"a": -y["a"]}, {"a": np.array([1.0, 2.0])}, times).to_pandas()
    assert list(table.columns) == ["a[0]", "a[1]"] and np.array_equal(table.index, times)
    assert np.allclose(table["a[1]"], 2.0 * np.exp(-times), rtol=1e-5)
