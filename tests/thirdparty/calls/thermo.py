"""Thermodynamics: cubic equations of state, activity models, flashes; deep class hierarchies with cached properties."""

from __future__ import annotations

from thermo import (
    UNIFAC,
    CEOSGas,
    CEOSLiquid,
    ChemicalConstantsPackage,
    FlashPureVLS,
    HeatCapacityGas,
    PropertyCorrelationsPackage,
    VaporPressure,
)
from thermo.eos import PR, SRK, PRTranslatedConsistent
from thermo.eos_mix import PRMIX
from thermo.nrtl import NRTL
from thermo.unifac import UFIP, UFSG
from thermo.wilson import Wilson

from thirdparty.harness import Call

DISTRIBUTION = "thermo"
FIELD = "thermodynamics"


def cubic(temperature: float, pressure: float, omega: float) -> list[float]:
    found: list[float] = []
    for model in (PR, SRK):
        eos = model(Tc=507.6, Pc=3025000.0, omega=omega, T=temperature, P=pressure)
        found += [1e4 * eos.V_l, 1e4 * eos.V_g, eos.H_dep_l, eos.S_dep_g, eos.fugacity_l / 1e5]
    return found


def saturation(temperature: float) -> list[float]:
    eos = PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=299.0, P=1e6)
    return [eos.Psat(temperature) / 1e5, eos.Hvap(temperature) / 1e3]


def translated(temperature: float) -> float:
    return PRTranslatedConsistent(Tc=190.564, Pc=4.59e6, omega=0.01142, T=temperature, P=3e6).V_g * 1e4


def mixture(temperature: float, fractions: list[float]) -> list[float]:
    eos = PRMIX(
        T=temperature, P=1e6, Tcs=[126.1, 190.6], Pcs=[33.94e5, 46.04e5], omegas=[0.04, 0.011], zs=fractions,
        kijs=[[0, 0.0289], [0.0289, 0]],
    )  # fmt: skip
    return [1e4 * eos.V_l, *eos.lnphis_l, eos.H_dep_l / 1e3, *eos.dlnphis_dT("l")]


def activity(temperature: float, fraction: float) -> list[float]:
    taus = [[[0.0, 0.5], [1.1, 0.0]]] + [[[0.0] * 2] * 2] * 5
    model = NRTL(T=temperature, xs=[fraction, 1 - fraction], tau_as=taus[0], tau_bs=[[0.0, 120.0], [-50.0, 0.0]],
                 alpha_cs=[[0.0, 0.3], [0.3, 0.0]])  # fmt: skip
    return [*model.gammas(), model.GE(), model.HE(), model.d2GE_dTdxs()[0]]


def wilson(temperature: float) -> list[float]:
    model = Wilson(T=temperature, xs=[0.252, 0.748], lambda_as=[[0.0, 0.0], [0.0, 0.0]],
                   lambda_bs=[[0.0, -481.2], [-154.5, 0.0]])  # fmt: skip
    return [*model.gammas(), model.SE()]


def group_contributions(temperature: float, fraction: float) -> list[float]:
    groups = [{1: 2, 2: 4}, {1: 1, 2: 1, 18: 1}]
    model = UNIFAC.from_subgroups(
        T=temperature, xs=[fraction, 1 - fraction], chemgroups=groups, version=0, interaction_data=UFIP, subgroups=UFSG
    )
    return model.gammas()


def correlations(temperature: float) -> list[float]:
    """Tables looked up by identifier; the method is chosen by temperature, and extrapolated beyond its range."""
    pressure = VaporPressure(
        CASRN="64-17-5", Tb=351.39, Tc=514.0, Pc=6137000.0, omega=0.635, extrapolation="AntoineAB|DIPPR101_ABC"
    )
    heat = HeatCapacityGas(CASRN="64-17-5", MW=46.07, similarity_variable=0.1953615)
    return [
        pressure.T_dependent_property(temperature) / 1e5,
        heat(temperature),
        heat.T_dependent_property_integral(300.0, temperature),
    ]


def flash(temperature: float, pressure: float) -> list[float]:
    constants = ChemicalConstantsPackage(
        Tcs=[508.1],
        Pcs=[4700000.0],
        omegas=[0.309],
        MWs=[58.07914],
        CASs=["67-64-1"],
        atomss=[{"C": 3, "H": 6, "O": 1}],
    )
    heat = HeatCapacityGas(poly_fit=(200.0, 1000.0, [
        1.3320002425347943e-21, -6.4063345232664645e-18, 1.251025808150141e-14, -1.2265314167534311e-11,
        5.535028657205e-9, -4.32538332013644e-8, -0.0010438724775716248, 0.19650919978971002, 63.84239495676709]))  # fmt: skip
    package = PropertyCorrelationsPackage(constants=constants, HeatCapacityGases=[heat])
    eos = {"Tcs": [508.1], "Pcs": [4700000.0], "omegas": [0.309]}
    liquid = CEOSLiquid(PRMIX, HeatCapacityGases=[heat], eos_kwargs=eos)
    gas = CEOSGas(PRMIX, HeatCapacityGases=[heat], eos_kwargs=eos)
    flasher = FlashPureVLS(constants, package, gas=gas, liquids=[liquid], solids=[])
    state = flasher.flash(T=temperature, P=pressure)
    return [state.H() / 1e3, state.S(), state.Cp(), state.rho() / 1e3]


CALLS = {
    "cubic": Call(cubic, 400.0, 5e5, 0.2975),
    "saturation": Call(saturation, 350.0),
    "translated": Call(translated, 250.0),
    "mixture": Call(mixture, 115.0, [0.5, 0.5]),
    "activity": Call(activity, 343.0, 0.252),
    "wilson": Call(wilson, 343.15),
    "group_contributions": Call(group_contributions, 313.0, 0.2),
    "correlations": Call(correlations, 305.0),
    "flash": Call(flash, 300.0, 1e5),
}
