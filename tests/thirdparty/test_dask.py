"""Ensembles in the workers of a local Dask cluster."""

from __future__ import annotations

import numpy as np
import pytest
from ensemble_members import decayed

import morula as mo
from morula.ode import ensemble

distributed = pytest.importorskip("distributed")


def test_a_cluster_computes_an_ensemble_and_its_gradient():
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    rates = np.linspace(0.1, 2.0, 5)
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:

        def loss(rates, k):
            return np.sum(ensemble(decayed, rates, k, in_axes=(0, None), executor=client, size=2) ** 2)

        value, (by_rates, by_k) = mo.value_and_grad(loss, argnums=(0, 1))(rates, 0.5)
        scaled = ensemble(lambda x: rates[0] * x, rates, executor=client)  # sent with what it captures
    assert value == pytest.approx(np.sum(np.exp(-rates)), rel=1e-3)
    np.testing.assert_allclose(by_rates, -np.exp(-rates), rtol=1e-2)
    assert by_k == pytest.approx(-np.sum(2 * rates * np.exp(-rates)), rel=1e-2)
    np.testing.assert_allclose(scaled, rates[0] * rates)
