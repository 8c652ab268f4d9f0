"""Scripts as programs of an experiment: each trial runs the whole script in a fresh process.

    this process: NumPy, Numba, smp imported ──fork──▶ trial: environment, script, ("done", time, memory, ...)
                                             ◀─ pipe ─

Forking a process that has imported these packages makes a trial cost milliseconds; a fresh interpreter takes a second.
Every process of the script is treated: the workers of its machines find the treatments in the environment. The trial
ends when the script and its threads end. Functions that it registered with atexit are not called, and it must itself
end the processes that it leaves behind.

``time`` lasts until the script and its threads have ended. ``memory`` is that of the trial's process alone. The numbers
come from a global name ``responses``, which holds a number or a mapping. The output of the script is kept, and shown if
the script fails.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, BinaryIO, NoReturn

from smp._computer.interrupt import HeldBack
from smp._computer.processes import die_with
from smp._runtime.loops import compiler
from smp.errors import TrialFailed

from ..places.contexts import counted, treated
from ..places.counting import Met
from ..places.factors import delay
from ..places.functions import NotAPlace, place_for_good, placed
from ..places.own_functions import DECORATOR, with_places
from ..places.settings import VARIABLE, told
from ..places.treatments import Busy, Treatment
from . import memory
from .observed import Counts, Outcome, numbers

_SHOWN = 2_000  # characters of the script's output that an error message shows


class Script:
    """Runner for a script, which runs completely in a separate process for each trial.

    Parameters
    ----------
    path : path_like
    arguments : sequence of str
        Command line of the script.
    functions : sequence of str
        Names of functions whose calls are places.
    paths : sequence of str
        Data paths whose operations are places.

    Raises
    ------
    OSError, SyntaxError
        If the script cannot be read or compiled.
    ValueError
        If a function of the script does not exist.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        arguments: Sequence[str] = (),
        functions: Sequence[str] = (),
        paths: Sequence[str] = (),
    ) -> None:
        self._path, self._arguments = Path(path).resolve(), [str(argument) for argument in arguments]
        self._paths = tuple(paths)
        tree, self._functions = with_places(self._path.read_bytes(), self._path, functions)
        self._code: CodeType = compile(tree, str(self._path), "exec", dont_inherit=True)
        compiler.set_up()
        with treated({"place": Busy(0)}):  # load the code of treatments here, so that no trial loads it for itself
            delay("place")

    def trial(self, treatments: Mapping[str, Treatment | None]) -> Outcome:
        """Run the script with treatments."""
        return self._run(treatments, count=False)[0]

    def count(self) -> Counts:
        """Run the script without treatments; count the places of its first process and of its machines' programs."""
        return Counts(*self._run({}, count=True))

    def _run(self, treatments: Mapping[str, Treatment | None], count: bool) -> tuple[Outcome, dict[str, Met]]:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        parent = os.getpid()
        read, write = os.pipe()
        with tempfile.TemporaryFile() as said, HeldBack() as ctrl_c:  # otherwise a fork would lose a Ctrl-C
            child = os.fork()
            if child == 0:
                os.close(read)
                _be_trial(self, parent, write, said, treatments, count)
            os.close(write)
            answer = _answer(read, child, ctrl_c)
            if ctrl_c.presses:
                os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if ctrl_c.presses or code == -signal.SIGINT:
                raise ctrl_c.interruption()
            if not answer:
                how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                raise TrialFailed(f"{self._path.name} ended with {how}{_tail(said)}")
            kind, *told_back = pickle.loads(answer)
            if kind == "failed":
                raise TrialFailed(f"{self._path.name}: {told_back[0]}{_tail(said)}")
            if kind == "no place":
                raise NotAPlace(*told_back)
            seconds, peak, found, met = told_back
            return Outcome(seconds, peak, found), {name: Met(*one) for name, one in met.items()}

    def execute(self) -> Any:
        """Run the script as the main module; return the value of its global name ``responses``."""
        module = ModuleType("__main__")
        module.__file__ = str(self._path)
        vars(module)[DECORATOR] = place_for_good
        sys.modules["__main__"] = module
        sys.argv[:] = [str(self._path), *self._arguments]
        sys.path.insert(0, str(self._path.parent))
        with placed(*self._functions, paths=self._paths):
            try:
                exec(self._code, vars(module))
            except SystemExit as left:
                if left.code not in (None, 0):
                    raise
        return vars(module).get("responses")


def _be_trial(
    script: Script, parent: int, write: int, said: BinaryIO, treatments: Mapping[str, Treatment | None], count: bool
) -> NoReturn:
    """Run one trial in this process, which was forked for it; send the answer, and end."""
    trial = os.getpid()
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it at once, and the parent reports that
        die_with(parent)
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, place in ((null, 0), (said.fileno(), 1), (said.fileno(), 2)):
            os.dup2(fd, place)
        sys.stdout, sys.stderr = (os.fdopen(fd, "w", buffering=1, closefd=False) for fd in (1, 2))
        os.environ[VARIABLE] = told({name: one for name, one in treatments.items() if one is not None})
        met: dict[str, Met] = {}
        with contextlib.ExitStack() as stack:
            stack.enter_context(treated(treatments))
            met = stack.enter_context(counted()) if count else met
            memory.begin()
            began = time.perf_counter()
            responses = script.execute()
            for thread in threading.enumerate():  # as Python does when a script ends
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()
            seconds = time.perf_counter() - began
        found = {name: tuple(one) for name, one in met.items()}
        answer: tuple[Any, ...] = ("done", seconds, memory.peak(), numbers(responses), found)
    except NotAPlace as error:
        answer = ("no place", str(error))
    except BaseException as error:
        traceback.print_exc()
        answer = ("failed", f"{type(error).__name__}: {error}")
    if os.getpid() == trial:  # otherwise it is a fork made by the script, which arrives here too
        with contextlib.suppress(OSError), open(write, "wb") as pipe:
            told_back = pickle.dumps(answer)
            pipe.write(len(told_back).to_bytes(8, "little") + told_back)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


def _answer(read: int, child: int, ctrl_c: HeldBack) -> bytes:
    """Return the answer of the trial; an empty one if the trial ends without an answer, or on Ctrl-C.

    The length of the answer comes first, since a process that the script leaves behind may hold the pipe open.
    """
    ended = os.pidfd_open(child)
    poll = select.poll()
    for fd in (read, ended):
        poll.register(fd, select.POLLIN)
    answer = b""
    try:
        while not ctrl_c.presses:
            ready = [fd for fd, _ in ctrl_c.poll(poll, None) or ()]
            if read in ready:
                piece = os.read(read, 1 << 16)
                answer += piece
                if len(answer) >= 8 and len(answer) == 8 + int.from_bytes(answer[:8], "little"):
                    return answer[8:]
                if not piece:  # the trial ended in the middle of the answer
                    break
            elif ended in ready:
                break
        return b""
    finally:
        os.close(ended)
        os.close(read)


def _tail(said: BinaryIO) -> str:
    said.seek(0)
    text = said.read().decode(errors="replace").strip()
    return f"; the end of its output:\n{text[-_SHOWN:]}" if text else ""
