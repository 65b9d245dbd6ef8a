"""Unmodified third-party packages, differentiated: each call of ``calls/`` against extrapolated differences."""

from __future__ import annotations

import pytest

from thirdparty.harness import Call, Cut, Package, Refused, packages

PACKAGES = list(packages())


def _cases(kind: str) -> list[object]:
    return [
        pytest.param(case, id=f"{package.distribution}-{name}")
        for package in PACKAGES
        for name, case in getattr(package, kind).items()
    ]


@pytest.mark.parametrize("call", _cases("calls"))
def test_gradient_agrees_with_differences(call: Call) -> None:
    call.check()


@pytest.mark.parametrize("refused", _cases("refused"))
def test_refusal_says_why(refused: Refused) -> None:
    refused.check()


@pytest.mark.parametrize("cut", _cases("cut"))
def test_what_is_rounded_has_the_derivative_zero(cut: Cut) -> None:
    cut.check()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.distribution)
def test_a_package_is_used_in_earnest(package: Package) -> None:
    assert len(package.calls) + len(package.refused) + len(package.cut) >= 3
    assert package.field
