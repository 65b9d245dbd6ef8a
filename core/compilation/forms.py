"""The forms in which a program is traced, one after the other while it is refused."""

from __future__ import annotations

import math
from typing import Any

from ..errors import BadInput
from ..specialise.steps import Steps, TooLong

Form = tuple[str, ...]
"""The options of a trace; see ``specialise``."""

FORMS: tuple[Form, ...] = (
    (),
    ("may_choose",),
    ("may_choose", "may_fork"),
    ("may_choose", "may_grow"),
    ("may_choose", "may_fork", "may_grow"),
    ("may_unroll",),
    ("may_choose", "may_unroll"),
    ("may_choose", "may_fork", "may_unroll"),
    ("may_choose", "may_fork", "may_grow", "may_unroll"),
)

FORKED, FREE = 2, 5_000
"""How many times the calls of the longest other trace one with forks may take, and how many in any case, while there are
other forms to try: each fork may double them."""
LAST, LAST_FREE = 20, 200_000
"""The same when no other form is left; beyond that the program is refused."""


class Forms:
    """The forms of one program that were refused, and the next one."""

    def __init__(self, steps: Steps) -> None:
        self.steps, self.form = steps, FORMS[0]
        self.refusals: dict[Form, Any] = {}
        self.cut: list[Form] = []  # took more calls than forks may take
        self.whole: set[Form] = set()  # are tried again at the end, with more calls
        self.began, self.longest = 0, 0

    def begin(self) -> Form:
        """Return the form of the next trace."""
        self.began = self.steps.taken
        factor, free = (LAST, LAST_FREE) if self.form in self.whole else (FORKED, FREE)
        self.steps.allow(max(factor * self.longest, free) if "may_fork" in self.form else math.inf)
        return self.form

    def refuse(self, refusal: BadInput, error: Any) -> None:
        """Go on to the next form after ``error`` in a trace, which says ``refusal`` of the program.

        Raises:
            BadInput: there is no other form.
        """
        shown: Any = refusal
        shown.wanted, shown.reached, shown.through = error.wanted, error.reached, error.through
        if isinstance(error, TooLong):
            if self.steps.is_over:
                raise error
            if self.form not in self.whole:
                self.cut.append(self.form)
            shown.wanted = set(FORMS[-1])  # all options: what it would have asked for is unknown
        elif "may_fork" not in self.form:
            self.longest = max(self.longest, self.steps.taken - self.began)
        self.refusals[self.form] = shown
        following = next_form(self.refusals)
        if following is None and self.cut:
            following = self.cut.pop(0)
            self.whole.add(following)
        if following is None:
            shown = furthest(self.refusals)
            raise shown from shown.__cause__
        self.form = following


def next_form(refusals: dict[Form, Any]) -> Form | None:
    """Return the next form in which a program may be compiled; None if it would be refused in all of them.

    A trace notes which options, of those that it lacked, would have made a difference (``error.wanted``).  With only others
    added it would be the same again.
    """

    def is_new(form: Form) -> bool:
        lacking = [
            (set(form).difference(other), error.wanted) for other, error in refusals.items() if set(other) <= set(form)
        ]
        return all(more & wanted for more, wanted in lacking)

    return next((form for form in FORMS[FORMS.index([*refusals][-1]) + 1 :] if is_new(form)), None)


def furthest(refusals: dict[Form, Any]) -> BadInput:
    """Return the refusal of the form whose trace has come furthest.

    Not of a form that forks, which may stop at what the user would not.  Of those that have come as far, that of the
    first is shown, but with choices: where there are some, a refusal without them is about values of several kinds.
    """
    shown = [error for form, error in refusals.items() if "may_fork" not in form]
    if ("may_choose",) in refusals:
        shown.append(shown.pop(0))
    return max(shown, key=lambda error: error.reached)
