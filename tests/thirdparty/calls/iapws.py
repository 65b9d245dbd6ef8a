"""Water and steam by the IAPWS formulations: classes that solve for the missing state variables when they are made."""

from __future__ import annotations

from iapws import IAPWS95, IAPWS97, _iapws

from thirdparty.harness import Call

DISTRIBUTION = "iapws"
FIELD = "thermodynamics"


def steam(temperature: float, pressure: float) -> list[float]:
    state = IAPWS97(T=temperature, P=pressure)
    return [state.h, state.s, state.rho, state.cp, state.w, state.mu * 1e6, state.k]


def saturated(pressure: float, quality: float) -> list[float]:
    state = IAPWS97(P=pressure, x=quality)
    return [state.T, state.h, state.v]


def backward(pressure: float, enthalpy: float, entropy: float) -> list[float]:
    return [IAPWS97(P=pressure, h=enthalpy).T, IAPWS97(P=pressure, s=entropy).h, IAPWS97(h=enthalpy, s=entropy).P]


def rankine(boiler: float, condenser: float) -> float:
    """The efficiency of a steam cycle."""
    inlet = IAPWS97(P=boiler, T=773.15)
    outlet = IAPWS97(P=condenser * 1e-3, s=inlet.s)
    water = IAPWS97(P=condenser * 1e-3, x=0.0)
    return (inlet.h - outlet.h) / (inlet.h - water.h)


def helmholtz(temperature: float, density: float) -> list[float]:
    state = IAPWS95(T=temperature, rho=density)
    return [state.P, state.h, state.s]


def transport(temperature: float, density: float) -> list[float]:
    return [
        _iapws._Viscosity(density, temperature) * 1e6,
        _iapws._ThCond(density, temperature),
        _iapws._Tension(temperature),
        _iapws._Dielectric(density, temperature),
        _iapws._Refractive(density, temperature),
    ]


def ice(temperature: float, pressure: float) -> list[float]:
    found = _iapws._Ice(temperature, pressure)
    return [found["rho"], found["h"], found["cp"]]


CALLS = {
    "steam": Call(steam, 500.0, 3.0),
    "saturated": Call(saturated, 1.0, 0.5),
    "backward": Call(backward, 3.0, 2900.0, 6.5),
    "rankine": Call(rankine, 8.0, 10.0),
    "helmholtz": Call(helmholtz, 500.0, 840.0),
    "transport": Call(transport, 500.0, 840.0),
    "ice": Call(ice, 260.0, 0.2),
}
