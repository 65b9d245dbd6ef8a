"""Finds a function's syntax tree from its code object."""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import os
import sys
import sysconfig
import time
import weakref
from dis import get_instructions
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, Self

from ..errors import ENGINE, BadInput, NoDerivative
from ..exclusion import one_at_a_time
from ..values.numbers import is_of_exact
from .bytecode import definition_of
from .trees import copied, fill_locations, nodes, shift_lines

try:
    STARTED = os.stat("/proc/self").st_ctime
except OSError:  # no /proc: the time of this import is close
    STARTED = time.time()


class NoSource(BadInput):
    """The Python source of a function cannot be read."""


class InIntegers(NoSource, NoDerivative):
    """A function computes a real result in integers, so its derivative cannot be followed."""


_defined: dict[int, ast.FunctionDef] = {}  # by identity: equal code may have been made of other trees


def define(code: CodeType, tree: ast.FunctionDef) -> None:
    """Remember the syntax tree of code that was compiled from a tree, not from a file, as long as the code exists."""
    _defined[id(code)] = tree
    weakref.finalize(code, _defined.pop, id(code), None).atexit = False


def syntax_tree(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda:
    """The node that defines ``function``, with the line numbers of the user's file."""
    if is_of_exact(function):
        raise InIntegers(
            f"{describe(function)} computes in integers, which carry no derivative; compute with floats "
            "(math, numpy, scipy.special), or give it a derivative with @morula.adjoint"
        )
    code = function.__code__
    if id(code) in _defined:
        return copied(_defined[id(code)])
    lines = _lines(code.co_filename, function.__globals__)
    if not lines or code.co_firstlineno > len(lines):
        return _formula(function)
    text = "".join(lines)
    if not _is_of_now(code, text):
        raise NoSource(
            f"the file of {describe(function)} has been changed since it was imported and no longer contains the code that "
            "runs; reload the module"
        )
    if code.co_name == "<lambda>":
        # The trees of lambdas are cached, and the caller may modify its tree.
        node = _find_lambda(code, text)
        node = node and copied(node)
    else:
        node = _parse_definition(code, lines)
    if node is None:
        return _formula(function)
    if (
        not is_of_library(code.co_filename)
        and not is_compiled_from(function, node)
        and not _is_in_module(function, node, text)
    ):
        definition = definition_of(code)
        if definition is None:
            raise NoSource(
                f"the __code__ of {describe(function)} has been replaced, so its source does not show what it computes. Write "
                "a function with that code and differentiate it, or give this one a derivative with @morula.adjoint"
            )
        return definition
    return node


def _formula(function: FunctionType) -> ast.FunctionDef:
    code = function.__code__
    definition = None if code in _without_formula else definition_of(code)
    if definition is None:
        _without_formula.add(code)
        raise _no_source(function)
    return definition


_without_formula: weakref.WeakSet[CodeType] = weakref.WeakSet()
"""Code without source from which no formula can be read."""


def owner_class(function: FunctionType) -> str | None:
    """Return the innermost class whose body defines ``function``, for mangling private names."""
    parts = function.__code__.co_qualname.split(".")  # ``functools.wraps`` gives the function another name
    while len(parts) > 2 and parts[-2] == "<locals>":  # a function within a function
        parts = parts[:-2]
    return parts[-2] if len(parts) > 1 else None


def describe(function: object) -> str:
    """Return a function's name with the user's file and line, for messages."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)
    module = getattr(function, "__module__", None)
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        return f"{name} ({code.co_filename}:{code.co_firstlineno})"
    if name.startswith("<"):  # no name: all functions of cffi are called <cdata>
        name = repr(function)
    return f"{module}.{name}" if module and not name.startswith(module) else str(name)


class LikeAFunction:
    """An object that is bound and copied as functions are: as a method of an instance, and not at all."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)  # type: ignore[arg-type]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def name_of(x: object, f: object) -> str | None:
    """Return the name of ``x``, made from ``f``, in the module of ``f``, by which pickle can refer to it; else None."""
    found: Any = sys.modules.get(getattr(f, "__module__", None) or "")
    name = getattr(f, "__qualname__", "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is x else None


def user_frame() -> tuple[str, int]:
    """Return file and line of the innermost frame outside morula and libraries; of a library if there is none."""
    innermost = frame = program_frame(sys._getframe(1)) or sys._getframe(1)
    while frame is not None and is_of_library(frame.f_code.co_filename):
        frame = program_frame(frame.f_back)
    frame = frame or innermost
    return frame.f_code.co_filename, frame.f_lineno


@lru_cache(maxsize=4096)
def is_of_library(filename: str) -> bool:
    """Return whether a file belongs to Python's standard library or to an installed package."""
    return filename.startswith((*_LIBRARIES, "<frozen ")) or any(part in filename for part in _INSTALLED)


_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
"""Parts of paths of installed packages; the path may contain folders of the user or of other environments."""
_LIBRARIES = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "purelib", "platlib")})


