"""Heat transfer: exchangers, boiling and convection, with methods chosen by name and solvers in pure Python."""

from __future__ import annotations

import ht

from thirdparty.harness import Call

DISTRIBUTION = "ht"
FIELD = "heat transfer"


def exchanger(hot_flow: float, hot_inlet: float, area: float) -> tuple[float, float]:
    found = ht.effectiveness_NTU_method(
        mh=hot_flow, mc=1.45, Cph=2131.0, Cpc=4181.0, subtype="crossflow, mixed Cmax", Thi=hot_inlet, Tci=15.0,
        UA=200.0 * area,
    )  # fmt: skip
    return found["Tho"], found["Tco"]


def area_of_an_exchanger(hot_outlet: float) -> float:
    found = ht.effectiveness_NTU_method(
        mh=5.2, mc=1.45, Cph=1860.0, Cpc=1900.0, subtype="counterflow", Thi=130.0, Tho=hot_outlet, Tci=15.0
    )
    return found["UA"] / 1e3


def shell_and_tube(p: float, r: float) -> float:
    return ht.NTU_from_P_E(P1=p, R1=r, Ntp=2)


def log_mean(a: float, b: float, c: float, d: float) -> float:
    return ht.LMTD(a, b, c, d) * ht.F_LMTD_Fakheri(Tci=c, Tco=d, Thi=a, Tho=b, shells=1)


def pipe_loss(wind: float, temperature: float) -> float:
    """The heat that a cylinder gives off by forced convection and radiation."""
    reynolds = wind * 0.1 / 1.6e-5
    nusselt = ht.Nu_cylinder_Churchill_Bernstein(Re=reynolds, Pr=0.7)
    return nusselt * 0.026 / 0.1 * (temperature - 293.0) + ht.q_rad(0.8, temperature, 293.0)


def internal(reynolds: float, prandtl: float) -> list[float]:
    methods = ("Churchill-Zajic", "Petukhov-Kirillov-Popov", "Gnielinski", "Dittus-Boelter")
    return [ht.Nu_conv_internal(reynolds, prandtl, fd=0.0185, Method=m) for m in methods]


def free(grashof: float, prandtl: float) -> float:
    return ht.Nu_horizontal_cylinder(Pr=prandtl, Gr=grashof * 1e9, Method="Churchill-Chu")


def boiling(flow: float, quality: float, diameter: float) -> float:
    return ht.Liu_Winterton(
        m=flow, x=quality, D=diameter, rhol=567.0, rhog=18.09, mul=156e-6, kl=0.086, Cpl=2300.0, MW=44.02, P=1e6,
        Pc=4248000.0, Te=7.0,
    )  # fmt: skip


def critical_heat_flux(diameter: float, pressure: float) -> float:
    return ht.h_nucleic(rhol=957.854, rhog=0.595593, mul=2.79e-4, kl=0.68, Cpl=4217.0, Hvap=2.257e6, sigma=0.0589,
        Te=4.9, Csf=0.011, n=1.26, P=pressure, Pc=22048321.0, Method="Rohsenow") / 1e3 * diameter  # fmt: skip


def tube_bank(reynolds: float, pitch: float) -> float:
    return ht.Nu_Zukauskas_Bejan(
        Re=reynolds, Pr=7.0, tube_rows=10, pitch_parallel=0.05, pitch_normal=pitch, Pr_wall=5.0
    )


CALLS = {
    "exchanger": Call(exchanger, 5.2, 130.0, 60.0),
    "area_of_an_exchanger": Call(area_of_an_exchanger, 110.0),
    "shell_and_tube": Call(shell_and_tube, 0.4, 0.7),
    "log_mean": Call(log_mean, 100.0, 60.0, 30.0, 40.2),
    "pipe_loss": Call(pipe_loss, 5.0, 350.0),
    "internal": Call(internal, 1e5, 1.2),
    "free": Call(free, 2.0, 0.69),
    "boiling": Call(boiling, 1.0, 0.4, 0.3),
    "critical_heat_flux": Call(critical_heat_flux, 1.2, 101325.0),
    "tube_bank": Call(tube_bank, 2e4, 0.05),
}
