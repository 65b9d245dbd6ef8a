"""``sparse_jacobian`` and ``sparse_hessian``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...api import Transformed, is_integer, positions
from ...eager.recorded.tape import Tape
from ...errors import BadInput, MorulaError
from ...faults import kind_of, prune
from ...passes.dependence import Dependence, NotSparse, dependence
from ...source.definitions import describe
from ...source.requirements import check_function
from ...values.attributes import public_names
from ...values.numbers import call_on
from .. import targets
from ..compiled import Checks, Compilation
from ..jitted import Jitted
from ..recent import Recent
from ..recompilation import History
from . import programs
from .plans import Plan, plan_of, plan_of_symmetric, seeds_of
from .traced import traced

Function = Callable[..., Any]
MODES = ("auto", "forward", "reverse")
FULL, SMALL = 0.5, 16
"""A matrix with more than this part of its entries is not sparse, unless it has no more rows or columns than ``SMALL``."""
MOST_KEPT = 16
"""The most patterns that are kept for arguments of one signature."""


def sparse_jacobian(f: Function, argnums: int = 0, mode: str = "auto", target: str = "auto") -> Function:
    """Return a function that computes the Jacobian of ``f`` with respect to one argument as a sparse matrix.

    The entries that may be different from zero are found from the program of ``f``, for all numbers that the argument may hold. A
    colouring groups columns (or rows) that have no such entry in common; each group costs one run of forward (or reverse) mode, and
    all run in one compiled program. Pattern and colouring are kept, and used again for arguments of the same types.

    Args:
        f: returns an array of real floats, of any shape, a number, or a structure of these (a dict, an object). It must be compilable,
            as for ``jit``.
        argnums: the position of the argument, an array of real floats of any shape, or a structure of such arrays and of floats, in which
            all else is constant. All other arguments are constants.
        mode: "forward" computes groups of columns, "reverse" groups of rows, "auto" what costs least, which may be both: the full rows of an
            arrow-shaped matrix by reverse mode, all others by forward mode.
        target: "native", "xla" or "auto", as for ``jit``.

    Returns:
        A function of the arguments of ``f`` that returns a ``scipy.sparse.csr_array`` of shape (size of the result, size of the argument),
        with the numbers of a structure in the order of ``tree.leaves``, whose stored entries are those that may be different from zero. The index arrays of all these matrices are the same ones, and cannot be
        written to: ``eliminate_zeros`` needs a ``copy``. The function's ``pattern(*args)`` returns the entries as a matrix of bools, and
        ``explain(*args)`` prints how they are computed.

    Raises:
        BadInput: options of the wrong kind; when called: the argument is no array of real floats, the result is not one either, ``f``
            cannot be compiled, or the Jacobian is not sparse.

    Sources: A. R. Curtis, M. J. D. Powell and J. K. Reid, "On the estimation of sparse Jacobian matrices", J. Inst. Maths Applics 13 (1974);
    A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition, SIAM 2008, chapters 7 and 8.

    >>> J = sparse_jacobian(lambda x: x[1:] - x[:-1] ** 2)(np.array([1.0, 2.0, 3.0]))
    >>> J.toarray().tolist()
    [[-2.0, 1.0, 0.0], [0.0, -4.0, 1.0]]
    """
    return _made(sparse_jacobian, f, argnums, mode, target)


def sparse_hessian(f: Function, argnums: int = 0, target: str = "auto") -> Function:
    """Return a function that computes the Hessian of the real scalar ``f`` with respect to one argument as a sparse matrix.

    The pattern holds the pairs of elements that the program of ``f`` combines in a function that is not linear. A star colouring, which uses
    the symmetry, groups columns; each group costs one product of the Hessian with a vector, by forward over reverse mode. Pattern and
    colouring are kept, and used again for arguments of the same types.

    Args:
        f: returns a real number. It must be compilable, as for ``jit``.
        argnums: the position of the argument, an array of real floats of any shape. All other arguments are constants.
        target: "native", "xla" or "auto", as for ``jit``.

    Returns:
        A function of the arguments of ``f`` that returns a ``scipy.sparse.csr_array`` with a row and a column for each element of the argument. Its
        methods ``pattern`` and ``explain`` are those of ``sparse_jacobian``.

    Raises:
        BadInput: options of the wrong kind; when called: the argument is no array of real floats, the result is no real number, ``f``
            cannot be compiled, or the Hessian is not sparse.

    Sources: A. Walther, "Computing sparse Hessians with automatic differentiation", ACM TOMS 34 (2008); A. H. Gebremedhin, F. Manne and
    A. Pothen, "What color is your Jacobian? Graph coloring for computing derivatives", SIAM Review 47 (2005).

    >>> H = sparse_hessian(lambda x: np.sum(x[1:] * x[:-1]))(np.array([1.0, 2.0, 3.0]))
    >>> H.toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    return _made(sparse_hessian, f, argnums, "auto", target)


