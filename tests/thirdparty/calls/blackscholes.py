"""Options: the Black-Scholes formula and its Greeks as methods of a class hierarchy over scalar ``math``."""

from __future__ import annotations

from blackscholes import BinaryCall, Black76Put, BlackScholesCall, BlackScholesPut, BlackScholesStraddleLong

from thirdparty.harness import Call

DISTRIBUTION = "blackscholes"
FIELD = "finance"

MARKET = (55.0, 50.0, 1.0, 0.0025, 0.15)


def core_greeks(*market: float) -> dict[str, float]:
    return BlackScholesCall(*market).get_core_greeks()


CALLS = {
    "price": Call(lambda *market: BlackScholesCall(*market).price(), *MARKET, 0.5),
    "core_greeks": Call(core_greeks, *MARKET),
    "vanna_of_a_put": Call(lambda *market: BlackScholesPut(*market).vanna(), *MARKET),
    "future": Call(lambda *market: Black76Put(*market).theta(), *MARKET),
    "binary": Call(lambda *market: BinaryCall(*market).price(), *MARKET),
    "straddle": Call(lambda *market: BlackScholesStraddleLong(*market).price(), *MARKET),
}
