"""Derivatives inside programs, at ints and floats: ``grad`` in ``grad``, Hessians, closures over outer variables."""

from __future__ import annotations

from ..grammar import Family

NESTED = Family(
    "nested",
    prelude="""\
def cube(x):
    return x**3 - 2 * x


def steps(x, n=3):
    y = x
    for _ in range(n):
        y = y * x + 1
    return y


def choose(x):
    if x > 0:
        return x * x
    return 3 * x

""",
    settings=["DUALS = True"],
    leaves=("f", "n", "f", "n"),
    base=False,
    expressions={
        "f": [
            "({f} + {f})",
            "({f} - {f})",
            "{f} * {f}",
            "{n} * {f}",
            "{n}",
            "math.sin({f})",
            "np.tanh({f})",
            "({f} if {c} else {f})",
            "mo.grad(cube)({f})",
            "mo.grad(cube)({n})",
            "mo.grad(steps)({n})",
            "mo.grad(choose)({n})",
            "mo.grad(mo.grad(cube))({f})",
            "mo.grad(mo.grad(cube))({n})",
            "mo.grad(lambda y: y * y * {f})({n})",
            "mo.grad(lambda y: {f} * math.sin(y))({f})",
            "mo.grad(lambda y: {n} * y ** 3)(1)",
            "mo.grad(lambda y: y * mo.grad(lambda z: z * y * {n})(2))({n})",
            "mo.grad(lambda y: y * mo.grad(lambda z: z * z * y * {f})({f}))(1.5)",
            "mo.gradient(lambda y, z: y * z * {f}, {n}, {f})[{j}]",
            "mo.value_and_grad(cube)({n})[{j}]",
            "mo.hessian(cube)({n})",
            "mo.hessian(lambda y: y ** 4 * {f})({f})",
            "mo.pullback(lambda y: y ** 2 * {n}, {n})[1]({f})[0]",
            "mo.pullback(cube, {f})[0]",
            "mo.checkpoint(cube, {f})",
            "mo.checkpoint(lambda y: y * {f}, {n})",
            "mo.forwarddiff(cube, {f})",
            "functools.reduce(lambda p, q: p * q, [{f}, {n}, {f}])",
            "sum([{f}, {n}, {f}])",
            "pow({f}, 2)",
        ],
        "n": ["1", "2", "{N}", "({N} + 1)", "({N} * {N})", "({n} - 3)", "-{N}", "({N} ** 2)"],
    },
    statements=[
        "{=f} = {f}",
        "{=f} = math.sin({f})",
        "{=n} = {n}",
        "{=f}, {=n} = {f}, {n}",
        "if {c}:\n    {block}",
        "for {+n} in range(2):\n    {block}",
        "{F} += np.tanh({f})",
        "{+y} = mo.grad(lambda y, s={f}: y * y * s + {f} * y)\n{=f} = np.tanh({1}({f}))\n{=f} = np.tanh({1}({n}))",
        "def {+y}(y, w={f}):\n    if y > 0.3:\n        return y ** 3 * w\n    return y * y * {f}\n{=f} = math.sin(mo.grad({1})({f}))",
        "{+y} = [{f}, {n}]\n{=f} = np.tanh(mo.grad(lambda q: q[0] * q[0] * q[1] + q[1])({1})[0])",
        "{+y} = mo.gradient(lambda y, z: y ** 2 * z ** 2, {n}, {n})\n{=f} = np.tanh(0.1 * {1}[0] - 0.2 * {1}[1])",
    ],
    common=0.0,
    observed={"f": "math.sin({x})", "n": "{x}"},
    length=(1, 4),
)

FAMILIES = (NESTED,)
