"""Fluid dynamics: correlations in scalar ``math``, selected by name, solved by iteration in pure Python."""

from __future__ import annotations

import fluids
from fluids.control_valve import size_control_valve_g
from fluids.numerics import secant
from fluids.particle_size_distribution import PSDLognormal

from thirdparty.harness import Call

DISTRIBUTION = "fluids"
FIELD = "fluid dynamics"


def friction(reynolds: float, roughness: float) -> list[float]:
    methods = ("Clamond", "Colebrook", "Churchill_1977", "Haaland", "Serghides_2")
    return [1e2 * fluids.friction_factor(Re=reynolds, eD=roughness, Method=m) for m in methods]


def pressure_drop(flow: float, density: float, viscosity: float, diameter: float) -> float:
    reynolds = fluids.Reynolds(V=flow / (0.25 * 3.141592653589793 * diameter**2), D=diameter, rho=density, mu=viscosity)
    bends = 3 * fluids.bend_rounded(Di=diameter, angle=90.0, fd=0.02, bend_diameters=3.0)
    k = fluids.K_from_f(fd=fluids.friction_factor(reynolds, 1e-4), L=30.0, D=diameter) + bends + fluids.entrance_sharp()
    return fluids.dP_from_K(k, rho=density, V=flow / (0.25 * 3.141592653589793 * diameter**2)) / 1e5


def flow_for_a_pressure_drop(drop: float, diameter: float) -> float:
    """The mass flow, found by secants around a friction factor that is itself iterated."""
    return secant(
        lambda m: fluids.one_phase_dP(m, 998.0, 1e-3, diameter, L=100.0, Method="Colebrook") - drop * 1e4, 10.0
    )


def isothermal_pipeline(inlet: float, length: float, diameter: float) -> float:
    return fluids.isothermal_gas(rho=11.3, fd=0.00185, P1=inlet * 1e6, P2=9e5, L=length, D=diameter)


def control_valve(inlet: float, flow: float) -> float:
    return size_control_valve_g(
        T=433.0, MW=44.01, mu=1.4665e-4, gamma=1.30, Z=0.988, P1=inlet * 1e5, P2=4.5e5, Q=flow, D1=0.08, D2=0.1, d=0.05,
        FL=0.85, Fd=0.42, xT=0.60,
    )  # fmt: skip


def tank(diameter: float, length: float, height: float) -> tuple[float, float]:
    vessel = fluids.TANK(D=diameter, L=length, sideA="torispherical", sideB="conical", sideB_a=0.4, horizontal=False)
    return vessel.V_from_h(height), vessel.SA_from_h(height)


def settling(diameter: float, density: float) -> float:
    return fluids.v_terminal(D=diameter * 1e-3, rhop=density, rho=1000.0, mu=1e-3)


def orifice(diameter: float, bore: float) -> float:
    return fluids.differential_pressure_meter_solver(
        D=diameter, D2=bore, P1=2e5, P2=1.83e5, rho=999.1, mu=0.0011, k=1.33, meter_type="ISO 5167 orifice", taps="D"
    )


def two_phase(quality: float, flow: float) -> list[float]:
    return [
        fluids.two_phase_dP(
            m=flow, x=quality, rhol=915.0, rhog=2.67, mul=180e-6, mug=14e-6, sigma=0.0487, D=0.05, L=1.0, Method=method
        )
        for method in ("Lombardi_Pedrocchi", "Friedel", "Muller_Steinhagen_Heck")
    ]


def particle_sizes(mode: float, spread: float) -> list[float]:
    distribution = PSDLognormal(d_characteristic=mode, s=spread)
    return [distribution.cdf(6.0), distribution.dn(0.4), distribution.mean_size(2, 1)]


CALLS = {
    "friction": Call(friction, 1e5, 1e-3),
    "pressure_drop": Call(pressure_drop, 0.01, 998.0, 1e-3, 0.08),
    "flow_for_a_pressure_drop": Call(flow_for_a_pressure_drop, 5.0, 0.1),
    "isothermal_pipeline": Call(isothermal_pipeline, 1.0, 1000.0, 0.5),
    "control_valve": Call(control_valve, 6.8, 1.05),
    "tank": Call(tank, 1.5, 3.0, 1.1),
    "settling": Call(settling, 0.3, 2600.0),
    "orifice": Call(orifice, 0.0739, 0.05),
    "two_phase": Call(two_phase, 0.3, 0.6),
    "particle_sizes": Call(particle_sizes, 5.0, 0.5),
}