def user_module() -> str:
    """Return the name of the module of the innermost frame outside morula."""
    return (program_frame(sys._getframe(1)) or sys._getframe(1)).f_globals.get("__name__", "")


def program_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame, from ``frame`` outwards, that is not the engine's."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith(ENGINE):
        frame = frame.f_back
    return frame


def example(name: str) -> str:
    """Return example code that defines a function's derivative, for messages."""
    name = name if all(map(str.isidentifier, name.split("."))) else "f"
    return (
        f"    @morula.adjoint({name})\n"
        "    def _(*args):\n"
        f"        return {name}(*args), lambda dy: ...  # one cotangent per argument\n"
    )


def _no_source(function: FunctionType) -> NoSource:
    return NoSource(
        f"the source of {describe(function)} is not available, so it cannot be differentiated.\n"
        "Functions typed at a prompt before Python 3.13, piped into Python, or made by exec/eval, have no source file. "
        "Only formulas can be read from bytecode. "
        "Put the function in a .py file or a notebook cell, or give it a derivative with @morula.adjoint."
    )


def _lines(filename: str, module_globals: dict[str, object]) -> list[str]:
    if filename.startswith("<frozen "):
        # Frozen modules of the standard library also have files.
        filename = str(module_globals.get("__file__") or filename)
    linecache.checkcache(filename)  # a module may have been reloaded
    lines = linecache.getlines(filename, module_globals)
    if not lines and filename == "<string>" and "-c" in sys.orig_argv:
        # `python -c PROGRAM` keeps its program on the command line.
        return sys.orig_argv[sys.orig_argv.index("-c") + 1].splitlines(keepends=True)
    return lines


