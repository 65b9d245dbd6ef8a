"""Photovoltaic systems: irradiance, cell temperature and the one-diode model; numbers, arrays and series of pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pvlib import iam, inverter, irradiance, pvsystem, temperature

from thirdparty.harness import Call

DISTRIBUTION = "pvlib"
FIELD = "energy"


def one_diode(irradiation: float, cell: float) -> list[float]:
    current, saturation, series, shunt, factor = pvsystem.calcparams_desoto(
        irradiation, cell, alpha_sc=0.003, a_ref=1.6, I_L_ref=6.0, I_o_ref=5e-10, R_sh_ref=300.0, R_s=0.5
    )
    return [current, 1e9 * saturation, series, shunt, factor]


def maximum_power(current: float, resistance: float) -> list[float]:
    """The maximum by Newton's method on the diode voltage."""
    found = pvsystem.singlediode(current, 1e-9, resistance, 300.0, 1.6, method="newton")
    return [float(found["p_mp"]), float(found["v_oc"]), float(found["i_sc"])]


def by_lambert_w(current: float, resistance: float) -> list[float]:
    """Open and short circuit by Lambert's function."""
    found = pvsystem.singlediode(current, 1e-9, resistance, 300.0, 1.6, method="lambertw")
    return [float(found["v_oc"]), float(found["i_sc"])]


def in_the_plane_of_the_array(zenith: float, azimuth: float, direct: float) -> list[float]:
    found = irradiance.get_total_irradiance(
        30.0, 180.0, zenith, azimuth, direct, 700.0, 120.0, dni_extra=1400.0, airmass=1.5, model="haydavies"
    )
    perez = irradiance.perez(30.0, 180.0, 120.0, direct, 1400.0, zenith, azimuth, 1.5)
    return [float(found["poa_global"]), float(perez)]


def incidence(zenith: np.ndarray, azimuth: np.ndarray) -> np.ndarray:
    hours = pd.date_range("2024-06-01", periods=3, freq="h")
    angle = irradiance.aoi(30.0, 180.0, pd.Series(zenith, hours), pd.Series(azimuth, hours))
    return np.stack([angle.to_numpy(), iam.physical(angle).to_numpy(), iam.martin_ruiz(angle).to_numpy()])


def cell_temperature(irradiation: float, air: float, wind: float) -> list[float]:
    return [
        temperature.sapm_cell(irradiation, air, wind, -3.47, -0.0594, 3.0),
        temperature.pvsyst_cell(irradiation, air, wind),
        temperature.faiman(irradiation, air, wind),
    ]


def alternating_current(voltage: float, power: float) -> float:
    parameters = {"Paco": 250.0, "Pdco": 259.6, "Vdco": 40.0, "Pso": 1.77, "Pnt": 0.02}
    parameters |= {"C0": -4.1e-5, "C1": -9.1e-5, "C2": 4.94e-4, "C3": -0.013}
    return float(inverter.sandia(voltage, power, parameters))


def decomposition(horizontal: float, zenith: float) -> list[float]:
    return [
        float(irradiance.erbs(horizontal, zenith, 100)["dni"]),
        float(irradiance.disc(horizontal, zenith, 100)["dni"]),
    ]


CALLS = {
    "one_diode": Call(one_diode, 800.0, 40.0),
    "maximum_power": Call(maximum_power, 6.0, 0.5),
    "by_lambert_w": Call(by_lambert_w, 6.0, 0.5),
    "in_the_plane_of_the_array": Call(in_the_plane_of_the_array, 40.0, 150.0, 800.0),
    "incidence": Call(incidence, np.array([20.0, 35.0, 50.0]), np.array([100.0, 120.0, 150.0])),
    "cell_temperature": Call(cell_temperature, 800.0, 20.0, 2.0),
    "alternating_current": Call(alternating_current, 38.0, 200.0),
    "decomposition": Call(decomposition, 500.0, 40.0),
}
