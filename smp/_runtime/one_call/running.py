"""Run a program on a machine that is opened for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any, Concatenate, ParamSpec, TypeVar, TypeVarTuple, overload

import numpy as np

from ..kinds import host
from ..program.processor import Processor
from ..program.run import Run

Parameters = ParamSpec("Parameters")
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


@overload
def run(
    program: Callable[Concatenate[Processor, Parameters], Result],
    /,
    processors: int | None = None,
    *args: Parameters.args,
    **kwargs: Parameters.kwargs,
) -> Run[Result]: ...
@overload
def run(
    program: Callable[[Processor, *Arguments], Result],
    /,
    processors: int | None = None,
    *args: *Arguments,
    streams: int | None = None,
    timeout: float | None = None,
    helpers: bool | None = None,
    warmup: int = 0,
    repeat: int = 1,
    counters: bool = False,
    record: bool = False,
    check: bool = False,
    seed: int | None = None,
    log: str | os.PathLike[str] | None = None,
    logging: Collection[str] = (),
) -> Run[Result]: ...
def run(  # type: ignore[misc]  # the options are in the second form, where the arguments by name are not
    program: Callable[..., Any], /, processors: int | None = None, *args: Any, **kwargs: Any
) -> Run[Any]:
    """Open this computer as a machine, run a program on it, and close it.

    Parameters
    ----------
    program : callable
        Called as ``program(proc, *args, **kwargs)`` on each processor.
    processors : int, optional
        Number of processors; by default, or if it is None, one for each CPU that this process may use.
    *args, **kwargs
        Arguments of the program, which are copied to each processor, and options of `Machine.run`, such as ``timeout``.

    Returns
    -------
    Run
        Results, one per processor, and the record of the supersteps.

    Raises
    ------
    TypeError, ValueError, MachineError
        If the number of processors is not valid, or if they do not start.
    SmpError, KeyboardInterrupt
        As for `Machine.run`.

    Notes
    -----
    To open a machine takes about 20 ms, and longer the first time.  For several programs, or for arrays that the
    processors share, open one with `host`.

    Examples
    --------
    >>> import smp
    >>> smp.run(lambda proc, x: proc.reduce(x * proc.rank), 2, 21).results
    [21, 21]
    """
    __tracebackhide__ = True  # pytest then shows the caller's line
    if processors is not None and (isinstance(processors, bool) or not isinstance(processors, int | np.integer)):
        raise TypeError(
            f"the second argument of smp.run must be the number of processors, or None for one for each CPU, not "
            f"{processors!r:.80}; the arguments of the program follow it"
        )
    with host(processors) as machine:
        return machine.run(program, *args, **kwargs)
