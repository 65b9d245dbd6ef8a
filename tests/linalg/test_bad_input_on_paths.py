"""Bad input of solvers: the same errors eagerly, in native code and by XLA, from programs that are compiled once."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import morula as mo
from morula.linalg import cg, eigsh, solve


def by_cg(A, b):
    found = cg(A, b, max_iterations=8)
    return np.sum(found.x**2), found.code


def direct(A, b):
    return np.sum(solve(A, b, assume="positive definite").x)


def largest(A, b):
    return eigsh(A, 2).values[0] + 0.0 * b[0]


@cache
def on(path, program):
    f = mo.value_and_grad(program, has_aux=program is by_cg)
    return f if path == "eager" else mo.jit(f, target=path)


ROTATED = np.roll(np.eye(4), 1, axis=0)
INDEFINITE = np.diag([1.0, 2.0, -3.0, 4.0])


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
class TestEveryPath:
    @pytest.mark.parametrize(
        "A, b, error, message",
        [
            (INDEFINITE, np.ones(4), mo.MorulaError, "cg: A is not positive definite: p·Ap = "),
            (ROTATED + 2 * np.eye(4), np.arange(4.0), mo.MorulaError, r"cg: A \(or the preconditioner\) is not Hermitian"),
            (np.eye(4), np.array([1.0, np.nan, 0.0, 0.0]), mo.BadInput, "cg: b holds NaN or Inf, expected finite numbers"),
            (np.full((4, 4), np.inf), np.ones(4), mo.MorulaError, "cg: A applied to a finite vector gave NaN or Inf"),
            (np.eye(4), np.ones(3), mo.BadInput, r"cg: b has shape \(3,\), expected \(4,\) or \(4, k\) for A of shape"),
            (np.ones((3, 4)), np.ones(4), mo.BadInput, r"cg: A has shape \(3, 4\), expected a square operator"),
        ],
    )  # fmt: skip
    def test_conjugate_gradients(self, path, A, b, error, message):
        with pytest.raises(error, match=message):
            on(path, by_cg)(A, b)

    def test_a_solve_that_has_not_converged_has_no_gradient(self, path):
        def few(A, b):
            return np.sum(cg(A, b, max_iterations=1).x)

        with pytest.raises(mo.MorulaError, match="cg: no gradient, since the solve did not converge"):
            on(path, few)(np.diag(np.arange(1.0, 5.0)), np.ones(4))

    @pytest.mark.parametrize(
        "A, message",
        [(INDEFINITE, "not positive definite"), (np.full((4, 4), np.nan), "NaN|infs or NaNs|not positive definite")],
    )
    def test_a_direct_solve(self, path, A, message):
        with pytest.raises((mo.MorulaError, np.linalg.LinAlgError, ValueError), match=message):
            on(path, direct)(A, np.ones(4))

    def test_an_eigenproblem(self, path):
        if path == "xla":
            return  # the same typed program as in native code, and slow to compile
        with pytest.raises(mo.MorulaError, match="eigsh: A is not Hermitian: .*; use eigs"):
            on(path, largest)(ROTATED, np.ones(4))
        with pytest.raises(mo.MorulaError, match="eigsh: A holds NaN or Inf, expected finite numbers"):
            on(path, largest)(np.full((4, 4), np.nan), np.ones(4))
