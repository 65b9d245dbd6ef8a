"""Steam tables after IAPWS IF-97: a class whose methods are named by what is asked and what is given."""

from __future__ import annotations

from pyXSteam.XSteam import XSteam

from thirdparty.harness import Call

DISTRIBUTION = "pyXSteam"
FIELD = "thermodynamics"

tables = XSteam(XSteam.UNIT_SYSTEM_MKS)


def superheated(pressure: float, temperature: float) -> list[float]:
    return [
        tables.h_pt(pressure, temperature),
        tables.v_pt(pressure, temperature),
        tables.Cp_pt(pressure, temperature),
        tables.w_pt(pressure, temperature),
    ]


def transport(pressure: float, temperature: float) -> list[float]:
    return [1e5 * tables.my_pt(pressure, temperature), tables.tc_pt(pressure, temperature)]


def saturation(pressure: float) -> list[float]:
    return [tables.tsat_p(pressure), tables.hV_p(pressure), tables.sL_p(pressure), tables.rhoV_p(pressure)]


def wet_steam(pressure: float, enthalpy: float) -> list[float]:
    return [tables.x_ph(pressure, enthalpy), tables.s_ph(pressure, enthalpy), tables.rho_ph(pressure, enthalpy)]


def from_enthalpy_and_entropy(enthalpy: float, entropy: float) -> list[float]:
    return [tables.t_hs(enthalpy, entropy), tables.p_hs(enthalpy, entropy)]


def imperial(pressure: float, temperature: float) -> float:
    return XSteam(XSteam.UNIT_SYSTEM_FLS).h_pt(pressure, temperature)


CALLS = {
    "superheated": Call(superheated, 10.0, 300.0),
    "transport": Call(transport, 10.0, 300.0),
    "saturation": Call(saturation, 10.0),
    "wet_steam": Call(wet_steam, 10.0, 1500.0),
    "from_enthalpy_and_entropy": Call(from_enthalpy_and_entropy, 2800.0, 6.5),
    "imperial": Call(imperial, 150.0, 600.0),
}
