"""The calls by which a program says what its processor does, for the picture of its states."""

from __future__ import annotations

from .connected import Connected
from .records.states import State, States


class StateCalls(Connected):
    """The calls of a processor that set and record its state."""

    def state(self, name: str) -> State:
        """Begin a state of this processor.  It lasts until the next call, or for a ``with`` block.

        Parameters
        ----------
        name : str
            Name of the state; its first 32 characters are recorded.  A processor has at most 256 states.  It begins in
            the state ``busy``; ``idle`` is drawn in grey, for parts in which it only waits.

        Returns
        -------
        State
            The name of the state before, a string.  Used in a ``with`` statement, it is set again at the end of the
            block, also after an exception.

        Raises
        ------
        TypeError, ValueError
            If the name is not a string, is empty, or is that of a 257th state.

        Notes
        -----
        ``run.states`` has the states of all processors, from the first call of each to the end of its program, and
        ``run.state_graph`` draws them.  A call takes about 0.3 us and does not wait.  A processor records 1,000,000
        changes in a run; ``run.dropped_states`` counts further ones.  Only one thread of a processor may call this at a
        time.

        In a run with a log (``machine.run(..., log=path)``), ``run.states`` begins with the program, and calls of the
        runtime have states of their own: ``logging`` while an entry is written, and during the events of ``logging=``
        ``barrier``, ``broadcast``, ``combine``, ``printing`` ("print"), ``sending`` and ``handling`` ("message").
        After a call, the state is the one before, or the one that a handler has set in the call.  These names are not
        reserved: a program may set them too, and its time is then added to that of the calls.  They do not count among
        the 256.

        Examples
        --------
        >>> import smp
        >>> def program(proc):
        ...     before = proc.state("sort")
        ...     with proc.state("merge"):
        ...         proc.barrier()
        ...     return before
        >>> with smp.emulated(1) as machine:
        ...     run = machine.run(program)
        >>> run.results, run.states["state"].tolist()
        (['busy'], ['sort', 'merge', 'sort'])
        """
        return (self._recorder.states or self._begun()).change(name)

    def record_states(self, on: bool) -> bool:
        """Record the states of this processor from now on, or no longer; return whether they were recorded before.

        Parts of a program that are not wanted in ``run.states`` can be left out.  States can also be set there, and
        the one that is set at the end of such a part is recorded from then on.
        """
        return (self._recorder.states or self._begun()).record(bool(on))

    def _begun(self) -> States:
        """Begin the record of this processor's states."""
        self._recorder.states = States(self._port.clock)
        return self._recorder.states
