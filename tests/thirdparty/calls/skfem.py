"""Finite elements: forms assembled into sparse matrices, boundary conditions condensed, systems solved."""

from __future__ import annotations

import numpy as np
from skfem import (
    Basis,
    BilinearForm,
    ElementLineP2,
    ElementQuad1,
    ElementTriP1,
    ElementVector,
    Functional,
    LinearForm,
    MeshLine,
    MeshQuad,
    MeshTri,
    condense,
    solve,
)
from skfem.helpers import dot, grad
from skfem.models.elasticity import lame_parameters, linear_elasticity
from skfem.models.poisson import laplace

from thirdparty.harness import Call

DISTRIBUTION = "scikit-fem"
FIELD = "finite elements"


def poisson(conductivity: float, source: float) -> np.ndarray:
    basis = Basis(MeshTri().refined(1), ElementTriP1())

    @BilinearForm
    def form(u, v, w):
        return (conductivity + w.x[0] ** 2) * dot(grad(u), grad(v))

    @LinearForm
    def load(v, w):
        return source * v

    return solve(*condense(form.assemble(basis), load.assemble(basis), D=basis.mesh.boundary_nodes()))


def energy(frequency: float) -> float:
    basis = Basis(MeshLine(np.linspace(0, 1, 4)), ElementLineP2())
    field = basis.project(lambda x: np.sin(frequency * x[0]))

    @Functional
    def density(w):
        return w["u"] ** 2 + dot(grad(w["u"]), grad(w["u"]))

    return density.assemble(basis, u=field)


def elasticity(modulus: float, ratio: float) -> np.ndarray:
    basis = Basis(MeshQuad().refined(1), ElementVector(ElementQuad1()))
    stiffness = linear_elasticity(*lame_parameters(modulus, ratio)).assemble(basis)
    force = basis.zeros()
    force[-1] = 1.0
    return solve(*condense(stiffness, force, D=basis.get_dofs(lambda x: x[0] == 0.0)))


def shape(scale: float) -> np.ndarray:
    """Derivatives with respect to the mesh."""
    basis = Basis(MeshTri().refined(1).scaled((scale, 1.0)), ElementTriP1())
    return laplace.assemble(basis).toarray()


CALLS = {
    "poisson": Call(poisson, 1.5, 2.0),
    "energy": Call(energy, 1.5),
    "elasticity": Call(elasticity, 2.0, 0.3),
    "shape": Call(shape, 1.3),
}
