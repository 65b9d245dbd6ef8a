"""Compiled programs that raise and catch exceptions: failing checks, handlers, errors on dead paths."""

from __future__ import annotations

from ..grammar import Family

RAISING = Family(
    "raising",
    prelude="""\
from contextlib import suppress

KNOWN = {"a": 0.5}


class Stop(RuntimeError):
    def __init__(self, s, n=0):
        super().__init__("stop", n)
        self.s = s


class Worse(Stop):
    pass


def checked(s):
    if s > 1.6:
        raise Stop(s, 1)
    return s * s


def rooted(s):
    return math.sqrt(s + 1.3) + 0.1


def total(v):
    found = 0.0
    for i in range(len(v)):
        found += math.log(v[i])
    return found


def first(v, s):
    for i in range(9):
        if v[i] > s:
            return v[i]
    return s


def guarded(s):
    try:
        return math.log(s)
    except ValueError:
        return s

""",
    expressions={
        "f": [
            "math.sqrt({F} + 1.6)",
            "math.log({f} + 1.4)",
            "(float({f}) / (1 + int({F} * 1.2)))",
            "{V}[int({F} * 2.0)]",
            "checked({f})",
            "rooted({f})",
            "total({v} + 1.4)",
            "first({v}, {f} - 1.5)",
            "guarded({f})",
            "(math.sqrt({F}) if {F} > -0.2 else {f})",
            "(1.0 if {c} and math.log({F}) > 0.0 else {f})",
            "(1.0 if {c} or {V}[int({F} * 4.0)] > 0.0 else {f})",
            "[{f}, {f}, {f}][{i}]",
            "([{f}, {f}][{i}] if {c} and {c} else {f})",
            "KNOWN['a']",
            "(KNOWN['b'] if {F} > 1.4 else {f})",
            "math.exp(0.3 * {F})",
        ],
    },
    statements=[
        "try:\n    {block}\nexcept ValueError:\n    {=f} = {f}",
        "try:\n    {block}\nexcept (ValueError, IndexError) as {+e}:\n    {=f} = {f}",
        "try:\n    {block}\nexcept ZeroDivisionError:\n    {block}\nelse:\n    {block}",
        "try:\n    {block}\nexcept ValueError:\n    {=f} = {f}\nexcept LookupError:\n    {=f} = {f}",
        "try:\n    {block}\nfinally:\n    {F} += 0.5",
        "try:\n    {block}\nexcept Stop as {+e}:\n    {=f} = {1}.s",
        "try:\n    {block}\nexcept Exception:\n    pass",
        "try:\n    {block}\nexcept ArithmeticError as {+e}:\n    raise Worse({f}, 2) from {1}",
        "try:\n    {block}\nexcept LookupError:\n    raise",
        "try:\n    {=f} = {f}\n    {block}\nexcept (ArithmeticError, ValueError):\n    {block}\nfinally:\n    {F} *= 0.9",
        "if {c} and {F} > 0.3 and {c}:\n    raise Stop({f}, 3)",
        "if {c} and {F} > 0.3 and {c}:\n    raise ValueError('large', {k})",
        "if {F} > 1.2 and {c}:\n    {=f} = KNOWN['b']",
        "if {F} > 1.2 and {c}:\n    {=f} = undefined_name",
        "if {F} > 1.2 and {c}:\n    {F} += [1.0, 2.0][5]",
        "if {F} > 1.2 and {c}:\n    {F} = {F} + 'a'",
        "assert {c} or {c} or {c}, 'must hold'",
        "for {+n} in range(int(abs({F}) * 4.0)):\n    {block}",
        "for {+n} in range(6):\n    try:\n        {block}\n    except ValueError:\n        continue",
        "for {+n} in range(6):\n    try:\n        {block}\n    except (ArithmeticError, ValueError):\n        break",
        "try:\n    for {+n} in range(6):\n        {block}\nexcept (ValueError, IndexError):\n    {=f} = {f}",
        "{+f} = {f}\nwhile {1} > 0.4:\n    {block}\n    {1} = min({1}, 4.0) * 0.5",
        "with suppress(ValueError, ZeroDivisionError):\n    {block}",
        "{V}[int({F} * 3.0)] = {f}",
    ],
    refused=0.4,
    unbound=0.05,
)

FAMILIES = (RAISING,)
