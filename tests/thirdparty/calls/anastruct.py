"""Frames and trusses of the plane by the stiffness method: elements and nodes as objects, loads kept in dictionaries."""

from __future__ import annotations

from anastruct.fem.system import SystemElements

from thirdparty.harness import Call, Refused

DISTRIBUTION = "anastruct"
FIELD = "structures"
HELD_OUT = True


def simple_beam(span: float, load: float, stiffness: float) -> float:
    ss = SystemElements(EI=stiffness)
    ss.add_element(location=[[0, 0], [span / 2, 0]])
    ss.add_element(location=[[span / 2, 0], [span, 0]])
    ss.add_support_hinged(node_id=1)
    ss.add_support_roll(node_id=3)
    ss.q_load(q=-load, element_id=[1, 2])
    ss.solve()
    return ss.get_node_displacements(2)["uy"]


def truss(force: float, height: float) -> float:
    ss = SystemElements(EA=5000.0)
    ss.add_truss_element(location=[[0, 0], [4, 0]])
    ss.add_truss_element(location=[[4, 0], [2, height]])
    ss.add_truss_element(location=[[2, height], [0, 0]])
    ss.add_support_hinged(node_id=1)
    ss.add_support_roll(node_id=2)
    ss.point_load(node_id=3, Fy=-force)
    ss.solve()
    return ss.get_element_results(1)["Nmax"]


def portal(wind: float, stiffness: float) -> float:
    ss = SystemElements(EA=15000.0, EI=stiffness)
    ss.add_element(location=[[0, 0], [0, 5]])
    ss.add_element(location=[[0, 5], [5, 5]])
    ss.add_element(location=[[5, 5], [5, 0]])
    ss.add_support_fixed(node_id=1)
    ss.add_support_fixed(node_id=4)
    ss.point_load(node_id=2, Fx=wind)
    ss.solve()
    return ss.get_node_displacements(2)["ux"]


def on_a_spring(load: float, spring: float) -> float:
    ss = SystemElements(EI=1000.0)
    ss.add_element(location=[[0, 0], [3, 0]])
    ss.add_support_fixed(node_id=1)
    ss.add_support_spring(node_id=2, translation=2, k=spring)
    ss.point_load(node_id=2, Fy=-load)
    ss.solve()
    return ss.get_node_displacements(2)["uy"]


CALLS = {
    "portal": Call(portal, 30.0, 5000.0),
    "on_a_spring": Call(on_a_spring, 12.0, 400.0),
}
REFUSED = {
    "simple_beam": Refused(
        "moments along an element are written in Cython", "det_shear", simple_beam, 6.0, 10.0, 5000.0
    ),
    "truss": Refused("the angle of an element is written in Cython", "angle_x_axis", truss, 20.0, 1.5),
}
