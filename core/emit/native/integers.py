"""Integer arithmetic as in NumPy where LLVM's is undefined: division by zero, INT_MIN // -1, long shifts.

Division rounds down; x // 0 and x % 0 are 0. A shift by the width or more gives 0, or -1 for a negative number shifted
right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .assembly import Code
from .elements import number, register


def _divisor(code: Code, b: str, dtype: np.dtype) -> tuple[str, str, str]:
    """Return a divisor that is safe to divide by, and registers that tell whether the original one is 0 or -1."""
    known = number(b, dtype)
    if known not in (None, 0, -1):
        return b, "false", "false"
    kind = register(dtype)
    zero = code.value(f"icmp eq {kind} {b}, 0")
    if dtype.kind == "u":
        return code.value(f"select i1 {zero}, {kind} 1, {kind} {b}"), zero, "false"
    minus_one = code.value(f"icmp eq {kind} {b}, -1")
    bad = code.value(f"or i1 {zero}, {minus_one}")
    return code.value(f"select i1 {bad}, {kind} 1, {kind} {b}"), zero, minus_one


def _select(code: Code, condition: str, kind: str, x: str, y: str) -> str:
    return y if condition == "false" else code.value(f"select i1 {condition}, {kind} {x}, {kind} {y}")


def _rounds_down(code: Code, kind: str, remainder: str, divisor: str) -> str:
    """Return a register that tells whether a quotient rounded towards zero is one larger than one rounded down."""
    inexact = code.value(f"icmp ne {kind} {remainder}, 0")
    signs = code.value(f"xor {kind} {remainder}, {divisor}")
    differ = code.value(f"icmp slt {kind} {signs}, 0")
    return code.value(f"and i1 {inexact}, {differ}")


def floor_divide(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    kind = register(dtype)
    safe, zero, minus_one = _divisor(code, b, dtype)
    if dtype.kind == "u":
        return _select(code, zero, kind, "0", code.value(f"udiv {kind} {a}, {safe}"))
    quotient = code.value(f"sdiv {kind} {a}, {safe}")
    lower = _rounds_down(code, kind, code.value(f"srem {kind} {a}, {safe}"), safe)
    quotient = code.value(f"add {kind} {quotient}, {code.value(f'sext i1 {lower} to {kind}')}")
    if minus_one != "false":
        quotient = _select(code, minus_one, kind, code.value(f"sub {kind} 0, {a}"), quotient)
    return _select(code, zero, kind, "0", quotient)


def remainder(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    kind = register(dtype)
    safe, zero, minus_one = _divisor(code, b, dtype)
    if dtype.kind == "u":
        return _select(code, zero, kind, "0", code.value(f"urem {kind} {a}, {safe}"))
    rest = code.value(f"srem {kind} {a}, {safe}")
    lower = _rounds_down(code, kind, rest, safe)
    rest = code.value(f"add {kind} {rest}, {_select(code, lower, kind, safe, '0')}")
    return _select(code, zero, kind, "0", _select(code, minus_one, kind, "0", rest))


def fmod(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    """Emit the remainder with the sign of a."""
    kind = register(dtype)
    safe, zero, minus_one = _divisor(code, b, dtype)
    rest = code.value(f"{'urem' if dtype.kind == 'u' else 'srem'} {kind} {a}, {safe}")
    return _select(code, zero, kind, "0", _select(code, minus_one, kind, "0", rest))


def shift(instruction: str) -> Callable[[Code, np.dtype, str, str], str]:
    """Return an emitter of the shift ``shl`` or ``ashr``; the latter becomes ``lshr`` for unsigned numbers."""

    def emit(code: Code, dtype: np.dtype, a: str, b: str) -> str:
        kind, bits = register(dtype), 8 * dtype.itemsize
        name = "lshr" if instruction == "ashr" and dtype.kind == "u" else instruction
        inside = code.value(f"icmp ult {kind} {b}, {bits}")
        if name == "ashr":
            count = code.value(f"select i1 {inside}, {kind} {b}, {kind} {bits - 1}")
            return code.value(f"ashr {kind} {a}, {count}")
        count = code.value(f"select i1 {inside}, {kind} {b}, {kind} 0")
        return code.value(f"select i1 {inside}, {kind} {code.value(f'{name} {kind} {a}, {count}')}, {kind} 0")

    return emit


def _routine(code: Code, name: str, kind: str, text: str, result: str = "") -> str:
    """Return the name of a function of two integers, written once in the module."""
    full = f"morula.{name}.{kind}"
    header = f"define internal {result or kind} @{full}({kind} %a, {kind} %b) nounwind memory(none) {{"
    if not any(f.startswith(header) for f in code.module.functions):
        code.module.functions.append(f"{header}\n{text.replace('KIND', kind)}}}\n")
    return full


_POWER = """start:
  br label %loop
