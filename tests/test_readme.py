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
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

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
    for number, program in enumerate(programs(page)):
        run_as_read(program, tmp_path / f"block_{number}.py", vars(page_module))


def test_the_readme_shows_the_power_program_exactly():
    assert any(POW in program for program in programs(ROOT / "README.md"))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_links_on_a_page_lead_somewhere(page):
    prose = re.sub(CODE, "", page.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose)
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


def test_the_commands_in_the_readme_are_targets_of_the_makefile():
    code = re.findall(CODE, (ROOT / "README.md").read_text(), flags=re.DOTALL)
    commands = set(re.findall(r"\bmake ([a-z]+)\b", " ".join(code)))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test"} <= commands <= targets
