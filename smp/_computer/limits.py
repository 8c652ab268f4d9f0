"""CPUs and memory that this process may use, given its affinity, its control groups and its limits (``ulimit``).

Functions that read the system's files take the root of the file tree. A value that is not there is None.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import operator
import os
import resource
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import psutil

ROOT = Path("/")


def read(path: Path | str) -> str | None:
    """Return a file's text without surrounding blanks, or None if it is empty or cannot be read."""
    try:
        with open(
            path, "rb", buffering=0
        ) as file:  # no buffers, half the time: a machine that opens reads thirty files
            text = file.read().decode(errors="replace")
    except OSError:
        return None
    return text.strip("\0 \t\n") or None  # strings from the firmware end in a zero byte


def number(path: Path | str) -> int | None:
    """Return the integer in a file, or None if there is none."""
    text = read(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def allowed_cpus() -> list[int]:
    """Return the CPUs that this process may run on, lowest first."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def current_cpu() -> int | None:
    """Return the CPU on which this thread is running now, or None if the system does not report it; takes 0.2 us."""
    find = _finder_of_cpu()
    return find() if find else None


@functools.cache
def _finder_of_cpu() -> Callable[[], int] | None:
    return getattr(ctypes.PyDLL(None), "sched_getcpu", None)  # keeps the interpreter's lock, because it does not wait


def usable_cpus(root: Path = ROOT, allowed: Collection[int] | None = None) -> list[int]:
    """Return the CPUs that can be kept busy.

    They are the allowed CPUs, limited to the number of whole CPUs in the quota, but at least one.

    Parameters
    ----------
    root : Path
    allowed : collection of int, optional
        CPUs that may be used; by default those of this process's affinity.
    """
    cpus = sorted(allowed_cpus() if allowed is None else allowed)
    share = quota(root)
    return cpus if share is None else cpus[: max(1, int(share))]


def measuring_cpus(size: int) -> list[int] | bool:
    """Return the CPUs on which processors that are measured are pinned, as ``pin=`` takes them: always the first ones.

    It is False if there are fewer: then the processors have to move.
    """
    cpus = usable_cpus()
    return cpus[:size] if size <= len(cpus) else False


def places_of(size: int, cpus: Sequence[int], pin: bool | Sequence[int] | None) -> list[int | None]:
    """Return the CPU to which each processor is pinned, or None for a processor that may move; see `smp.host`."""
    if pin is True or (pin is None and size <= len(cpus)):
        if size > len(cpus):
            raise ValueError(
                f"cannot pin {size} processors: this process may use only {len(cpus)} CPU{'s' * (len(cpus) != 1)}; "
                "use fewer processors, or pin=False"
            )
        return list(cpus[:size])
    if pin is not None and pin is not False:
        try:
            named = [operator.index(cpu) for cpu in pin]
        except TypeError:
            raise TypeError(f"pin must be True, False or a sequence of CPUs, not {pin!r}") from None
        if len(named) < size or not set(named) <= set(cpus):
            raise ValueError(f"pin={named} must name at least {size} of the CPUs {cpus}, and no others")
        return list(named[:size])
    return [None] * size


def quota(root: Path = ROOT) -> float | None:
    """Return the CPU time that the control groups allow, in CPUs, or None if there is no limit."""
    allowed = []
    for folder in _cpu_folders(_listed(root), root):
        text = read(f"{folder}/cpu.max")
        amounts = text.split() if text else []
        if len(amounts) == 2 and amounts[0] != "max":
            allowed.append(int(amounts[0]) / int(amounts[1]))
        time = number(f"{folder}/cpu.cfs_quota_us")
        if time is not None and time > 0 and (period := number(f"{folder}/cpu.cfs_period_us")):
            allowed.append(time / period)
    return min(allowed, default=None)


def memory(root: Path = ROOT) -> tuple[int | None, int | None]:
    """Return the total and the available memory in bytes, within the limits of the control groups."""
    fields = {}
    for line in (read(root / "proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        if rest.strip().endswith(" kB"):
            fields[name] = int(rest.split()[0]) * 1024
    total, available = fields.get("MemTotal"), fields.get("MemAvailable")
    for folder in groups("memory", root):
        limit = number(folder / "memory.max") or number(folder / "memory.limit_in_bytes")
        if limit is not None and total is not None and limit < total:
            used = number(folder / "memory.current") or number(folder / "memory.usage_in_bytes") or 0
            used -= _page_cache(folder)
            total = limit
            available = max(0, min(limit - used, limit if available is None else available))
    return total, available


def available_memory(root: Path = ROOT) -> int:
    """Return the bytes that can still be allocated without swapping or being killed at a control group's limit."""
    available = memory(root)[1]
    if available is not None:
        return available
    try:
        return int(psutil.virtual_memory().available)
    except OSError:  # there is no /proc
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def physical_memory() -> int:
    """Return the bytes of the computer's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _page_cache(folder: Path) -> int:
    """Return the bytes of page cache that a control group is charged for, but that the kernel frees when needed."""
    told = (read(folder / "memory.stat") or "").split()
    amounts = dict(zip(told[::2], told[1::2], strict=False))
    return int(amounts.get("total_inactive_file", amounts.get("inactive_file", 0)))


def groups(controller: str, root: Path = ROOT) -> Iterator[Path]:
    """Yield the folders of this process's control groups for one controller, the innermost first.

    Version 1 has one tree for each controller, and version 2 one tree for all of them. If a container does not see a
    group's folder, the nearest visible folder above it comes first. In the extreme case this is the top of the tree,
    which is then the container's own group.
    """
    yield from _folders(_listed(root), controller, root)


def _listed(root: Path) -> str:
    """Return the text that lists this process's control groups."""
    return read(root / "proc/self/cgroup") or ""


def _folders(listed: str, controller: str, root: Path) -> Iterator[Path]:
    mounts = root / "sys/fs/cgroup"
    for line in listed.splitlines():
        number_, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number_ == "0":
            tops = [mounts, mounts / "unified"]
        elif controller in controllers.split(","):
            tops = [mounts / controller, mounts / controllers]
        else:
            continue
        inner = Path(path.lstrip("/"))
        for top in dict.fromkeys(tops):
            for step in [inner, *inner.parents]:
                if (top / step).is_dir():
                    yield top / step


@functools.lru_cache(maxsize=2)
def _cpu_folders(listed: str, root: Path) -> list[str]:
    """Return the names of the folders for the CPU time, which are kept because to find them takes 0.1 ms."""
    return [str(folder) for folder in _folders(listed, "cpu", root)]


def remedy(error: OSError | ImportError | MemoryError) -> str:
    """Return the text of a system error, the limit of this process that may have caused it, and how to raise it."""
    said = getattr(error, "strerror", None) or str(error) or "too little memory"
    code = getattr(error, "errno", None)
    if code == errno.EMFILE:
        most = _limit(resource.RLIMIT_NOFILE)
        return f"{said}: a process may have {most} files open; use fewer processors, or raise the limit (ulimit -n)"
    if code == errno.ENFILE:
        return f"{said}: all processes together have reached the system's limit (sysctl fs.file-max)"
    if code == errno.EAGAIN:
        most = _limit(resource.RLIMIT_NPROC)
        return (
            f"{said}: this user may have {most} processes and threads, and a container may allow fewer; use fewer "
            "processors, or raise the limit (ulimit -u, or the container's limit on processes)"
        )
    if code == errno.EFBIG:
        most = _limit(resource.RLIMIT_FSIZE)
        return f"{said}: a file may have {most} bytes, and shared memory counts as a file; raise the limit (ulimit -f)"
    if code == errno.ENOMEM or isinstance(error, MemoryError):
        most = _limit(resource.RLIMIT_AS)
        return (
            f"{said}: a process may have {most} bytes of address space, and {available_memory():,} bytes of memory are "
            "left; use fewer processors, free memory, or raise the limit (ulimit -v)"
        )
    if isinstance(error, OSError) and error.filename:
        said += f": {error.filename}"
    most = _limit(resource.RLIMIT_AS)
    return said if most.startswith("any") else f"{said}; a process may have {most} bytes of address space (ulimit -v)"


def address_space() -> int | None:
    """Return the bytes of address space that this process may still map, or None if there is no limit."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else max(0, most - psutil.Process().memory_info().vms)


def _limit(which: int) -> str:
    most = resource.getrlimit(which)[0]
    return "any number of" if most == resource.RLIM_INFINITY else f"at most {most:,}"
