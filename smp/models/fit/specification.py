"""Specification of a model: its inputs, its terms, and the task to measure. One line specifies one model.

    Specification("sort", {"n": "100..1e6"}, ["n", "n * log2(n)"], np.sort, setup=lambda n: (random_keys(n),))
                   name    inputs            terms                 task     makes the task's arguments

`smp.calibrate` measures the task over the loop nest of its inputs and fits the terms.

Source: Brewer, Portable High-Performance Supercomputing, section 3.2, table 3-1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from smp.errors import ModelError

from .expressions import Expression
from .inputs import Input, parsed

CONSTANT = "1"
"""Term that every model has, unless it is found irrelevant."""


@dataclass(frozen=True)
class Specification:
    """A task to measure, the inputs and terms that its time may depend on, and the ranges of the inputs.

    Parameters
    ----------
    name : str
    inputs : mapping of name to text
        Ranges of the inputs, see `smp.models.fit.inputs.Input.parse`; the first is the outermost loop.
    terms : sequence of text, or mapping of name to text
        Expressions of the inputs, see `smp.models.fit.expressions`; a constant is added. Give all terms that might
        matter: irrelevant ones are removed.
    task : callable
        The function to time. It is called with the arguments that ``setup`` returns or, without ``setup``, with the
        inputs. With a machine, the task is an SPMD program.
    setup : callable, optional
        Called with the inputs, by name, before each timing; with a machine, the machine comes first. Returns a tuple
        of arguments.
    cleanup : callable, optional
        Called after each timing, with the arguments that were made for it.
    when : text, optional
        Condition on the inputs. If it does not hold, the task is neither measured nor predicted.
    keywords : sequence of str, optional
        Parameters: inputs that go to the task as keyword arguments, and not to ``setup``.
    points : int, optional
        Number of points of the loop nest that are chosen at random, but evenly spread, if the nest has more.
    loops : mapping of name to text, optional
        The loop nest, if it runs over other values than the inputs: the values from which ``setup`` makes the data. The
        keywords must be among them.
    of : callable, with ``loops``
        Takes the arguments that ``setup`` returns, and returns their inputs in order, without the keywords.
    clocked : bool
        Whether the task has a clock of its own and returns the seconds to fit, so that its call is not timed.

    Raises
    ------
    ModelError
        A range, a term or the condition cannot be read, a keyword is not among the inputs or the loops, the task cannot
        be called, ``points`` is below 2, or only one of ``loops`` and ``of`` is given.

    Examples
    --------
    >>> import numpy as np
    >>> made = Specification("zeros", {"n": "100..1e6"}, ["n"], np.zeros)
    >>> list(made.expressions)
    ['1', 'n']
    """

    name: str
    inputs: Mapping[str, str]
    terms: Sequence[str] | Mapping[str, str]
    task: Callable[..., Any]
    setup: Callable[..., tuple[Any, ...]] | None = None
    cleanup: Callable[..., Any] | None = None
    when: str = ""
    keywords: Sequence[str] = ()
    points: int | None = None
    loops: Mapping[str, str] | None = None
    of: Callable[..., tuple[float, ...]] | None = None
    clocked: bool = False
    ranges: tuple[Input, ...] = field(init=False, repr=False)
    nested: tuple[Input, ...] = field(init=False, repr=False)
    expressions: dict[str, Expression] = field(init=False, repr=False)
    condition: Expression | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ranges = parsed(self.inputs)
        names = [given.name for given in ranges]
        if wrong := [name for name in self.keywords if name not in names]:
            raise ModelError(f"{wrong[0]!r} is a keyword of {self.name} but not one of its inputs: {', '.join(names)}")
        if not callable(self.task):
            raise ModelError(f"the task of {self.name} is {self.task!r}, which cannot be called")
        if self.points is not None and self.points < 2:
            raise ModelError(f"points={self.points} of {self.name}: a model needs at least 2 points")
        if (self.loops is None) != (self.of is None):
            raise ModelError(
                f"{self.name} needs both loops and of, or neither: `loops` gives the values that the data are made "
                "from, `of` returns the inputs of these data"
            )
        nested = ranges if self.loops is None else parsed(self.loops)
        if wrong := [name for name in self.keywords if name not in {given.name for given in nested}]:
            raise ModelError(f"{wrong[0]!r} is a keyword of {self.name} but not one of its loops")
        condition = Expression(self.when, names) if self.when else None
        object.__setattr__(self, "ranges", ranges)
        object.__setattr__(self, "nested", nested)
        object.__setattr__(self, "expressions", expressions_of(self.terms, names))
        object.__setattr__(self, "condition", condition)


def expressions_of(terms: Sequence[str] | Mapping[str, str], inputs: Sequence[str]) -> dict[str, Expression]:
    """Return the terms as expressions by name, the constant first."""
    if isinstance(terms, str):
        raise ModelError(f"terms must be a sequence of expressions, not one text: write [{terms!r}]")
    named = dict(terms) if isinstance(terms, Mapping) else {text: text for text in terms}
    return {name: Expression(text, inputs) for name, text in ({CONSTANT: CONSTANT} | named).items()}
