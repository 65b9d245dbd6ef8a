"""Identity of objects, order and length of containers, positions of iterators, and the order of side effects."""

from __future__ import annotations

from ..grammar import Family

PRELUDE = """\
import itertools
from collections import OrderedDict, deque


class Box:
    def __init__(self, s):
        self.s = s
        self.count = 0

    def next(self):
        self.count += 1
        return self.s * self.count


def several(xs, log):
    log.append(float(len(log)))
    total = 0.0
    for x in xs:
        total = total * 0.5 + x
        yield total
    log.append(total)
    return total


def counted(x, log):
    log.append(x)
    return x


def delegating(xs, log):
    last = yield from several(xs, log)
    yield last * 2.0


def weighed(xs):
    total = 0.0
    for i, x in enumerate(xs):
        total = total + x * (0.5 + 0.3 * i)
    return total

"""

FLOATS = [
    "({f} + {f})",
    "({f} - {f})",
    "{f} * {f}",
    "math.sin({f})",
    "({f} if {c} else {f})",
    "{k}",
    "{F}",
    "{L}[{i}]",
    "weighed({L})",
    "{Q}[{i}]",
    "weighed({Q})",
    "{D}['a']",
    "weighed({D}.values())",
    "{D}.get('c', {f})",
    "{O}.s",
    "{O}.next()",
    "next({T}, {f})",
    "sum(itertools.islice({T}, 2), 0.5)",
    "(1.0 if {O} is {O} else {f})",
    "(0.5 if {O} in [{O}, {O}] else {f})",
    "(0.7 if {O} == {O} else {k})",
    "(0.3 if {L} is {L} else {k})",
    "float(len({L}))",
    "float(len({D}))",
    "(1.5 if any(counted(e, {G}) > 0.2 for e in {L}) else {f})",
    "(0.2 if all(e < 0.4 for e in {T}) else {f})",
    "max(map(lambda e: counted(e, {G}) * 0.5, {L}))",
    "float(0.0 < counted({f}, {G}) < counted({k}, {G}))",
    "weighed(x * y for x, y in zip({L}, {T}))",
    "list({D}.values())[0]",
    "(0.4 if 'c' in {D} else 0.1)",
]

STATE = Family(
    "state",
    prelude=PRELUDE,
    base=False,
    leaves=("f", "f", "f"),
    start=(
        "{+l} = [{F}, {F}, 0.5]",
        "{+l} = [0.3, {F}, {F}]",
        "{+q} = deque([{F}, {F}, 1.5], maxlen=3)",
        "{+d} = OrderedDict(a={F}, b={F})",
        "{+o} = Box({F})",
        "{+o} = Box({F})",
        "{+g} = []",
        "{+t} = iter({L})",
    ),
    expressions={"f": FLOATS},
    statements=[
        "{=f} = {f}",
        "{F} += {f}",
        "{=l} = {L}",
        "{=l} = [{f}, {f}, {f}]",
        "{=l} = {L} if {c} else {L}",
        "{=l} = list({D}.values()) + [{f}]",
        "{=l} = sorted({L}, key=lambda e: 1.0)[::-1]",
        "{L}[{i}] = {f}",
        "{L}.reverse()",
        "{L}.append({L}.pop(0))",
        "{L}.insert({j}, {f})",
        "{Q}.append({f})",
        "{Q}.appendleft({f})",
        "{Q}.rotate({j})",
        "{Q}.append({Q}.popleft() * 0.5)",
        "{D}['a'] = {f}",
        "{D}['c'] = {f}",
        "{D}.pop('c', None)",
        "{D}.move_to_end('a')",
        "{D}['b'] = {D}.pop('b')",
        "{D}.setdefault('c', {f})",
        "{=d} = OrderedDict(reversed({D}.items()))",
        "{=o} = {O}",
        "{=o} = {O} if {c} else {O}",
        "{=o} = Box({f})",
        "{O}.s = {f}",
        "{O}.s, {O}.s = {f}, {O}.s",
        "{=t} = iter({L})",
        "{=t} = several({L}, {G})",
        "{=t} = delegating({L}, {G})",
        "{=t} = itertools.cycle({L})",
        "{=t} = map(lambda e: counted(e, {G}), {L})",
        "{=t} = filter(lambda e: len({G}) % 2 == 0, {L})",
        "{=t} = (counted(e, {G}) * {F} for e in {L})",
        "{=t} = itertools.chain({T}, {L})",
        "{=t} = itertools.accumulate({L})",
        "{=t} = reversed({L})",
        "next({T}, None)",
        "{G}.append({f})",
        "for {+f} in {L}:\n    {block}",
        "for {+f} in itertools.islice({T}, 3):\n    {block}",
        "for {+f}, {+f} in zip({L}, {T}):\n    {block}",
        "for {+f} in {T}:\n    {F} += {1}\n    if {c}:\n        break\n    if len({G}) > 12:\n        break\n    {G}.append({1})",
        "for {+f} in {L}:\n    if {1} > 5.0:\n        continue\n    {F} += {1}\n    break",
        "for {+f} in range(3):\n    {L}[{i}] = {f}",
        "for {+f} in range(6):\n    {Q}.append({f})",
        "for {+f} in range(6):\n    {=f} = {f}",
        "if {c}:\n    {=f} = {f}",
        "if {c}:\n    {L}[{i}] = {f}\nelse:\n    {L}[{i}] = {f}",
        "if {c}:\n    {block}\nelse:\n    {block}",
        "if {c}:\n    {=o} = {O}",
        "if len({L}) > 2:\n    {block}",
    ],
    common=0.0,
    observed={
        "l": "weighed({x})",
        "q": "weighed({x})",
        "d": "weighed([*{x}.values(), float(len({x}))])",
        "o": "({x}.s + 0.1 * {x}.count)",
        "g": "(weighed({x}[:6]) + len({x}))",
        "t": "weighed(itertools.islice({x}, 3))",
    },
)

FAMILIES = (STATE,)
