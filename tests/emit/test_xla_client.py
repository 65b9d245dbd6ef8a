"""XLA's flags are set before it starts, in addition to the user's; 64-bit numbers only for morula's programs."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("jax")

from morula.core.emit.xla import client  # noqa: E402

SWITCH = f"--xla_backend_extra_options={client.THRESHOLD}=10000000000"


@pytest.mark.parametrize(
    "given, wanted",
    [
        (None, SWITCH),
        ("--xla_dump_to=x", f"--xla_dump_to=x {SWITCH}"),
        ("--xla_backend_extra_options=a=1 -b", f"--xla_backend_extra_options=a=1,{client.THRESHOLD}=10000000000 -b"),
        (f"--xla_backend_extra_options={client.THRESHOLD}=7", f"--xla_backend_extra_options={client.THRESHOLD}=7"),
    ],
)
def test_what_the_user_has_set_is_kept(given, wanted, monkeypatch):
    monkeypatch.setattr(client, "_is_started", lambda: False)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    if given is not None:
        monkeypatch.setenv("XLA_FLAGS", given)
    for _ in range(2):
        client.prepare()
        assert os.environ["XLA_FLAGS"] == wanted


def test_a_client_that_was_started_before_is_a_warning_of_what_is_lost(monkeypatch):
    monkeypatch.setattr(client, "_is_started", lambda: True)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    with pytest.warns(
        RuntimeWarning, match=r"JAX was started before .* up to 50 times slower.*start Python with XLA_FLAGS"
    ):
        client.prepare()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client.prepare()


def test_xla_starts_with_the_switch_and_with_options_that_it_does_not_know():
    program = """
import numpy as np
from morula.core.ir.builder import Builder
from morula.core.emit.xla import compile_function
from morula.core.ir.dynamic import Function, Value
from morula.core.ir.typed import FLOAT64
import jax
x, builder = Value("x", FLOAT64), Builder()
with builder.block() as block:
    block.results = [builder.ufunc(np.add, x, x)]
assert compile_function(Function("f", [x], block))([1.5]) == [3.0]
assert jax.numpy.ones(3).dtype == np.float32
"""
    flags = "--xla_backend_extra_options=xla_cpu_option_of_another_version=1"
    environment = {**os.environ, "PYTHONPATH": str(Path(client.__file__).parents[4]), "XLA_FLAGS": flags}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