def _made(transform: Function, f: Function, argnums: int, mode: str, target: str) -> Function:
    check_function(f)
    name = transform.__name__
    if not is_integer(argnums):
        raise BadInput(
            f"argnums of {name} must be an integer, not {argnums!r}; to evaluate it at x, write {name}(f)(x)"
        )
    if mode not in MODES:
        raise BadInput(f"mode of {name} must be 'auto', 'forward' or 'reverse', not {mode!r}")
    targets.check(target)
    return SparseDerivative(transform, f, argnums, mode, target)


@dataclass
class Found:
    """The plan for one program and the values that its pattern depends on, with the seconds that finding it took."""

    values: list[tuple[int, str, np.ndarray]]
    plan: Plan
    seconds: dict[str, float]
    seeds: list[np.ndarray]
    """The directions of groups of columns, in the shape of the argument, and of groups of rows, in that of the result."""


class _Kept:
    """The compiled programs of a function, and for each program of its tangent, by its identity, the plans that were found."""

    def __init__(self) -> None:
        self.programs: dict[tuple[tuple[Function, ...], int], Jitted] = {}
        self.found: dict[int, tuple[Compilation, list[Found]]] = {}
        self.of_vectors: SparseDerivative | None = None  # that of the same function of vectors
        self.has_structured_result = False


class _Structured(Exception):
    """Raised where the result of a function turns out to be a structure: its derivative is that of a function of vectors."""


_RECENT: Recent[_Kept] = Recent()


