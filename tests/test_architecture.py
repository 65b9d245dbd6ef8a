"""The layout of the code: permitted imports, places of files, and the public names."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import morula as mo

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ode", "linalg", "optim", "physics", "ml", "symbolic", "foreign")
LIBRARY = ("core", *PACKAGES)
SOURCES = sorted(path for folder in LIBRARY for path in (ROOT / folder).rglob("*.py"))
FUNCTIONS = sorted(
    n
    for n in mo.__all__
    if n.islower() and not n.startswith("_") and n not in (*LIBRARY, "debug", "random", "testing", "tree")
)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imports(path: Path) -> list[tuple[str, tuple[str, ...], int]]:
    """Each import in a file, at any depth: the module in full (``morula.core.ir``), the names taken, the line."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, tuple[str, ...], int]]:
    package = ("morula", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, (), node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            yield module, tuple(alias.name for alias in node.names), node.lineno


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def loaded_by(program: str) -> set[str]:
    """The top-level modules that are present after a program ran in a fresh interpreter."""
    return {name.partition(".")[0] for name in modules_of(program)}


def modules_of(program: str) -> set[str]:
    """All modules that are present after a program ran in a fresh interpreter."""
    program += "\nimport sys; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


# ---- who may import what


@pytest.mark.parametrize("path", [p for p in SOURCES if p.is_relative_to(ROOT / "core")], ids=relative)
def test_core_imports_no_package_above_it(path):
    above = [
        f"line {line}: {module} {' '.join(names)}"
        for module, names, line in imports(path)
        if inside(module, "morula") and not inside(module, "morula.core")
    ]
    assert not above


@pytest.mark.parametrize("path", [p for p in SOURCES if not p.is_relative_to(ROOT / "core")], ids=relative)
def test_packages_import_core_by_its_public_names_only(path):
    for module, names, line in imports(path):
        assert not inside(module, "morula") or module != "morula", f"line {line} imports the face"
        assert not module.startswith("morula.core."), f"line {line} reaches into {module}"
        if module == "morula.core":
            private = set(names) - set(mo.core.__all__)
            assert not private, f"line {line} takes {sorted(private)}, which morula.core does not make public"


@pytest.mark.parametrize(
    "library, homes",
    [
        ("jax", ("core/emit/xla/", "foreign/jax_functions.py")),
        ("llvmlite", "core/emit/native/"),
        ("cupy", "core/emit/cuda.py"),
        ("sympy", "symbolic/"),
        ("torch", "foreign/torch_functions.py"),
    ],
)
def test_each_optional_library_is_imported_where_it_belongs(library, homes):
    importers = {relative(path) for path in SOURCES if any(inside(module, library) for module, _, _ in imports(path))}
    assert all(path.startswith(homes) for path in importers)


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_imports_what_morula_installs_and_optional_libraries_alone(path):
    allowed = {
        "morula",
        "numpy",
        "scipy",
        "tqdm",
        "jax",
        "jaxlib",
        "llvmlite",
        "cupy",
        "sympy",
        "torch",
        "matplotlib",
        "pandas",
        *sys.stdlib_module_names,
    }
    strangers = [
        f"line {line}: {module}" for module, _, line in imports(path) if module.partition(".")[0] not in allowed
    ]
    assert not strangers


def test_importing_morula_loads_nothing_but_itself_numpy_and_the_standard_library():
    strangers = loaded_by("import morula") - loaded_by("import numpy") - sys.stdlib_module_names
    assert strangers == {"morula"}


def test_a_gradient_needs_no_optional_library():
    program = "import morula, math\nmorula.gradient(math.sin, 1.0)"
    assert not loaded_by(program) & {"jax", "llvmlite", "cupy", "sympy", "matplotlib", "optree", "tqdm", "torch"}


def test_importing_the_solvers_of_differential_equations_loads_no_compiler():
    found = modules_of("import morula.ode")
    assert not [name for name in found if name.startswith(("morula.core.specialise", "morula.core.emit.native"))]
    assert "tqdm" not in found


# ---- one tester of differences


def is_difference_quotient(node: ast.AST) -> bool:
    """Whether an expression is the difference of two calls of one function, divided by something small or by 2 h."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.left, ast.BinOp)):
        return False
    calls, step = (node.left.left, node.left.right), node.right
    if not isinstance(node.left.op, ast.Sub) or not all(isinstance(call, ast.Call) for call in calls):
        return False
    is_step = isinstance(step, ast.BinOp) or isinstance(step, ast.Constant) and abs(step.value) < 0.1
    return is_step and len({ast.dump(call.func) for call in calls if isinstance(call, ast.Call)}) == 1


@pytest.mark.parametrize("folder", [*LIBRARY, "tests", "benchmarks"])
def test_derivatives_by_differences_are_computed_in_one_file(folder):
    found = [
        f"{relative(path)}:{node.lineno}"  # type: ignore[attr-defined]
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if is_difference_quotient(node)
    ]
    assert not found, "use ridders or numerical_vjp of core/testing/differences.py"


# ---- where files stand


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_is_one_idea(path):
    assert len(path.read_text().splitlines()) <= 500


def test_no_file_is_named_for_what_has_no_name():
    vague = {"utils", "util", "helpers", "helper", "misc", "common", "stuff"}
    folders = (*LIBRARY, "src", "tests", "examples", "paper", "benchmarks", "docs")
    named = [p for folder in folders for p in (ROOT / folder).rglob("*") if p.stem.strip("_") in vague]
    assert not named


@pytest.mark.parametrize("package", LIBRARY)
def test_the_checkout_links_to_the_real_folder(package):
    link = ROOT / "src" / "morula" / package
    assert link.is_symlink() and os.readlink(link) == f"../../{package}"
    assert (ROOT / package / "__init__.py").is_file()


def test_wheel_and_sdist_hold_every_package():
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    wheel, sdist = (set(targets[kind]["only-include"]) for kind in ("wheel", "sdist"))
    faces = {relative(p) for p in (ROOT / "src" / "morula").iterdir() if p.suffix in {".py", ".typed"}}
    assert wheel == faces | set(LIBRARY)
    assert wheel < sdist
    assert targets["wheel"]["sources"] == {"src/morula": "morula"} | {p: f"morula/{p}" for p in LIBRARY}


# ---- the public face


def test_every_public_name_resolves():
    assert all(getattr(mo, name) is not None for name in mo.__all__)
    assert set(mo.__all__) <= set(dir(mo))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'morula' has no attribute 'gradeint'"):
        mo.gradeint  # noqa: B018


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_is_documented_with_an_example_and_typed(name):
    function = getattr(mo, name)
    assert ">>> " in (inspect.getdoc(function) or ""), "no example in the docstring"
    signature = inspect.signature(function)
    bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    assert not bare, f"without a type: {bare}"
    assert signature.return_annotation is not signature.empty, "the result has no type"


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_makes_public_is_documented(package):
    module = getattr(mo, package)
    assert module.__doc__
    undocumented = [n for n in module.__all__ if callable(getattr(module, n)) and not getattr(module, n).__doc__]
    assert not undocumented


def test_one_error_tree():
    for error in (mo.BadInput, mo.NoDerivative):
        assert issubclass(error, mo.MorulaError)
