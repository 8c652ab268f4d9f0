"""The outcome of a run: the program's results and the record of every superstep."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from smp.errors import ProfileError

from .records.account import NOTHING, Account
from .records.recorded import COMMUNICATION, Repeat, Repeated

if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault  # type checkers know it without the package

    from smp._output.drawing import Picture
    from smp.models.supersteps.intervals import Interval
    from smp.profiles.profile import Profile

    Result = WithDefault("Result", default=Any)
else:
    Result = TypeVar("Result")


class Run(Repeated, Generic[Result]):
    """The outcome of ``machine.run``: the results of the program and its record.

    If the program was repeated, the results, ``steps``, ``collectives`` and the timeline are those of the last
    repeat; `summary`, the printed table and `interval` have the medians of all repeats.

    Attributes
    ----------
    results : list
        Values that the program returned, one per processor.
    steps, collectives, states, network, seconds, wall, size, dropped, clock_error
        See `Repeat`.
    events : structured array
        What the streams did, in order of time, if the program was run with ``record=True``: ``rank, stream, time,
        event, what, where, peer, number``.  Times are those of `timeline`.

        =========  ==================================================================================================
        event      further columns
        =========  ==================================================================================================
        waits      an operation on a cell has to wait: ``what`` is the operation, ``where`` the cell.  Or it waits for
                   a message.
        traps      it gives its stream up until it is served
        wakes      it was served, and waits for a stream
        goes on    its wait has ended, after ``number`` further looks
        serves     it has served a stream that had trapped: ``peer`` is the processor, ``number`` the stream
        starts     it starts thread ``number``; ``what`` is the thread's function
        begins     it begins to run thread ``number``
        ends       it has run thread ``number``
        sends      it has posted a packet to processor ``peer`` on the network ``what``, the packet ``number`` there
        gets       it has taken this packet of processor ``peer``
        =========  ==================================================================================================
    dropped_events : int
        Number of earlier events that these have replaced: a stream keeps its last 65,536.
    repeats, warmup
        See `Repeated`.
    kind : {"host", "emulated", "mpi"}
        Kind of the machine that ran the program.  The seconds of an emulated machine are virtual time.
    seed : int
        Seed of ``proc.random``.  A run with the same seed draws the same random numbers.
    nodes : list of int
        Node of each processor (see `Machine`).
    machine : str
        Name of the emulated machine, if ``smp.emulated(machine=...)`` has opened one, else "".
    charges : tuple of LoopCharge
        For each loop over local data that an emulated machine has charged: its name, how its cycles were found
        (declared, counted, bytes, measured), its calls and cycles, those with the most cycles first.  If the program
        was repeated, of the last repeat.
    unknown : tuple of str
        Assumptions that the times of an extrapolated machine rest on (see `smp.profiles.ThisComputer`); else empty.
    times : mapping, optional
        On a machine that is made from a profile, the times that were measured during the last repeat, in ns.  The
        machine takes them instead of the clock if it is given them.
    """

    def __init__(
        self,
        results: list[Result],
        repeats: Sequence[Repeat],
        kind: str = "host",
        warmup: int = 0,
        seed: int = 0,
        nodes: Sequence[int] | None = None,
        account: Account = NOTHING,
    ) -> None:
        super().__init__(repeats, warmup)
        self.results, self.kind, self.seed = results, kind, seed
        self.nodes = [0] * len(results) if nodes is None else list(nodes)
        self.machine, self.charges, self.unknown, self.times = account

    @property
    def extrapolated(self) -> str:
        """A note if the times are those of a machine with more processors than were measured; else empty."""
        return f"extrapolated: {self.machine}" if self.unknown else ""

    def interval(self, profile: Profile | None = None, *, whole: bool | None = None) -> Interval:
        """Compare the time of each superstep with the best and the worst time that are predicted for its accesses.

        Parameters
        ----------
        profile : Profile, optional
            Profile of the machine (see `smp.Profile.load`); by default the one measured last on this computer, of a
            machine of the run's kind.  The profile of a host also predicts the runs of a machine of MPI with one node.
        whole : bool, optional
            Whether to take the program as a whole, as one row: its time on the slowest processor, local work and
            waits included, and all accesses that were counted.  By default this is done for a program without
            supersteps.

        Returns
        -------
        Interval
            For each superstep and in total: h_r, h_w, M, the measured, good, bad and random seconds of copy-in and
            copy-out, the measured compute time, Loc, M/G and a verdict.  It prints as a table and has arrays to
            compute with.  Its notes name other causes of the times: page faults, a `compute()` that was not called,
            collectives.

        Raises
        ------
        ProfileError
            If no profile of such a machine has been measured yet; the message shows which command makes one.  Also if
            the profile is of another kind of machine than the run.
        """
        from smp.profiles.moved import moved_note
        from smp.profiles.profile import Profile

        if profile is None and self.kind == "emulated":
            raise ProfileError(
                f"this run is from an {self.kind} machine, whose virtual time no profile of this computer can predict; "
                "pass a profile that was measured on that machine, run.interval(profile), or run the program on "
                "smp.host()"
            )
        as_host = self.kind == "mpi" and not any(self.nodes)  # one node: its memory costs what that of a host does
        chosen = profile or Profile.find("host" if as_host else self.kind)
        if chosen.kind != self.kind and not (as_host and chosen.kind == "host"):
            virtual = "emulated" in (chosen.kind, self.kind)
            why = "one has real and the other virtual time" if virtual else "the memory of nodes has other costs"
            raise ProfileError(
                f"{chosen!r} is of the kind {chosen.kind!r} and the run of the kind {self.kind!r}: {why}; pass a "
                "profile that was measured on a machine of the run's kind"
            )
        from .records import interval_notes, whole_program

        as_one = not len(self.steps) if whole is None else whole
        rows = whole_program.row_of(self) if as_one else self.summary()
        found = chosen.interval(rows, self.size).without(rows["uncounted"])
        if len(self.repeats) > 1:
            found = found.repeated(whole_program.seconds_of(self) if as_one else self.seconds_of(COMMUNICATION))
        found = found.noting(moved_note(chosen, self.size, [repeat.placement for repeat in self.repeats]))
        return found.noting(*(whole_program.notes(self, found) if as_one else interval_notes.notes(self, found)))

    def to_frame(self) -> Any:
        """Return `summary` as a ``pandas.DataFrame``: a row for each superstep.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        from smp._output.frames import frame

        rows = self.summary()
        return frame({name: rows[name] for name in rows.dtype.names or ()})

    def state_graph(self, path: str | os.PathLike[str]) -> None:
        """Draw the states of all processors: processors upwards, time to the right, a colour for each state.

        Parameters
        ----------
        path : path_like
            The file.  Its ending selects the format: ``.png`` or ``.svg`` for a picture, or ``.json`` for a trace that
            ``chrome://tracing`` and Perfetto show.  An existing file is replaced.

        Raises
        ------
        ValueError
            If the path has another ending, or if the program has recorded no state.
        """
        from .display.state_graph import write_states  # imported late, like Matplotlib

        write_states(self.states, self.size, self.dropped_states, Path(path), self.clock_error, self.extrapolated)

    def plot(self, *, supersteps: slice = slice(None)) -> Picture:
        """Draw the timeline: processors upwards, time to the right, a colour for each phase, and grey for waits.

        Parameters
        ----------
        supersteps : slice
            Numbers of the supersteps to draw; all by default.

        Returns
        -------
        matplotlib.figure.Figure
            Notebooks show it; ``savefig`` writes it to a file.

        Raises
        ------
        ValueError
            If there is no superstep to draw.
        """
        from smp._output.drawing import draw  # imported late, like Matplotlib

        from .display.phases import WAIT, phase_states
        from .display.state_graph import figure

        spans = self._of_supersteps(self._spans, supersteps)
        if not len(spans):
            raise ValueError(f"there is no superstep to draw: the run recorded {len(np.unique(self.steps['step']))}")
        return draw(figure(phase_states(spans), self.size, 0, self.clock_error, self.extrapolated, "Phases", WAIT))

    def write_trace(self, path: str | os.PathLike[str], *, supersteps: slice = slice(None)) -> None:
        """Write the timeline of all processors, for Perfetto, ``chrome://tracing`` or speedscope.

        Each processor has a track with its supersteps, their phases, and its waits at barriers in them.  Supersteps
        state their words and bytes.  A counter shows h, and states that the program has set have tracks of their own.

        If the program was run with ``record=True``, each stream has a track, too: with its threads, its waits at
        cells, and in these the time for which it had trapped or was ready again.  Arrows lead from who served a stream
        to the stream, from the start of a thread to its begin, and from a packet that was sent to its receiver.  A
        counter shows how many streams are trapped and ready.

        Parameters
        ----------
        path : path_like
            The file, ``.json`` or ``.json.gz``.  An existing file is replaced.  The file of an emulated machine has
            virtual times, and the same bytes whenever the program is run with the same seed.
        supersteps : slice
            Numbers of the supersteps to write; states and events are then left out.  By default, everything is
            written.

        Raises
        ------
        ValueError
            If the path has another ending.

        Warns
        -----
        UserWarning
            If there are more than a million events, with which viewers are slow.

        Examples
        --------
        >>> import smp
        >>> def program(proc):
        ...     with proc.superstep("work") as step:
        ...         step.compute()
        >>> with smp.emulated(2) as machine:
        ...     run = machine.run(program)
        >>> run.write_trace("trace.json")  # doctest: +SKIP
        """
        from .display.trace_file import trace_of, write_trace  # imported late: most runs are not written

        spans, steps = (self._of_supersteps(rows, supersteps) for rows in (self._spans, self.steps))
        whole = slice(None) if supersteps == slice(None) else slice(0)
        summary, states, events = Repeat.summary(self)[supersteps], self.states[whole], self.events[whole]
        write_trace(Path(path), trace_of(spans, steps, summary, states, events, self.nodes, self._about))

    def page(self, interval: Interval | None = None) -> str:
        """Return a page of the run as one HTML file: its timeline, its supersteps, and its trace to save.

        The page loads nothing from elsewhere.  Of a long run, it draws the supersteps that took the most time.

        Parameters
        ----------
        interval : Interval, optional
            What `interval` returned for this run; the page then has it, too.

        Examples
        --------
        >>> from pathlib import Path
        >>> import smp
        >>> def program(proc):
        ...     with proc.superstep("work") as step:
        ...         step.compute()
        >>> with smp.emulated(2) as machine:
        ...     run = machine.run(program)
        >>> Path("run.html").write_text(run.page(), encoding="utf-8")  # doctest: +SKIP
        """
        from .display.run_page import page_of

        return page_of(self, interval, self.nodes, self._about, self.unknown)

    @property
    def _about(self) -> dict[str, Any]:
        """Facts on the run, for files about it."""
        about = {"kind": self.kind, "machine": self.machine, "seed": self.seed, "clock_error_s": self.clock_error}
        return about | {"remark": self.extrapolated}

    def _of_supersteps(self, rows: NDArray[np.void], which: slice) -> NDArray[np.void]:
        return rows[np.isin(rows["step"], np.unique(self.steps["step"])[which])]

    def __str__(self) -> str:
        from .display.printed_run import run_text  # imported only when a run is printed, which most runs are not

        return run_text(self, self.kind == "emulated", self.extrapolated, self.unknown)

    def _repr_html_(self) -> str:
        from .display.printed_run import run_html

        return run_html(self, self.kind == "emulated", self.extrapolated, self.unknown)

    def __repr__(self) -> str:
        count = len(np.unique(self.steps["step"]))
        processors, supersteps = (
            f"{self.size} processor{'s' * (self.size > 1)}",
            f"{count} superstep{'s' * (count != 1)}",
        )
        return f"<run on {processors}, {supersteps}, {self.wall:.3g} s>"