loop:
  %r = phi KIND [ 1, %start ], [ %r1, %loop ]
  %x = phi KIND [ %a, %start ], [ %x1, %loop ]
  %n = phi KIND [ %b, %start ], [ %n1, %loop ]
  %odd = trunc KIND %n to i1
  %f = select i1 %odd, KIND %x, KIND 1
  %r1 = mul KIND %r, %f
  %x1 = mul KIND %x, %x
  %n1 = lshr KIND %n, 1
  %again = icmp ne KIND %n1, 0
  br i1 %again, label %loop, label %done
done:
  ret KIND %r1
"""

_POWER_OVERFLOWS = """start:
  br label %loop
loop:
  %r = phi KIND [ 1, %start ], [ %r1, %loop ]
  %x = phi KIND [ %a, %start ], [ %x1, %loop ]
  %n = phi KIND [ %b, %start ], [ %n1, %loop ]
  %bad = phi i1 [ false, %start ], [ %bad1, %loop ]
  %large = phi i1 [ false, %start ], [ %large1, %loop ]
  %odd = trunc KIND %n to i1
  %f = select i1 %odd, KIND %x, KIND 1
  %product = call { KIND, i1 } @llvm.smul.with.overflow.KIND(KIND %r, KIND %f)
  %r1 = extractvalue { KIND, i1 } %product, 0
  %over = extractvalue { KIND, i1 } %product, 1
  %used = and i1 %odd, %large
  %now = or i1 %over, %used
  %bad1 = or i1 %bad, %now
  %square = call { KIND, i1 } @llvm.smul.with.overflow.KIND(KIND %x, KIND %x)
  %x1 = extractvalue { KIND, i1 } %square, 0
  %larger = extractvalue { KIND, i1 } %square, 1
  %large1 = or i1 %large, %larger
  %n1 = lshr KIND %n, 1
  %again = icmp ne KIND %n1, 0
  br i1 %again, label %loop, label %done
done:
  ret i1 %bad1
"""

_GCD = """start:
  br label %loop
loop:
  %x = phi KIND [ %a, %start ], [ %y, %step ]
  %y = phi KIND [ %b, %start ], [ %r, %step ]
  %again = icmp ne KIND %y, 0
  br i1 %again, label %step, label %done
step:
  %r = urem KIND %x, %y
  br label %loop
done:
  ret KIND %x
"""


def power(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    """Emit a power by repeated squaring; specialisation refuses negative exponents, as NumPy does."""
    kind, exponent = register(dtype), number(b, dtype)
    if exponent in (1, 2):
        return a if exponent == 1 else code.value(f"mul {kind} {a}, {a}")
    return code.value(f"call {kind} @{_routine(code, 'power', kind, _POWER)}({kind} {a}, {kind} {b})")


_INTRINSICS = {np.add: "sadd", np.subtract: "ssub", np.multiply: "smul"}


def overflows(code: Code, function: np.ufunc, a: str, b: str) -> str:
    """Return a register that tells whether the result for two int64 is out of their range."""
    if function is np.power:
        code.module.declare("llvm.smul.with.overflow.i64", "{ i64, i1 }", ["i64", "i64"])
        routine = _routine(code, "power.overflows", "i64", _POWER_OVERFLOWS, "i1")
        return code.value(f"call i1 @{routine}(i64 {a}, i64 {b})")
    both = code.call(f"llvm.{_INTRINSICS[function]}.with.overflow.i64", "{ i64, i1 }", [("i64", a), ("i64", b)])
    return code.value(f"extractvalue {{ i64, i1 }} {both}, 1")


def absolute(code: Code, dtype: np.dtype, a: str) -> str:
    if dtype.kind == "u":
        return a
    kind = register(dtype)
    return code.call(f"llvm.abs.{kind}", kind, [(kind, a), ("i1", "false")])


def gcd(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    kind = register(dtype)
    a, b = absolute(code, dtype, a), absolute(code, dtype, b)
    return code.value(f"call {kind} @{_routine(code, 'gcd', kind, _GCD)}({kind} {a}, {kind} {b})")


def lcm(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    kind = register(dtype)
    divisor = gcd(code, dtype, a, b)
    a, b = absolute(code, dtype, a), absolute(code, dtype, b)
    empty = code.value(f"icmp eq {kind} {divisor}, 0")
    safe = code.value(f"select i1 {empty}, {kind} 1, {kind} {divisor}")
    return code.value(f"mul {kind} {code.value(f'udiv {kind} {a}, {safe}')}, {b}")


def sign(code: Code, dtype: np.dtype, a: str) -> str:
    kind = register(dtype)
    positive = code.value(f"icmp {'ne' if dtype.kind == 'u' else 'sgt'} {kind} {a}, 0")
    up = code.value(f"zext i1 {positive} to {kind}")
    if dtype.kind == "u":
        return up
    down = code.value(f"sext i1 {code.value(f'icmp slt {kind} {a}, 0')} to {kind}")
    return code.value(f"or {kind} {up}, {down}")
