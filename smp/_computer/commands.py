"""Outputs, signals and exit status of the processes of commands, such as ``smp`` and ``python -m smp.microbench``.

    Ctrl-C while modules are imported    ends the process at once: there is nothing to save yet
    Ctrl-C, SIGTERM, SIGHUP later        a KeyboardInterrupt; the command saves its measurements
    an output that fails                 is dropped from then on, and the command goes on
    letters that an output cannot show   become question marks

After a signal, the exit status is 128 + its number, which is 130 for Ctrl-C.  Otherwise it is the command's own status
if that is not 0.  Otherwise it is 141 (128 + SIGPIPE) if a reader has closed the pipe of the standard output, and 1 if
the standard output failed in another way.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

from ..errors import SmpError

COMMANDS = ("smp.machines", "smp.microbench", "smp.perturb")
SCRIPT = "smp"
"""Name of the installed command; what ``smp run`` runs has the signals that Python gives it."""
_ENDS = (signal.SIGTERM, signal.SIGHUP)
_ended_by = 0
_closed: set[int] = set()


def run(module: str) -> NoReturn:
    """Import the module of a command, run its ``main``, and exit."""
    begin()
    output, _ = _outlet(sys.stdout, 1), _outlet(sys.stderr, 2)
    code: object = 1
    try:
        main = importlib.import_module(module).main
        _listen()
        code = main()
    except SystemExit as left:  # from the parser of the command line
        code = left.code
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    sys.stdout.flush()
    if _ended_by:
        code = 128 + _ended_by
    elif isinstance(output.error, BrokenPipeError):
        code = code or 128 + signal.SIGPIPE
    elif output.error is not None or 1 in _closed:
        why = output.error.strerror if output.error else "it was closed at the start"
        print(f"error: cannot write to standard output: {why}", file=sys.stderr)
        code = code or 1
    sys.exit(code)  # type: ignore[arg-type]


def begin() -> None:
    """Let Ctrl-C end a process that is still importing, and occupy the file descriptors of closed standard streams.

    Otherwise a file that is opened later could get the descriptor of an output.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest descriptor that is free
            _closed.add(fd)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(128 + number)


def _listen() -> None:
    """From here on, let signals interrupt the command. Signals that are ignored, as under nohup, stay ignored."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    taken = [number for number in _ENDS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)

    def as_before() -> None:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)

    os.register_at_fork(after_in_child=as_before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Do as Ctrl-C does, but only once: when a terminal goes away, both it and its shell send SIGHUP."""
    global _ended_by
    if _ended_by:
        return
    _ended_by = number
    ctrl_c = signal.getsignal(signal.SIGINT)
    if not callable(ctrl_c):  # SIGINT is ignored, as in a background job
        raise KeyboardInterrupt
    ctrl_c(signal.SIGINT, frame)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn an error of smp into a KeyboardInterrupt if a signal has interrupted the command.

    A signal that is sent to the whole process group also ends the processors, which causes such errors.
    """
    try:
        yield
    except SmpError:
        if _ended_by:
            raise KeyboardInterrupt from None
        raise


class _Outlet(io.FileIO):
    """The standard output or standard error. After its first failure, everything written to it is dropped."""

    error: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.error = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)


def _outlet(stream: object, fd: int) -> _Outlet:
    """Replace a standard stream by an outlet, and return the outlet."""
    raw = _Outlet(fd, "w", closefd=False)
    old = stream if isinstance(stream, io.TextIOWrapper) else None
    made = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=old.encoding if old else "utf-8",
        errors="replace" if old is None or old.errors in ("strict", "surrogateescape") else old.errors,
        line_buffering=fd == 2 or bool(old and (old.line_buffering or old.write_through)),
    )
    if fd == 1:
        sys.stdout = made
    else:
        sys.stderr = made
    return raw


if (sys.argv[:1] == ["-m"] and any(f"-m {name}" in " ".join(sys.orig_argv) for name in COMMANDS)) or (
    os.path.basename(sys.argv[0]) == SCRIPT and sys.argv[1:2] != ["run"]
):
    begin()  # Python is still importing the packages of the command
