"""Values of several kinds: None or a number, a pair or an array; texts and functions that are chosen by a condition."""

from __future__ import annotations

from ..grammar import Family

KINDS = Family(
    "kinds",
    prelude="""\
COSTS = {"start": 0.5, "go": 1.5, "stop": -0.5}


def maybe(s):
    if s > 0.3:
        return s * s


def otherwise(s, t):
    return t if s is None else s


def described(s):
    return "start" if s is None else "go" if s > 0.2 else "stop"


class Holder:
    def __init__(self):
        self.best, self.state = None, "start"

    def step(self, s):
        if self.best is None or s < self.best:
            self.best, self.state = s, "go"
        else:
            self.state = "stop"
        return self.best

""",
    start=(
        "{=o} = None",
        "{=s} = 'start'",
        "{=p} = None",
        "{=w} = None",
        "{=h} = math.sin",
        "{=k} = Holder()",
    ),
    expressions={
        "f": [
            "(0.3 if {O} is None else {O} * {f})",
            "({O} or {f})",
            "({f} if {S} == 'go' else {f})",
            "COSTS[{S}] * {f}",
            "len({S}) * {f}",
            "({f} if {S} in ('go', 'stop') else {f})",
            "{H}({f})",
            "otherwise(maybe({f}), {f})",
            "otherwise({O}, {f})",
            "(sum({P}) if {P} else {f})",
            "({P}[{j}] if {P} is not None else {f})",
            "({O} * 2.0 if isinstance({O}, float) else {f})",
            "(0.1 if {W} is None else {W}.sum())",
            "COSTS[described({O})]",
            "otherwise({K}.best, {f})",
            "COSTS[{K}.state]",
        ],
    },
    statements=[
        "{=o} = {f} if {c} else None",
        "{=o} = maybe({f})",
        "{O} = {f} if {O} is None else {O} + {f}",
        "if {O} is not None and {c}:\n    {block}",
        "if {O} is None or {O} < {f}:\n    {O} = {f}\n    {block}",
        "if {O} is None:\n    {block}\nelse:\n    {F} += {O}",
        "{=s} = 'go' if {c} else 'stop'",
        "if {S} == 'start':\n    {S} = 'go'\nelif {S} == 'go' and {c}:\n    {S} = 'stop'\n    {block}\nelse:\n    {S} = 'start'",
        "match {S}:\n    case 'go':\n        {block}\n    case 'stop' | None:\n        {block}\n    case _:\n        {block}",
        "match {O}:\n    case None:\n        {block}\n    case _:\n        {block}",
        "{=p} = ({f}, {f}) if {c} else None",
        "if {P}:\n    {+f}, {+f} = {P}\n    {block}",
        "{=h} = math.cos if {c} else math.sin",
        "try:\n    {F} += {O}\nexcept TypeError:\n    {F} *= 0.5",
        "{=w} = {v} if {c} else None",
        "if {W} is not None:\n    {W}[{i}] = {f}",
        "if {W} is None:\n    {=w} = {v}\nelse:\n    {block}",
        "{K}.step({f})",
        "{=o} = {K}.step({f}) if {c} else {K}.best",
        "for {+n} in range(int(abs({F}) * 4.0)):\n    {block}",
        "for {+n} in range(6):\n    {block}",
        "for {+n} in range(6):\n    {block}\n    if {S} == 'stop':\n        break",
        "{+f} = {f}\nwhile {1} > 0.4:\n    {block}\n    {1} = min({1}, 4.0) * 0.5",
        "if {c}:\n    {O} = None",
        "if {c}:\n    {P} = None\n    {S} = 'stop'",
    ],
    observed={
        "o": "(0.2 if {x} is None else {x})",
        "s": "COSTS[{x}]",
        "p": "(0.3 if {x} is None else sum({x}))",
        "w": "(0.4 if {x} is None else {x}.sum())",
        "k": "otherwise({x}.best, 0.6)",
    },
    refused=0.4,
    unbound=0.05,
)

FAMILIES = (KINDS,)
