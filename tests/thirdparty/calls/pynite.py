"""Structures: frames assembled from objects that refer to each other, solved by linear algebra."""

from __future__ import annotations

from Pynite import FEModel3D

from thirdparty.harness import Call

DISTRIBUTION = "PyNiteFEA"
FIELD = "structural engineering"

FREE, FIXED = (False,) * 6, (True,) * 6


def steel(model: FEModel3D, modulus: float) -> None:
    model.add_material("steel", modulus * 1e4, 11200.0, 0.3, 2.836e-4)
    model.add_section("beam", 20.0, 100.0, 150.0, 250.0)


def simple_beam(modulus: float, load: float) -> list[float]:
    model = FEModel3D()
    model.add_node("A", 0.0, 0.0, 0.0)
    model.add_node("B", 168.0, 0.0, 0.0)
    steel(model, modulus)
    model.add_member("M", "A", "B", "steel", "beam")
    model.def_support("A", True, True, True, False, False, False)
    model.def_support("B", True, True, True, True, False, False)
    model.add_member_dist_load("M", "Fy", -load, -load, 0, 168.0)
    model.analyze(check_statics=False)
    return [
        model.members["M"].min_deflection("dy"),
        model.members["M"].max_moment("Mz"),
        model.nodes["A"].RxnFY["Combo 1"],
    ]


def cantilever(modulus: float, length: float) -> list[float]:
    model = FEModel3D()
    model.add_node("A", 0.0, 0.0, 0.0)
    model.add_node("B", 100.0 * length, 0.0, 0.0)
    steel(model, modulus)
    model.add_member("M", "A", "B", "steel", "beam")
    model.def_support("A", *FIXED)
    model.add_node_load("B", "FY", -2.0)
    model.analyze()
    return [model.nodes["B"].DY["Combo 1"], model.nodes["B"].RZ["Combo 1"], model.nodes["A"].RxnMZ["Combo 1"]]


def frame(modulus: float, push: float) -> list[float]:
    model = FEModel3D()
    for name, x, y in (("A", 0.0, 0.0), ("B", 0.0, 120.0), ("C", 180.0, 120.0), ("D", 180.0, 0.0)):
        model.add_node(name, x, y, 0.0)
    steel(model, modulus)
    for name, start, end in (("left", "A", "B"), ("top", "B", "C"), ("right", "D", "C")):
        model.add_member(name, start, end, "steel", "beam")
    model.def_support("A", *FIXED)
    model.def_support("D", *FIXED)
    model.add_node_load("B", "FX", push)
    model.analyze_linear()
    return [model.nodes["C"].DX["Combo 1"], model.members["left"].max_moment("Mz"), model.nodes["D"].RxnFY["Combo 1"]]


CALLS = {
    "simple_beam": Call(simple_beam, 2.9, 0.02),
    "cantilever": Call(cantilever, 2.9, 1.2),
    "frame": Call(frame, 2.9, 5.0),
}
