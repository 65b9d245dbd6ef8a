"""Annuities and cash flows; rates found by Newton's method and as roots of a polynomial."""

from __future__ import annotations

import numpy as np
import numpy_financial as npf

from thirdparty.harness import Call

DISTRIBUTION = "numpy-financial"
FIELD = "finance"

INVESTED = np.array([-4500.0, -800.0, 800.0, 800.0, 600.0, 600.0, 800.0, 800.0, 700.0, 3000.0])


def instalments(rate: float, loan: float) -> tuple[np.ndarray, np.ndarray]:
    months = np.arange(12) + 1
    return npf.ipmt(rate, months, 12, loan), npf.ppmt(rate, months, 12, loan, when="begin")


CALLS = {
    "future_value": Call(lambda rate, months, paid: npf.fv(rate, months, paid, -100.0), 0.05 / 12, 120.0, -100.0),
    "payment": Call(lambda rates, loan: npf.pmt(rates, 12, loan), np.array([0.1, 0.2]), np.array([100.0, 200.0])),
    "number_of_payments": Call(npf.nper, 0.07 / 12, -150.0, 8000.0),
    "instalments": Call(instalments, 0.0824 / 12, 2500.0),
    "rate": Call(lambda paid, value, future: npf.rate(10, paid, value, future), 0.0, -3500.0, 10000.0),
    "internal_rate_of_return": Call(npf.irr, np.array([-100.0, 39.0, 59.0, 55.0, 20.0])),
    "net_present_value": Call(npf.npv, 0.08, np.array([-400.0, 50.0, 80.0, 120.0, 300.0])),
    "modified_rate_of_return": Call(npf.mirr, INVESTED, 0.08, 0.055),
}
