"""The programs of benchmarks/sparse: their matrices are the dense ones, and the versions for JAX compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from benchmarks.sparse import held_out, programs

PROGRAMS = {**programs.PROGRAMS, **held_out.PROGRAMS}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_matrix_of_a_program_is_the_dense_one(program):
    x = program.x(program.small)
    made, dense = (mo.sparse_hessian, mo.hessian) if program.is_hessian else (mo.sparse_jacobian, mo.jacobian)
    found = made(program.f)(x)
    wanted = mo.jit(dense(program.f))(x)
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-9, atol=1e-9)
    assert found.nnz == np.count_nonzero(wanted)


@pytest.mark.parametrize("program", [p for p in PROGRAMS.values() if p.with_xp], ids=lambda p: p.f.__name__)
def test_the_version_for_jax_computes_the_same(program):
    jax = pytest.importorskip("jax")
    x = program.x(program.small)
    with jax.enable_x64(True):
        np.testing.assert_allclose(program.with_xp(x, jax.numpy), program.f(x), rtol=1e-12)
