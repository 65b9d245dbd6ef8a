"""The rooms of ``core`` import only earlier rooms, without circles, in the documented order."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[1] / "core"
GROUND = ("errors", "faults", "exclusion", "recursion")
FACE = ("api", "forward", "jacobians", "implicit", "testing", "random", "debug", "callbacks")
ORDER = ("ground", "values", "ir", "rules", "source", "passes", "emit", "eager", "specialise", "face", "compilation")
WINGS = {"eager", "specialise"}
"""Neither of them imports the other."""

MODULES = {
    ".".join(part for part in path.relative_to(CORE).with_suffix("").parts if part != "__init__"): path
    for path in sorted(CORE.rglob("*.py"))
}


def room(module: str) -> str:
    first = module.partition(".")[0]
    return "ground" if first in GROUND else "face" if first in FACE else first


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of ``core`` that a module imports, at any depth of its text; what is for type checkers alone is left out."""
    found: set[str] = set()
    path = MODULES[module]
    package = path.relative_to(CORE).parent.parts
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        waiting += ast.iter_child_nodes(node)
        if not isinstance(node, ast.ImportFrom) or not node.level or node.level > len(package) + 1:
            continue
        base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
        for alias in node.names:
            whole = ".".join((*base, alias.name))
            found.add(whole if whole in MODULES else ".".join(base))
    return frozenset(found - {module, ""})


def test_every_folder_is_a_room():
    assert {room(module) for module in MODULES} - {""} == set(ORDER)


def test_at_most_ten_files_stand_outside_of_the_rooms():
    files = {path.stem for path in CORE.glob("*.py")} - {"__init__"}
    assert files <= {*GROUND, *FACE} and len(files) <= 10


@pytest.mark.parametrize("module", [m for m in MODULES if m])
def test_a_room_imports_what_stands_before_it(module):
    own = room(module)
    before = set(ORDER[: ORDER.index(own) + 1]) - (WINGS - {own} if own in WINGS else set())
    assert not {m for m in imported(module) if room(m) not in before}


def test_nothing_is_imported_in_a_circle():
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module not in done:
            for other in imported(module):
                visit(other, (*way, module))
            done.add(module)

    for module in MODULES:
        if module:
            visit(module, ())


ROOMS = [name for name in ORDER if name not in ("ground", "face")]


def told(package: str) -> str:
    text = ast.get_docstring(ast.parse((CORE / package / "__init__.py").read_text()))
    assert text, package
    return text


@pytest.mark.parametrize("name", ROOMS)
def test_each_room_says_what_it_imports_and_where_to_add_to_it(name):
    text = " ".join(told(name).split())
    assert re.search(r"\badd\b|A new\b", text, re.IGNORECASE)
    (sentence,) = re.findall(r"This room (?:may )?imports? .*?\.", text)
    imports = {room(m) for module in MODULES if room(module) == name for m in imported(module)} - {
        name,
        "ground",
        "face",
    }
    named = set(re.findall(r"``(\w+)``", sentence.partition(", never")[0]))
    assert named == imports or "only the core's errors" in sentence and not imports or "all others" in sentence


@pytest.mark.parametrize(
    "package", ["specialise", "specialise.surface", "eager", "emit.native", "emit.xla", "passes.reverse"]
)
def test_the_files_that_a_room_lists_are_there(package):
    folder = CORE / package.replace(".", "/")
    listed = re.findall(
        r"^(?:    )?((?:\w+, )*\w+)  +\w|;  (\w+)(?:: |    )", told(package.replace(".", "/")), re.MULTILINE
    )
    names = {name for pair in listed for group in pair for name in group.split(", ") if name}
    assert len(names) > 4
    assert not {name for name in names if not (folder / name).is_dir() and not (folder / f"{name}.py").is_file()}


def test_the_documented_order_is_that_of_the_code():
    text = (CORE.parent / "docs" / "how_it_works.md").read_text()
    rows = [line.split("`")[1].rstrip("/") for line in text.splitlines() if line.startswith("| `") and "/` |" in line]
    assert rows == ROOMS
