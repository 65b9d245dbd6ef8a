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


BOUND_TO_ONE_CORE = """
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
os.environ.pop("NPROC", None)
import numpy as np
import morula as mo
{first}
def calls(x):
    total = 0.0
    for k in range(6):
        y = (x * (k + 1.0)) @ x
        total = total + np.sum(mo.callback(np.negative, np.zeros((200, 200)), y)) + np.sum(np.sin(y @ y))
    return total
x = np.random.default_rng(0).normal(size=(200, 200)) / 200
compiled = mo.jit(calls, target="xla")
try:
    for _ in range(6):
        assert abs(compiled(x) - calls(x)) < 1e-8
    assert "NPROC" not in os.environ
except mo.BadInput as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be bound to a core")
@pytest.mark.parametrize(
    ("first", "printed"),
    [
        ("", ""),
        ("import jax; jax.numpy.ones(3)", "calls calls Python, and could wait forever: this process may use one core"),
    ],
)
def test_a_program_that_calls_python_on_one_core_runs_or_is_refused(first, printed, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(BOUND_TO_ONE_CORE.format(first=first))
    environment = {**os.environ, "PYTHONPATH": str(Path(client.__file__).parents[4]), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout and (printed or not done.stdout)