def is_compiled_from(function: FunctionType, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Return whether a definition, compiled in its context, gives the code of ``function``."""
    code = function.__code__
    arguments = node.args
    bare = ast.arguments(
        *([ast.arg(a.arg) for a in found] for found in (arguments.posonlyargs, arguments.args)),
        arguments.vararg and ast.arg(arguments.vararg.arg),
        [ast.arg(a.arg) for a in arguments.kwonlyargs],
        [None for _ in arguments.kwonlyargs],
        arguments.kwarg and ast.arg(arguments.kwarg.arg),
        [],
    )
    parameters: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    inner: Any
    definition: Any
    if isinstance(node, ast.Lambda):
        definition = ast.copy_location(ast.Lambda(bare, ast.Constant(None)), node)
        inner = ast.copy_location(ast.Expr(definition), node)
    else:
        definition = inner = ast.copy_location(type(node)(node.name, bare, [], [], None, **parameters), node)
    owner = owner_class(function)
    if owner is not None:
        inner = ast.ClassDef(owner, [], [], [inner], [], **parameters)
    cells = ast.arguments([], [ast.arg(n) for n in code.co_freevars if n != "__class__"], None, [], [], None, [])
    module = ast.Module([ast.FunctionDef("factory", cells, [inner], [], None, **parameters)], [])
    fill_locations(module)
    definition.body = node.body  # which has its locations
    try:
        compiled = compile(module, code.co_filename, "exec", flags=future_flags(code), dont_inherit=True)
        for _ in range(2 if owner is None else 3):
            compiled = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    except (SyntaxError, ValueError, StopIteration):
        return False
    return _does_the_same(code, compiled)


def _does_the_same(a: CodeType, b: CodeType) -> bool:
    names = a.co_names == b.co_names and a.co_varnames == b.co_varnames
    captured = a.co_freevars == b.co_freevars and a.co_cellvars == b.co_cellvars
    if names and captured and a.co_code == b.co_code and _plain_constants(a) == _plain_constants(b):
        return True
    return _instructions(a) == _instructions(b)


def _plain_constants(code: CodeType) -> list[object]:
    return [_exactly(c) for c in code.co_consts if not isinstance(c, CodeType)]


def _is_in_module(function: FunctionType, node: ast.AST, text: str) -> bool:
    """Return whether the module contains the code of ``function``; an import hook may have compiled other text."""
    code = function.__code__
    if any(_does_the_same(code, c) for c in _code_of(text).get((code.co_firstlineno, code.co_name), ())):
        return True
    loader = function.__globals__.get("__loader__")
    get_code = getattr(loader, "get_code", None)
    if get_code is None:  # pytest's, which rewrites assertions
        return loader is not None and any(isinstance(n, ast.Assert) for n in nodes(node))
    try:
        return code in _all_code(get_code(function.__globals__.get("__name__")))
    except (ImportError, OSError, SyntaxError):
        return False


def _all_code(code: CodeType | None) -> list[CodeType]:
    if code is None:
        return []
    return [code, *(c for inner in code.co_consts if isinstance(inner, CodeType) for c in _all_code(inner))]


def future_flags(code: CodeType) -> int:
    return code.co_flags & __future__.annotations.compiler_flag


def _is_of_now(code: CodeType, text: str) -> bool:
    """Return whether a file still contains this code; a file not modified since Python started does."""
    try:
        changed = os.stat(code.co_filename).st_mtime
    except OSError:
        return True  # a notebook cell, an archive, a program from the command line
    return changed < STARTED or any(
        _does_the_same(code, c) for c in _code_of(text).get((code.co_firstlineno, code.co_name), ())
    )


def _instructions(code: CodeType) -> list[tuple[str, object]]:
    """Return the instructions for comparison, without those that depend on whether the module imports the callee."""
    return [
        ("LOAD_ATTR" if i.opname == "LOAD_METHOD" else i.opname, _exactly(i.argval))
        for i in get_instructions(code)
        if i.opname not in ("PUSH_NULL", "PRECALL") and "JUMP" not in i.opname and i.opname != "FOR_ITER"
        if not isinstance(i.argval, CodeType)
    ]


def _exactly(x: object) -> object:
    """Return a key that distinguishes a constant from equal ones of other types or signs."""
    return x if isinstance(x, (str, frozenset)) else (type(x), repr(x))


@lru_cache(maxsize=8)
def _code_of(text: str) -> dict[tuple[int, str], list[CodeType]]:
    """Return the code objects in a file, by first line and name."""
    try:
        waiting = [compile(text, "<file>", "exec", dont_inherit=True)]
    except SyntaxError:
        return {}
    found: dict[tuple[int, str], list[CodeType]] = {}
    while waiting:
        code = waiting.pop()
        found.setdefault((code.co_firstlineno, code.co_name), []).append(code)
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
    return found


def parse(text: str) -> ast.Module:
    """Call ``ast.parse`` under the lock: CPython counts the nesting depth for all threads together."""
    with one_at_a_time:
        return ast.parse(text)


def _parse_definition(code: CodeType, lines: list[str]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    first = code.co_firstlineno
    indented = lines[first - 1][:1] in " \t"
    # Wrap instead of dedenting, which would change multi-line strings.
    prefix = "if True:\n" if indented else ""
    try:
        tree = parse(prefix + "".join(_block_by_indentation(lines[first - 1 :])))
    except SyntaxError:  # a string or bracket continues at the left margin
        try:
            tree = parse(prefix + "".join(inspect.getblock(lines[first - 1 :])))
        except SyntaxError:
            return None
    node = tree.body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
        return None
    if not _takes_the_same(node.args, code):
        return None  # generated code with this file name
    shift_lines(node, first - (2 if indented else 1))
    return node


def _takes_the_same(arguments: ast.arguments, code: CodeType) -> bool:
    """Return whether a definition has the parameters of a code object; private names may be mangled."""
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    return len(names) == len(parameters) and all(n.endswith(p.arg) for n, p in zip(names, parameters))


def _block_by_indentation(lines: list[str]) -> list[str]:
    """Return the lines of a definition by indentation alone, which is faster than a tokenizer."""
    margin = len(lines[0]) - len(lines[0].lstrip())
    inside = False
    for i, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if inside and len(line) - len(line.lstrip()) <= margin and text[0] not in ")]}":
            return lines[:i]
        inside = inside or text.startswith(("def ", "async "))
    return lines


@lru_cache(maxsize=64)
def _lambdas(source: str) -> list[ast.Lambda]:
    try:
        tree = parse(source)
    except SyntaxError:
        return []
    return [node for node in nodes(tree) if isinstance(node, ast.Lambda)]


def _find_lambda(code: CodeType, source: str) -> ast.Lambda | None:
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    candidates = []
    for node in _lambdas(source):
        arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        if node.lineno == code.co_firstlineno and arguments == list(names):
            candidates.append(node)
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    spans = {p for p in code.co_positions() if None not in p and p[2] != p[3]}
    if not spans:  # Python 3.12 records no position for a returned constant
        return next((node for node in candidates if repr(_constants(node)) == repr(code.co_consts)), None)
    for node in candidates:
        body = node.body
        if (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in spans:
            return node
    starts = {(p[0], p[2]) for p in spans}
    inside = [
        node
        for node in candidates
        if all(
            (node.lineno, node.col_offset) <= start <= (node.end_lineno or 0, node.end_col_offset or 0)
            for start in starts
        )
    ]
    return min(inside, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0), default=None)


def _constants(node: ast.Lambda) -> tuple[object, ...]:
    code = compile(ast.Expression(node), "<lambda>", "eval")
    (inner,) = (c for c in code.co_consts if isinstance(c, CodeType))
    return inner.co_consts
