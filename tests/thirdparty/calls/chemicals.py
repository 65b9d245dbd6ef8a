"""Properties of chemicals: tables looked up by identifier, correlations, flash calculations, equations of state."""

from __future__ import annotations

import chemicals
from chemicals.rachford_rice import Rachford_Rice_solutionN

from thirdparty.harness import Call

DISTRIBUTION = "chemicals"
FIELD = "chemistry"


def steam(temperature: float, pressure: float) -> list[float]:
    density = chemicals.iapws95_rho(temperature, pressure * 1e6)
    return [density, chemicals.iapws95_P(temperature, 1.1 * density) / 1e6]


def steam_of_industry(temperature: float, pressure: float) -> list[float]:
    density = chemicals.iapws97_rho(temperature, pressure * 1e6)
    return [density, chemicals.mu_IAPWS(temperature, density) * 1e4, chemicals.k_IAPWS(temperature, density)]


def saturation(temperature: float) -> list[float]:
    return [chemicals.Psat_IAPWS(temperature) / 1e5, *chemicals.iapws95_saturation(temperature)[1:]]


def vapor_pressure(temperature: float, critical: float, omega: float) -> list[float]:
    methods = (chemicals.Lee_Kesler, chemicals.Ambrose_Walton, chemicals.Edalat)
    return [f(temperature, critical, 1074000.0, omega) / 1e5 for f in methods]


def flash(fractions: list[float], constants: list[float]) -> tuple[float, list[float], list[float]]:
    return chemicals.flash_inner_loop(fractions, constants)


def three_phases(first: float) -> tuple[list[float], list[list[float]]]:
    """Newton's method in two unknowns with a line search."""
    fractions = [first, 0.562 - first, 0.132, 0.171, 0.135]
    constants = [
        [1.64571122126845, 1.91627051926727, 0.71408616431523, 0.28582415424307, 0.04917567928833],
        [1.61947897153045, 2.65352105653246, 0.68719907526512, 0.18483049029392, 0.01228448216552],
    ]
    found = Rachford_Rice_solutionN(fractions, constants, [0.3, 0.3])
    return found[0], found[1]


def bubble_point(pressure: float, fraction: float) -> tuple[float, float]:
    antoine = ((20.7, 2300.0, -50.0), (21.3, 3200.0, -45.0))

    def saturation(i: int, temperature: float) -> float:
        a, b, c = antoine[i]
        return chemicals.Antoine(temperature, a, b, c, base=2.718281828459045)

    functions = [lambda t: saturation(0, t), lambda t: saturation(1, t)]
    found = chemicals.flash_ideal(
        zs=[fraction, 1 - fraction], funcs=functions, Tcs=[500.0, 560.0], P=pressure * 1e5, VF=0
    )
    return found[0], found[4][0]


def heat_capacity(temperature: float) -> list[float]:
    a, b, c, d, e = (4.395, -4.186e-3, 1.405e-5, -1.564e-8, 0.632e-11)
    return [
        chemicals.TRCCp(temperature, 4.0, 7.65e5, 720.0, 3.565, -0.052, -1.55e6, 52.0, 201.0),
        chemicals.Poling(temperature, a, b, c, d, e),
        chemicals.Shomate(temperature, 30.092, 0.006832514, 6.793435e-06, -2.53448e-09, 82139.0),
    ]


def mixture(fractions: list[float]) -> list[float]:
    masses = chemicals.zs_to_ws(fractions, [18.01528, 46.06844, 32.04186])
    viscosity = chemicals.Wilke(fractions, [1.34e-5, 9.5029e-6, 1.1e-5], [18.01528, 46.06844, 32.04186])
    return [*masses, chemicals.mixing_logarithmic(fractions, [1.0, 2.5, 4.0]), viscosity * 1e5]


def of_water(temperature: float) -> list[float]:
    """Constants by identifier, then correlations of corresponding states."""
    cas = chemicals.CAS_from_any("water")
    tc, pc, omega = chemicals.Tc(cas), chemicals.Pc(cas), chemicals.omega(cas)
    return [chemicals.SMK(temperature, tc, omega) / 1e3, chemicals.COSTALD(temperature, tc, 5.6e-5, omega) * 1e5,
            chemicals.Brock_Bird(temperature, 373.15, tc, pc) * 1e2]  # fmt: skip


CALLS = {
    "steam": Call(steam, 500.0, 3.0),
    "steam_of_industry": Call(steam_of_industry, 600.0, 10.0),
    "saturation": Call(saturation, 450.0),
    "vapor_pressure": Call(vapor_pressure, 350.0, 617.15, 0.304),
    "flash": Call(flash, [0.5, 0.3, 0.2], [1.685, 0.742, 0.532]),
    "three_phases": Call(three_phases, 0.204),
    "bubble_point": Call(bubble_point, 1.1, 0.4),
    "heat_capacity": Call(heat_capacity, 400.0),
    "mixture": Call(mixture, [0.2, 0.5, 0.3]),
    "of_water": Call(of_water, 320.0),
}
