"""The README and the docs are correct: programs run as written, links and commands exist."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = r"```.*?```|`[^`\n]+`"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("core", "ode", "linalg", "optim", "physics", "ml", "symbolic", "foreign")
FOLDERS += ("tests", "examples", "paper", "benchmarks", "docs", "src")
FILES = {p.relative_to(ROOT).as_posix() for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.is_file()}

POW = """\
def pow(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r

pow(5, 3) == 125
mo.gradient(pow, 5, 3) == (75, 0)
"""


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def programs(page: Path) -> list[str]:
    """The page's Python blocks, in order; each keeps its line numbers, so that an error names the page's own line."""
    text = page.read_text()
    blocks = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return ["\n" * text[: block.start(1)].count("\n") + block[1] for block in blocks]


def run_as_read(program: str, file: Path, namespace: dict[str, object]) -> None:
    """Run a program from a file; a comparison that stands alone, also within ``and`` or ``not``, is a claim and has to be true."""
    file.write_text(program)
    for statement in ast.parse(program).body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            claim = compile(ast.Expression(statement.value), str(file), "eval", dont_inherit=True)
            assert eval(claim, namespace), f"line {statement.lineno} is not true: {ast.unparse(statement)}"
        else:
            exec(compile(ast.Module([statement], []), str(file), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_programs_on_a_page_run_as_written(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page_module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page_module)
    blocks = programs(page)
    if any("import torch" in program for program in blocks):
        pytest.importorskip("torch")
    for number, program in enumerate(blocks):
        run_as_read(program, tmp_path / f"block_{number}.py", vars(page_module))


def test_the_readme_shows_the_power_program_exactly():
    assert any(POW in program for program in programs(ROOT / "README.md"))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_links_on_a_page_lead_somewhere(page):
    prose = re.sub(CODE, "", page.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose)
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_commands_on_a_page_are_targets_of_the_makefile(page):
    code = re.findall(CODE, page.read_text(), flags=re.DOTALL)
    commands = set(re.findall(r"\bmake ([a-z-]+)\b", " ".join(code)))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert commands <= targets


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "coverage.md"], ids=page_name)
def test_the_files_that_a_page_names_exist(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    named = re.findall(r"`([\w./]+(?:\.(?:py|md|svg|txt)|/))`", prose)
    missing = [
        n for n in named if not any(f"/{f}".endswith(f"/{n}") or f"/{n}" in f"/{f}" and n[-1] == "/" for f in FILES)
    ]
    assert not [n for n in missing if not (ROOT / n).exists()]


def test_the_code_quoted_in_contributing_stands_in_the_file_named_before_it():
    quoted, named = 0, ""
    for paragraph in (ROOT / "CONTRIBUTING.md").read_text().split("\n\n"):
        if not paragraph.startswith("    "):
            named = ([*re.findall(r"`((?:core|tests)/[\w./]+\.py|\w+\.py)`", paragraph)] or [named])[-1]
            continue
        (file,) = [f for f in FILES if f == named or f.endswith(f"surface/{named}")]
        text = " ".join((ROOT / file).read_text().split())
        for part in " ".join(paragraph.split()).split("..."):
            assert part.strip(" ") in text, f"{part!r} is not in {file}"
        quoted += 1
    assert quoted >= 5
