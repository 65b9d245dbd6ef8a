"""Texts of traced numbers as values: stored, returned, compared, cut, joined, and converted back to numbers."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest
from path_tester import check_gradient, check_value, run_on

import morula as mo


class Named:
    def __init__(self, x):
        self.name = f"{type(self).__name__} of {x:.2f}"
        self.x = 2 * x


def formats(x):
    n, z = int(x), np.zeros(()) + x
    numbers = f"{x} {x!r} {x:.3f} {x:>9.2e} {x:,.1f} {x:%} {n} {n:5d} {n:c} {n:,} {x > 1} {x > 1:d} {complex(x, 1)}"
    return numbers, f"{np.float32(x)!r} {np.float64(x)!r} {z} {z!r} {[np.float64(x)]}", f"{f'{x:.1f}'!r:>8} {f'{x}'!a}"


def stored(x):
    held = Named(x)
    texts = {"a": [f"{x}"], "b": ("%5.2f" % x, repr(x))}
    return held.name, held.x, copy.deepcopy(texts), dict(texts), [f"{k}: {k * x:.1f}" for k in range(3)]


def methods(x):
    s = f" <{x:.3f}> "
    texts = s.strip(), s.replace("<", "["), s.upper(), s[2:-2], s[0], s[-3], s * 2, 2 * s, s.zfill(20), s + "!", "!" + s
    tests = s.startswith(" <1"), s.endswith((">", "> ")), "1" in s, ">" in s, s.isdigit(), str.isspace(s)
    counts = len(s), s.find("."), s.count("1"), s.rfind("0", 2), s.index(".")
    parts = s.partition("."), s.strip().rpartition("2"), "; ".join([s, "a"]), s.join(["a", "b"])
    return texts, tests, counts, parts, "a1.2b".replace(f"{x:.1f}", "x"), "abc".startswith(s)


def compared(x):
    s = f"{x:.3f}"
    same = s == "1.500", s != "1.500", s == f"{x:.2f}", s == "a", s == 3, s is None, s == s
    return same, (s < "2", s >= "1.5"), (s in ("1.500", "a"), s in ["x"], s in {"1.500": 1, 2: 3}), min(s, "1.6")


def kinds(x):
    s = f"{x}"
    return isinstance(s, str), type(s) is str, s.__class__ is str, callable(s), hasattr(s, "strip"), bool(s), not s


def on_two_paths(x):
    if x > 1:
        s = f"large {x}"
    elif x > 0:
        s = f"small {x:.1f} {2 * x}"
    else:
        s = "none"
    return s, s + "!", len(s), s == "none"


def in_parts(x):
    line = f"{x:.1f}:"
    for k in range(12):
        if k * x > 2 + k:
            line += f" {k}={k * x:.1f}"
        else:
            line += " -"
    name = "none" if x > 2 else "one" if x > 1 else f"{x}"
    return line, name, f"<{name if x > 0 else line}>", name.upper() == "ONE", len(line)


def as_one_of_two_strings(x):
    name = "positive" if x > 0 else "negative"
    return name, f"{name}: {x}", x * 2 if name == "positive" else x * 3


def in_a_loop(x):
    s, n = "", 0
    while x < 20:
        x = x * 2
        s = f"{x:.1f}"
        n += 1
    return s, n


def in_a_list(x):
    found = []
    for k in range(5):
        if k * x > 2:
            found.append(f"{k * x:.2f}")
    return found


def of_an_array(x):
    before = f"{x}"
    x[0] = 7.0
    return before, f"{x}", x


def numbers(x):
    return float("%.1f" % x), float(f"{x:.18f}"), float(str(x)), int("%d" % x), int(f"{x:.0f}"), int(f"{x:.1f}"[0], 16)


class Mark(str):
    """A string that joins what it is called with."""

    def __call__(self, *args):
        return str.join(self, map(str, args))


def of_strings_of_a_class(x):
    s, mark = f"{x:.2f}", Mark(".")
    sides = s.find(mark), s.startswith(mark), s == Mark("1.50"), mark in s, mark == s, s.replace(mark, ","), s + mark
    return sides, mark(s, 1, x), mark.join([s, "a"]), str.__mod__(Mark("<%s>"), s), Mark("%s|%.1f") % (s, x)


def wrapped(text, width, lead="> "):
    out = line = lead
    for word in text.split():
        if len(line) + len(word) > int(width):
            out += line.strip() + "\n"
            line = lead
        line += word + " "
    return out + line


def digits(text):
    found = 0
    for c in text:
        if c.isdigit():
            found += 1
    return found


def whole(text):
    found = 0
    for word in text.split():
        found += int(word)
    return found


def of_functions(x):
    return (
        wrapped(f"a text of {x:.3f} and {2 * x} in lines", 16),
        digits(f"{x}"),
        wrapped("known", 9),
        whole(f"{x:.0f} 2"),
    )


def doubled(text, x):
    for c in text:
        if c == ".":
            x = 2 * x
    return x


def no_numbers(x):
    try:
        return float(f"{x} m")
    except ValueError as error:
        return str(error)


def out_of_range(x):
    s = f"{x:.3f}"
    try:
        return s[7]
    except IndexError as error:
        return str(error)


VALUES = [
    formats,
    stored,
    methods,
    compared,
    kinds,
    on_two_paths,
    in_parts,
    as_one_of_two_strings,
    in_a_list,
    numbers,
    of_strings_of_a_class,
    of_functions,
]


@pytest.mark.parametrize("x", [1.5, 0.25, 23456.0])
@pytest.mark.parametrize("f", [*VALUES, no_numbers, out_of_range], ids=lambda f: f.__name__)
def test_values(path, f, x):
    check_value(path, f, x)


def test_a_loop_makes_a_text(path):
    check_value(path, in_a_loop, 1.5)


def test_an_array_may_change_after_its_text(path):
    check_value(path, of_an_array, np.array([1.5, 2.0]))


def rounded(x, y):
    """A number that is read from a text is a new number: the derivative is zero along it."""
    shown = float(f"{x:.6f}")
    if f"{y:.1f}" == "2.5":
        shown = shown + x
    return shown * y + x * x


def test_a_text_passes_no_derivative(path):
    x, y = 1.5, 2.5
    assert run_on(path)(mo.grad(rounded, argnums=(0, 1)))(x, y) == (y + 2 * x, 3.0)
    assert run_on(path)(mo.grad(rounded, argnums=(0, 1)))(x, 2.0) == (2 * x, 1.5)


def doubled_until_large(x, label):
    if x > 10:
        return label, x
    return doubled_until_large(x * 2, f"{x}")


def test_a_recursive_function_is_given_a_text():
    check_value("native", doubled_until_large, 1.5, "")


def in_a_differentiated_function(x):
    y, back = mo.pullback(lambda x: (x * x, {"name": f"x={x:.2f}"}), x)
    return y, back((1.0, None))


def rounded_sum(xs):
    found = 0.0
    for i in range(len(xs)):
        found = found + float(f"{xs[i]:.1f}") * xs[i]
    return found


def test_texts_within_derivatives(target):
    run = run_on(target)
    assert run(in_a_differentiated_function)(1.5) == ((2.25, {"name": "x=1.50"}), (3.0,))
    assert run(mo.value_and_grad(stored_beside, has_aux=True))(1.5) == ((2.25, ["1.5", 1.5]), 3.0)
    assert run(pushed)(1.5) == mo.jvp(rounded, (1.5, 2.0), (1.0, 0.0))
    xs = np.linspace(0.0, 1.0, 50)
    assert run(mo.grad(rounded_sum))(xs).tolist() == [float(f"{x:.1f}") for x in xs]


def stored_beside(x):
    return x * x, [f"{x}", x]


def pushed(x):
    return mo.jvp(rounded, (x, 2.0), (1.0, 0.0))


def labelled(x):
    held = Named(x * x)
    if "of 2." in held.name:
        return held.x
    return held.x * x


@pytest.mark.parametrize("x", [1.5, 0.7])
def test_a_condition_on_a_text(path, x):
    check_gradient(path, labelled, x)


def told(x):
    print(f"{x:.2f}", file=sys.stderr)
    count = sys.stderr.write(f"{x}\n") + sys.stdout.write("abc\n")
    print("a", x, sep=",", end="!\n", flush=True)
    sys.stdout.flush()
    print("positive" if x > 0 else "negative", [x], {"a": x})
    return count


def test_print_and_write(path, capfd):
    found = run_on(path)(told)(1.5)
    out, err = capfd.readouterr()
    assert (found, out, err) == (8, "abc\na,1.5!\npositive [1.5] {'a': 1.5}\n", "1.50\n1.5\n")


def fails(x):
    raise KeyError(f"{x:.3f}".strip("1") + "abc")


def test_a_made_text_is_a_message(path):
    with pytest.raises(KeyError, match=r"'.500abc'"):
        run_on(path)(fails)(1.5)


def misread(x):
    print("before")
    unused = whole(f"{x:.0f} 2")
    print("after")
    return x


def miswrapped(x):
    print("before")
    unused = wrapped("a text", f"{x:.0f}")
    print("after")
    return x


@pytest.mark.parametrize("f", [misread, miswrapped])
def test_a_function_of_texts_raises_where_it_is_called(path, f, capfd):
    with pytest.raises(ValueError, match="invalid literal for int.. with base 10: 'nan'"):
        run_on(path)(f)(float("nan"))
    assert capfd.readouterr().out == "before\n"


def lines_of(text):
    found = []
    for word in text.split():
        found.append(word)
    return found if len(found) > 1 else text


def of_two_kinds(x):
    return lines_of(f"{x} {x}")


def keyed(x):
    return {f"{x}": 1.0}


def iterated(x):
    return [c for c in f"{x}"]


def encoded(x):
    return f"{x}".encode()


def written(x, file):
    print(x, file=file)
    return x


@pytest.mark.parametrize(
    "f, args, text",
    [
        (keyed, (1.5,), "cannot be a dict key or set element; use a key that is known"),
        (iterated, (1.5,), "cannot be used here; compiled code can print it.*; decide by the numbers"),
        (of_two_kinds, (1.5,), "parts of a text of numbers .* can only be indexed, measured, unpacked"),
        (lambda x: doubled(f"{x}", x), (1.5,), "cannot be used here"),  # its derivative is not that of a text
        (encoded, (1.5,), "str.encode of a text of numbers .* cannot be compiled; decide by the numbers"),
        (
            written,
            (1.5, sys.__stdin__),
            "print to a file other than sys.stdout and sys.stderr cannot be compiled; return the text",
        ),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_is_refused(target, f, args, text):
    with pytest.raises(mo.BadInput, match=text):
        mo.jit(f, target=target)(*args)