class SparseDerivative(Transformed):
    """A sparse Jacobian or Hessian as a function of the arguments of ``f``."""

    is_of_vectors = False  # whether ``f`` stands for a function of structures

    def __init__(self, transform: Function, f: Function, argnums: int, mode: str, target: str) -> None:
        self.is_hessian = transform is sparse_hessian
        self.matrix = "Hessian" if self.is_hessian else "Jacobian"
        options = (argnums, target) if self.is_hessian else (argnums, mode, target)
        super().__init__(f, self._run, self._trace, transform, f, *options)
        self.name, self.f, self.argnums, self.mode, self.target = transform.__name__, f, argnums, mode, target
        self.own = _Kept()

    @property
    def kept(self) -> _Kept:
        """The programs and plans of this function, or of another one with the same code that closes over the same objects."""
        return _RECENT.find(self.f, (self.name, self.argnums, self.mode, self.target), self.own)

    def __dir__(self) -> list[str]:
        return public_names(self, "explain", "pattern")

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Print and return how the matrix is computed for these arguments.

        Args:
            *args, **kwargs: the arguments of a call.

        Returns:
            The text that is printed: the number of entries and the share that is stored, the groups and the mode, the target, and the seconds
            that pattern, colouring and compilation took.

        Raises:
            BadInput: as for a call.

        >>> text = sparse_jacobian(lambda x: x[1:] - x[:-1]).explain(np.ones(100))
        sparse_jacobian of <lambda>: 99 x 100, 198 entries (2 % full)
        2 groups of columns by forward mode
        ...
        """
        flat = self._flat(args, kwargs)
        if flat is not None:
            return flat[0].explain(*flat[1], **kwargs)
        try:
            x, position, rest = self._arguments(args)
            found = self._plan(x, position, rest, kwargs)
            m, n = found.plan.pattern.shape
            nnz = found.plan.pattern.nnz
            seconds = dict(found.seconds)
            made = []
            if found.seeds:
                program = self._program(self.makes(found), position)
                given = program.given((x, found.seeds, found.plan.places, rest, kwargs), {})
                made = [program.compilation(*given)[0].compile()]
            seconds["compile"] = sum(sum(e.seconds.values()) for e in made)
            name = getattr(self.f, "__name__", None) or describe(self.f)
            lines = [
                f"{self.name} of {name}: {m} x {n}, {nnz:,} entries ({100 * nnz / max(m * n, 1):.2g} % full)",
                found.plan.how,
                *dict.fromkeys(f"for the target {e.target}: {e.reason}" for e in made),
                "seconds: " + ", ".join(f"{what} {t:.3f}" for what, t in seconds.items()),
            ]
        except Exception as error:
            prune(error)
            raise
        text = "\n".join(lines)
        print(text)
        return text

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Return the entries that may be different from zero for arguments of these types.

        Args:
            *args, **kwargs: the arguments of a call.

        Returns:
            A ``scipy.sparse.csr_array`` of bools, in the shape of the matrix.

        Raises:
            BadInput: as for a call.

        >>> sparse_hessian(lambda x: x[0] * x[1] + x[2]).pattern(np.ones(3)).toarray().astype(int).tolist()
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
        """
        try:
            return self.found(*args, **kwargs).plan.pattern.copy()
        except Exception as error:
            prune(error)
            raise

    def found(self, *args: Any, **kwargs: Any) -> Found:
        """Return the plan for these arguments, with the seconds that it took."""
        flat = self._flat(args, kwargs)
        if flat is not None:
            return flat[0].found(*flat[1], **kwargs)
        return self._plan(*self._arguments(args), kwargs)

    # Structures

    def _flat(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tape: Tape | None = None
    ) -> tuple[SparseDerivative, tuple[Any, ...]] | None:
        """Return the derivative of the same function of a vector, and its arguments; None if it is one already.

        Its argument and result are the vectors of the numbers in the structures. A further argument is a structure like the
        argument, which holds the constants.
        """
        if self.is_of_vectors:
            return None
        position = self.position(args)
        x = args[position]
        is_array = isinstance(x, (np.ndarray, np.generic, int, float, complex))
        if is_array and not self.kept.has_structured_result:
            try:
                self._plan(*self._arguments(args), kwargs)
            except _Structured:
                self.kept.has_structured_result = True
            else:
                return None
        made = self.kept.of_vectors
        if made is None:
            transform, _, *options = self.made
            options[0] = position
            made = self.kept.of_vectors = transform(programs.of_vectors(self.f, position, self.is_hessian), *options)
            made.is_of_vectors = True
        if is_array:
            return made, (*args, None)
        vector = call_on(tape, programs.vector_of, x)
        like = call_on(tape, programs.zeros_of, x)
        return made, (*args[:position], vector, *args[position + 1 :], like)

    # Calls

    def _trace(self, trace: Any, args: Any, kwargs: Any) -> Any:
        return traced(self, trace, args, kwargs)

    def _run(self, tape: Tape | None, *args: Any, **kwargs: Any) -> Any:
        flat = self._flat(args, kwargs, tape)
        if flat is not None:
            return flat[0]._run(tape, *flat[1], **kwargs)
        x, position, rest = self._arguments(args)
        found = self._plan(x, position, rest, kwargs)
        pattern = found.plan.pattern
        if not found.seeds:
            return csr_array(pattern.shape, dtype=x.dtype)
        program = self._program(self.makes(found), position)
        return call_on(tape, _evaluated, program, found.seeds, found.plan.places, pattern, x, rest, kwargs)

    def position(self, args: tuple[Any, ...]) -> int:
        """Return the position of the argument that varies."""
        (position,) = positions(self.f, (self.argnums,), args)
        return position

    def _arguments(self, args: tuple[Any, ...]) -> tuple[Any, int, tuple[Any, ...]]:
        position = self.position(args)
        x = args[position]
        if type(x) is not np.ndarray or x.dtype.kind != "f":
            kind = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"a {kind_of(x)}"
            raise BadInput(
                f"{self.name} needs an array of real floats in argument {position}, not {kind}; pass one, as np.asarray(x, float)"
            )
        return x, position, (*args[:position], None, *args[position + 1 :])

    def _program(self, makes: tuple[Function, ...], position: int) -> Jitted:
        """Return the program of the tangent, or that of the entries."""
        made = self.kept.programs
        if (makes, position) not in made:
            # All programs of a matrix are compiled for the same types: one of them warns.
            is_first = makes == (programs.tangent_of,)
            f = programs.tangent_of(self.f, position) if is_first else programs.entries_of(self.f, position, makes)
            program = Jitted(f, self.target, set(), set(), Checks())
            program.history = History(f"{self.name} of {describe(self.f)}", is_first, partial(_told, self.f, position))
            made[makes, position] = program
        return made[makes, position]

    def makes(self, found: Found) -> tuple[Function, ...]:
        """Return what makes the functions (``programs``) that compute groups of columns, and groups of rows."""
        by_columns = programs.products_of if self.is_hessian else programs.columns_of
        makes = [(found.plan.columns, by_columns), (found.plan.rows, programs.rows_of)]
        return tuple(make for colours, make in makes if colours is not None)

    # Plans

    def _plan(self, x: Any, position: int, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
        """Return the plan for these arguments, found now unless one for their types is kept."""
        return self.planned(x, position, rest, kwargs)[0]

    def planned(
        self, x: Any, position: int, rest: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Found, list[Any], dict[int, Any]]:
        """Return the plan for these arguments, the values of the program, and where it reads those that are hidden."""
        program = self._program((programs.tangent_of,), position)
        given = program.given((x, _like(x), rest, kwargs), {})
        try:
            made, leaves = program.compilation(*given)
        except MorulaError as error:
            raise BadInput(
                f"{self.name} of {describe(self.f)}: the function cannot be compiled, which is needed to find the entries; use "
                f"{self.matrix.lower()}, or change it: {error}"
            ) from error
        plans = self.kept.found
        if id(made) not in plans:  # those of programs that are made again for changed globals are of no use
            for key in [key for key, (other, _) in plans.items() if not other.is_current()]:
                plans.pop(key, None)
        kept = plans.setdefault(id(made), (made, []))[1]
        values = [leaves[i] for i in made.program.leaves] + [source.read() for source in made.program.hidden]
        hidden = dict(enumerate(made.program.hidden, len(made.program.leaves)))
        for found in kept:
            if all(np.array_equal(_consulted(values[i], what), x) for i, what, x in found.values):
                return found, values, hidden
        found = self._find(made, values)
        kept.append(found)
        del kept[:-MOST_KEPT]
        return found, values, hidden

    def _find(self, made: Compilation, values: list[Any]) -> Found:
        function, places = made.function, made.program.leaves
        if made.program.written or made.program.updates:
            raise BadInput(
                f"{self.name}: {describe(self.f)} changes an argument that is held constant; copy it in the function first"
            )
        self._check_result(function)
        began = time.perf_counter()
        tangent, argument = places.index(1), places.index(0)
        numbers = {i: np.asarray(v) for i, v in enumerate(values) if i not in (tangent, argument)}
        try:
            found: Dependence = dependence(function, tangent, numbers, argument if self.is_hessian else None)
            pattern = found.pattern
            if self.is_hessian:
                pattern = (pattern + pattern.T).tocsr()
        except NotSparse as error:
            raise BadInput(
                f"{self.name} of {describe(self.f)}: the {self.matrix} is not sparse, or its entries cannot be found: {error}, at line "
                f"{error.line}; use {self.matrix.lower()}"
            ) from None
        m, n = pattern.shape
        if pattern.nnz > FULL * m * n and min(m, n) > SMALL:
            raise BadInput(
                f"{self.name} of {describe(self.f)}: the {self.matrix} is {100 * pattern.nnz / (m * n):.0f} % full, so it is not sparse; use "
                f"{self.matrix.lower()}"
            )
        seconds = {"pattern": time.perf_counter() - began}
        began = time.perf_counter()
        pattern.sort_indices()
        for indices in (pattern.indices, pattern.indptr):  # all matrices share them
            indices.flags.writeable = False
        plan = plan_of_symmetric(pattern) if self.is_hessian else plan_of(pattern, self.mode)
        seconds["colouring"] = time.perf_counter() - began
        consulted = [(i, what, np.array(_consulted(values[i], what))) for i, what in sorted(found.consulted)]
        types = function.parameters[argument].type, function.block.results[0].type
        wanted = zip((plan.columns, plan.rows), types)
        seeds = [seeds_of(c, kind.dtype).reshape(-1, *kind.shape) for c, kind in wanted if c is not None]
        return Found(consulted, plan, seconds, seeds)

    def _check_result(self, function: Any) -> None:
        results = function.block.results
        if not results and not self.is_of_vectors and not self.is_hessian:
            raise _Structured
        if len(results) != 1 or results[0].type.dtype.kind != "f":
            kind = "complex numbers" if results and results[0].type.dtype.kind == "c" else "something else"
            raise BadInput(
                f"{self.name} needs a result that is an array of real floats or a real number; {describe(self.f)} returns {kind}"
            )
        if self.is_hessian and results[0].type.shape:
            raise BadInput(
                f"{self.name} needs a real number as result; {describe(self.f)} returns an array of shape {results[0].type.shape}"
            )


def _told(f: Function, position: int, name: str) -> str:
    """Return the name of a leaf of the arguments of ``f``, given its name among those of a program (``programs``)."""
    place, found = re.fullmatch(r"(?:args\[(\d+)\]|d?x)(.*)", name, re.DOTALL), getattr(f, "__code__", None)
    if place is None:
        return re.sub(r"kwargs\['(\w+)'\]", r"\1", name, count=1)
    number = position if place[1] is None else int(place[1])
    names = () if found is None else found.co_varnames[: found.co_argcount]
    return (names[number] if number < len(names) else f"args[{number}]") + place[2]


def _like(x: np.ndarray) -> np.ndarray:
    return np.empty_like(x)


def _consulted(x: Any, what: str) -> Any:
    return x if what == "values" else np.asarray(x) != 0


def _evaluated(program: Any, seeds: Any, places: Any, pattern: Any, x: Any, rest: Any, kwargs: Any) -> Any:
    """Return the matrix, whose entries are in the order of the pattern and which shares its index arrays."""
    data = program(x, seeds, places, rest, kwargs)
    return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
