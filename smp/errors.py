"""All exceptions that smp raises on purpose.

    SmpError
    ├── MachineError            the machine cannot start, or can no longer be used
    │   ├── MachineClosed       it was closed, or a failure ended it
    │   └── OutOfSharedMemory   (MemoryError)
    ├── ProgramError            a run ended before its program did
    │   ├── ProcessorRaised     an exception on one processor
    │   ├── ProcessorDied       a signal or exit ended one processor
    │   ├── CollectiveMismatch  the processors do not take part in the same collective
    │   ├── DeadlockError       all streams wait, and none is left that could end a wait
    │   └── LivelockError       an emulated run exceeds its limit of steps
    ├── NotPicklable            (TypeError) a program or argument cannot be sent to the processors
    ├── PhaseError              a global access outside its phase of the superstep, or a collective out of turn
    ├── WaitTimeout             (TimeoutError) a wait reached its deadline
    ├── RaceError               (AssertionError) nothing orders two accesses to one element, one of them a write
    ├── ScheduleError           (ValueError) a schedule does not fit the program it is replayed with
    ├── CheckFailed             (AssertionError) the outcome of a schedule is not what the check wants
    ├── Unsupported             this kind of machine cannot do that
    ├── ProfileError            a profile is missing, damaged or of another machine
    ├── MachineFileError        (ValueError) a machine file has a value that it may not have
    ├── FitError                (ValueError) a model cannot be fitted from these numbers
    ├── ModelError              (ValueError) a model, a specification or a library is not well formed
    ├── TrialFailed             a trial of an experiment did not finish
    ├── ExperimentError         (ValueError) a file of trials is damaged, or of another experiment
    ├── InvalidList             (ValueError) not a linked list: a cycle, a stray successor, two tails
    ├── NotConverged            an iteration reached its limit before the change was below the tolerance
    └── Aborted                 inside a program: another processor failed; ends this one quietly

Each message states the fact with its numbers, the cause, and the remedy.
"""


class SmpError(Exception):
    """Base class of the exceptions that smp raises on purpose."""


class MachineError(SmpError):
    """The machine cannot start, or can no longer be used."""


class MachineClosed(MachineError):
    """The machine was closed, or a failure ended it."""


class OutOfSharedMemory(MachineError, MemoryError):
    """A global array does not fit into the remaining shared memory."""


class ProgramError(SmpError):
    """A run ended before its program did.

    Attributes
    ----------
    rank : int or None
        The processor that failed first, if there is a single one.
    remote_traceback : str
        Stack of that processor when it failed, as text; empty if it is not known.
    """

    def __init__(self, message: str, rank: int | None = None, remote_traceback: str = "") -> None:
        super().__init__(message)
        self.rank = rank
        self.remote_traceback = remote_traceback


class ProcessorRaised(ProgramError):
    """An exception on one processor ended the run; that exception is the ``__cause__`` if it could be sent."""


class ProcessorDied(ProgramError):
    """A signal or an exit ended the process of one processor, and with it the run and the machine."""


class CollectiveMismatch(ProgramError):
    """The processors did not take part in the same collective, or they have registered different handlers.

    It is also the error if one returned while others waited.
    """


class DeadlockError(ProgramError):
    """Every stream waits for another one; the message lists where each waits, for what, and since when."""


class LivelockError(ProgramError):
    """An emulated run has made more steps than its limit."""


class NotPicklable(SmpError, TypeError):
    """A program, an argument or a result cannot be sent between processes; the message names the part."""


class PhaseError(SmpError):
    """A global access outside its phase of the superstep, or a collective while another one is not ended."""


class HandlerError(SmpError):
    """A handler of messages did what no handler may do, or a message was sent where that is not possible."""


class WaitTimeout(SmpError, TimeoutError):
    """A wait reached its deadline."""


class ScheduleError(SmpError, ValueError):
    """A schedule does not fit the program it is replayed with."""


class RaceError(SmpError, AssertionError):
    """Two processors access an element, one of them writes it, and nothing decides which comes first."""


class CheckFailed(SmpError, AssertionError):
    """The outcome of a schedule is not what the check of `smp.explore` wants."""


class Unsupported(SmpError):
    """This kind of machine cannot do that; the message names an alternative."""


class ProfileError(SmpError):
    """A profile is missing, damaged, or not of this machine."""


class MachineFileError(SmpError, ValueError):
    """The description of a machine is missing, is not TOML, or has a key or a value that it may not have.

    Attributes
    ----------
    file : str
        The file, or what else was read.
    line : int or None
        Line of the file, from 1; None if the description is not from a file.
    key : str
        Name of the setting, such as ``message.receive``; empty if the error is not about one setting.
    """

    def __init__(self, message: str, file: str = "", line: int | None = None, key: str = "") -> None:
        super().__init__(message)
        self.file, self.line, self.key = file, line, key


class FitError(SmpError, ValueError):
    """A model cannot be fitted from these numbers."""


class ModelError(SmpError, ValueError):
    """A model, a specification of one, or a library of implementations is not well formed."""


class TrialFailed(SmpError):
    """A trial of an experiment did not finish; the message has its settings and the program's output."""


class ExperimentError(SmpError, ValueError):
    """A file of trials, or of an interrupted experiment, is damaged, incomplete, or of another experiment."""


class InvalidList(SmpError, ValueError):
    """The successors do not form one linked list; the message names the node."""


class NotConverged(SmpError):
    """An iteration reached its limit before the change was below the tolerance; the message has the numbers."""


class Aborted(SmpError):
    """Another processor failed, so this processor's program ends here.

    If a program catches it, it is raised again at the program's next wait, or at the latest when the program returns.
    """
