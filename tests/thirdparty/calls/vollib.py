"""Prices, sensitivities and implied volatilities of options, with rational approximations ported from C."""

from __future__ import annotations

from vollib.black import black
from vollib.black_scholes import black_scholes
from vollib.black_scholes.greeks import analytical, numerical
from vollib.black_scholes.implied_volatility import implied_volatility
from vollib.black_scholes_merton import black_scholes_merton
from vollib.ref_python.black_scholes import black_scholes as by_the_book

from thirdparty.harness import Call

DISTRIBUTION = "vollib"
FIELD = "finance"
HELD_OUT = True


def price(spot: float, strike: float, time: float, rate: float, volatility: float) -> float:
    return black_scholes("c", spot, strike, time, rate, volatility)


def with_dividends(spot: float, volatility: float, dividend: float) -> float:
    return black_scholes_merton("p", spot, 95.0, 0.5, 0.01, volatility, dividend)


def on_a_future(forward: float, volatility: float) -> float:
    return black("c", forward, 95.0, 0.5, 0.01, volatility)


def greeks(spot: float, volatility: float) -> list[float]:
    at = "c", spot, 95.0, 0.5, 0.01, volatility
    return [f(*at) for f in (analytical.delta, analytical.gamma, analytical.vega, analytical.theta, analytical.rho)]


def greeks_by_differences(spot: float, volatility: float) -> list[float]:
    at = "p", spot, 95.0, 0.5, 0.01, volatility
    return [numerical.delta(*at), numerical.vega(*at)]


def implied(paid: float, spot: float) -> float:
    return implied_volatility(paid, spot, 100.0, 0.5, 0.01, "c")


def reference(spot: float, volatility: float) -> float:
    return by_the_book("p", spot, 95.0, 0.5, 0.01, volatility)


CALLS = {
    "price": Call(price, 100.0, 95.0, 0.5, 0.01, 0.2),
    "with_dividends": Call(with_dividends, 100.0, 0.2, 0.02),
    "on_a_future": Call(on_a_future, 100.0, 0.2),
    "greeks": Call(greeks, 100.0, 0.2),
    "greeks_by_differences": Call(greeks_by_differences, 100.0, 0.2, rtol=1e-5),
    "implied": Call(implied, 12.0, 80.0),
    "reference": Call(reference, 100.0, 0.2),
}
