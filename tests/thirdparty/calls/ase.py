"""Atoms with calculators that keep their results: energies, forces, cells, equations of state, thermochemistry."""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.calculators.morse import MorsePotential
from ase.eos import EquationOfState
from ase.geometry import cell_to_cellpar, get_distances
from ase.thermochemistry import HarmonicThermo

from thirdparty.harness import Call

DISTRIBUTION = "ase"
FIELD = "atomistic simulation"
HELD_OUT = True

CLUSTER = np.array([[0.0, 0.0, 0.0], [3.7, 0.1, 0.0], [1.8, 3.3, 0.2], [1.9, 1.1, 3.1]])


def lennard_jones(positions: np.ndarray, epsilon: float, sigma: float) -> float:
    atoms = Atoms("Ar4", positions=positions)
    atoms.calc = LennardJones(epsilon=epsilon, sigma=sigma, rc=12.0)
    return atoms.get_potential_energy()


def morse(positions: np.ndarray) -> np.ndarray:
    atoms = Atoms("Cu4", positions=positions * 0.8)
    atoms.calc = MorsePotential(epsilon=0.3, rho0=5.0, r0=2.6)
    return atoms.get_forces()


def effective_medium(lattice: float) -> float:
    atoms = bulk("Cu", "fcc", a=lattice)
    atoms.calc = EMT()
    return atoms.get_potential_energy()


def stretched(strain: float) -> float:
    atoms = bulk("Cu", "fcc", a=3.6)
    atoms.set_cell(atoms.cell * (1 + strain), scale_atoms=True)
    return atoms.get_volume()


def equation_of_state(shifts: np.ndarray) -> tuple[float, float, float]:
    volumes = np.array([13.72, 14.83, 16.0, 17.23, 18.52])
    return EquationOfState(volumes, -56.4 + 0.1 * shifts, eos="sj").fit()


def geometry(positions: np.ndarray) -> list[float]:
    atoms = Atoms("H2O2", positions=positions)
    return [atoms.get_distance(0, 1), atoms.get_angle(0, 1, 2), atoms.get_dihedral(0, 1, 2, 3)]


def across_the_boundary(positions: np.ndarray, side: float) -> np.ndarray:
    return get_distances(positions[:2], positions[2:], cell=np.eye(3) * side, pbc=True)[1]


def moments(positions: np.ndarray) -> np.ndarray:
    return Atoms("CNOF", positions=positions).get_moments_of_inertia()


def vibrations(energies: np.ndarray, temperature: float) -> float:
    return HarmonicThermo(energies).get_helmholtz_energy(temperature, verbose=False)


def cell_parameters(cell: np.ndarray) -> np.ndarray:
    return cell_to_cellpar(cell)


CALLS = {
    "lennard_jones": Call(lennard_jones, CLUSTER, 0.0104, 3.4),
    "morse": Call(morse, CLUSTER),
    "effective_medium": Call(effective_medium, 3.65),
    "stretched": Call(stretched, 0.02),
    "equation_of_state": Call(equation_of_state, np.array([1.1, -0.1, -0.6, -0.6, -0.2])),
    "geometry": Call(geometry, CLUSTER),
    "across_the_boundary": Call(across_the_boundary, CLUSTER, 5.0),
    "moments": Call(moments, CLUSTER),
    "vibrations": Call(vibrations, np.array([0.05, 0.1, 0.2]), 300.0),
    "cell_parameters": Call(cell_parameters, np.array([[3.0, 0.1, 0.0], [0.2, 4.0, 0.3], [0.0, 0.1, 5.0]])),
}
