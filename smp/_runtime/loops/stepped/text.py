"""Machine code of loops on an emulated machine: each instruction on shared words is preceded by a call of a hook.

    %old = atomicrmw add ptr %p, i64 1 seq_cst          call i64 @smp_step(i64 6, i64 %at)   another stream may run here
                                                  ─▶    %old = atomicrmw add ptr %p, i64 1 seq_cst
    call void @llvm.x86.sse2.pause()              ─▶    call i64 @smp_pause()
    call i64 @syscall(i64 202, ...)               ─▶    call i64 @smp_wait(...) or @smp_wake(...)
    call i32 @clock_gettime(i32 1, ptr %t)        ─▶    a store of what @smp_clock() returns; of @smp_stamp() for 7

So a loop needs no second definition for emulated machines: the instructions are those of the host, in the text that
LLVM prints after its optimisations.  The hooks are those of ``emulated.clocked``.  A hook may have to end the loop in
the middle, so the loop's entry from Python notes where such a jump lands (``setjmp``).
"""

from __future__ import annotations

import ctypes
import functools
import platform
import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..system_calls import FUTEX, LINUX, SINCE_START

KINDS = ("load", "store_release", "store", "exchange", "compare_exchange", "compare_exchange_pair", "fetch_add")
"""Kinds of steps that an instruction makes, in the order of their numbers."""
HOOKS = {
    "smp_step": 2,
    "smp_changed": 1,
    "smp_pause": 0,
    "smp_clock": 0,
    "smp_stamp": 0,
    "smp_wait": 3,
    "smp_wake": 2,
    "smp_enter": 1,
    "smp_leave": 1,
}
"""The hooks, with the number of their arguments."""
POSSIBLE = LINUX and platform.machine() in ("x86_64", "aarch64")
"""True if all steps can be found in machine code of this computer: elsewhere, a pause is no instruction."""
KEY = "smp_key_of_thread"
_BUFFER = 40  # words of a landing: as many as the longest ``jmp_buf`` has, that of aarch64

_LOAD = re.compile(r"= load atomic .*, ptr (.+) seq_cst, ")
_STORE = re.compile(r"^ *store atomic .*, ptr (.+) (seq_cst|release), ")
_RMW = re.compile(r"(%\S+) = atomicrmw (?:volatile )?(\w+) ptr (.+), (i\d+) (\S+) seq_cst, ")
_CMPXCHG = re.compile(r"(%\S+) = cmpxchg (?:weak )?ptr (.+), (i\d+) \S+, i\d+ \S+ seq_cst seq_cst, ")
_PAUSES = re.compile(r"call void @llvm\.(?:x86\.sse2\.pause\(|aarch64\.hint\(i32 1)")
_SYSCALL = re.compile(r"^( *)(?:(%\S+) = )?(?:tail |notail )?call i64 @syscall\((.*)\)")
_ATTRIBUTES = re.compile(r"\b(?:noundef|range\([^)]*\)) ")  # what LLVM knows about an argument
_CLOCK = re.compile(r"^ *(?:%\S+ = )?(?:tail |notail )?call i32 @clock_gettime\(i32 ([^,]+), ptr (?:\w+ )*(%[^)]+)\)")
_NAME = r'@("[^"]+"|[\w.$-]+)'
_SHARED = re.compile(rf"^define (?:linkonce_odr|weak_odr|linkonce|weak|internal|private) ([^@]*){_NAME}", re.MULTILINE)


@functools.cache
def key_of_thread() -> int:
    """Return the key under which a thread keeps the address of the machine that runs in it."""
    from llvmlite.binding import add_symbol

    key = np.zeros(1, np.uint32)
    if ctypes.CDLL(None).pthread_key_create(ctypes.c_void_p(key.ctypes.data), None):
        raise OSError("the C library gives out no further keys of threads")
    _kept.append(key)
    add_symbol(KEY, key.ctypes.data)
    return int(key[0])


_kept: list[Any] = []  # memory that machine code refers to


def set_running_machine(address: int) -> None:
    """Let the hooks that this thread calls find the machine at an address; 0 for none."""
    _function("pthread_setspecific", ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(key_of_thread(), address)


@functools.cache
def _function(name: str, result: Any, *types: Any) -> Callable[..., Any]:
    """Return a function of the C library."""
    function = getattr(ctypes.PyDLL(None), name)
    function.restype, function.argtypes = result, types
    return cast("Callable[..., Any]", function)


def running_address() -> int:
    """Return the address that `set_running_machine` was given last in this thread, or 0."""
    return int(_function("pthread_getspecific", ctypes.c_void_p, ctypes.c_uint32)(key_of_thread()) or 0)


def running_machine() -> int:
    """Return the address of the machine that runs in this thread; only machine code calls it."""
    raise NotImplementedError


def instrument(text: str) -> str:
    """Return a module of LLVM's language in which each step calls its hook first.

    Functions that several modules define become this module's own, with names of their own: another module has them
    without hooks, and LLVM's linker takes a function of any module for one that several define, even an internal one.
    """
    lines: list[str] = []
    for number, line in enumerate(_with_own_functions(text).split("\n")):
        lines += _stepped(line, number) if line.startswith("  ") else [line]
    declared = [f"declare i64 @{name}({', '.join(['i64'] * n)})" for name, n in HOOKS.items()]
    return "\n".join(lines + [one for one in declared if one not in text])


def _with_own_functions(text: str) -> str:
    names = {found[2] for found in _SHARED.finditer(text)}

    def renamed(found: re.Match[str]) -> str:
        return f'@"{found[1].strip(chr(34))}.stepped"' if found[1] in names else found[0]

    return re.sub(_NAME, renamed, _SHARED.sub(r"define internal \1@\2", text))


def _stepped(line: str, number: int) -> list[str]:
    """Return an instruction with the calls of hooks that belong to it; the number makes names of their own."""

    def step(kind: str, pointer: str) -> list[str]:
        return [
            f"  %smp.{number}.at = ptrtoint ptr {pointer} to i64",
            f"  %smp.{number}.step = call i64 @smp_step(i64 {KINDS.index(kind)}, i64 %smp.{number}.at)",
        ]

    def changed(condition: str) -> list[str]:
        return [
            f"  %smp.{number}.wide = zext i1 {condition} to i64",
            f"  %smp.{number}.noted = call i64 @smp_changed(i64 %smp.{number}.wide)",
        ]

    if found := _LOAD.search(line):
        return [*step("load", found[1]), line]
    if found := _STORE.search(line):
        return [*step("store" if found[2] == "seq_cst" else "store_release", found[1]), line]
    if found := _RMW.search(line):
        if found[2] != "xchg":
            return [*step("fetch_add", found[3]), line]
        differs = f"  %smp.{number}.differs = icmp ne {found[4]} {found[1]}, {found[5]}"
        return [*step("exchange", found[3]), line, differs, *changed(f"%smp.{number}.differs")]
    if found := _CMPXCHG.search(line):
        kind = "compare_exchange_pair" if found[3] == "i128" else "compare_exchange"
        done = f"  %smp.{number}.done = extractvalue {{ {found[3]}, i1 }} {found[1]}, 1"
        return [*step(kind, found[2]), line, done, *changed(f"%smp.{number}.done")]
    if _PAUSES.search(line):
        return [f"  %smp.{number}.pause = call i64 @smp_pause()"]
    if found := _CLOCK.search(line):
        return _clock("smp_stamp" if found[1] == str(SINCE_START) else "smp_clock", found[2], number)
    if (found := _SYSCALL.search(line)) and (words := _ATTRIBUTES.sub("", found[3]).split(", "))[0] == f"i64 {FUTEX}":
        result = found[2] or f"%smp.{number}.result"
        if words[2] == "i64 1":
            return [f"  {result} = call i64 @smp_wake({words[1]}, {words[3]})"]
        return [
            *_nanoseconds(words[4], number),
            f"  {result} = call i64 @smp_wait({words[1]}, {words[3]}, {_ns(number)})",
        ]
    return [line]


def _ns(number: int) -> str:
    return f"i64 %smp.{number}.ns"


def _nanoseconds(when: str, number: int) -> list[str]:
    """Return instructions that turn the time at an address, of seconds and nanoseconds, into nanoseconds."""
    name = f"%smp.{number}"
    return [
        f"  {name}.at = inttoptr {when} to ptr",
        f"  {name}.seconds = load i64, ptr {name}.at",
        f"  {name}.beside = getelementptr i64, ptr {name}.at, i64 1",
        f"  {name}.rest = load i64, ptr {name}.beside",
        f"  {name}.whole = mul i64 {name}.seconds, 1000000000",
        f"  {name}.ns = add i64 {name}.whole, {name}.rest",
    ]


def _clock(hook: str, pointer: str, number: int) -> list[str]:
    """Return instructions that store virtual time where the system's clock would store seconds and nanoseconds."""
    name = f"%smp.{number}"
    return [
        f"  {name}.now = call i64 @{hook}()",
        f"  {name}.seconds = sdiv i64 {name}.now, 1000000000",
        f"  {name}.rest = srem i64 {name}.now, 1000000000",
        f"  store i64 {name}.seconds, ptr {pointer}",
        f"  {name}.beside = getelementptr i64, ptr {pointer}, i64 1",
        f"  store i64 {name}.rest, ptr {name}.beside",
    ]


def landing(entry: str, parameters: list[str], result: str, failed: str) -> str:
    """Return a function that calls ``entry``, and returns ``failed`` if a hook leaves it by a jump.

    Its name is that of ``entry`` with the ending ``.landing``.

    Parameters
    ----------
    entry : str
        Name of a function, without the ``@``.
    parameters : list of str
        Types of its parameters.
    result : str
        Type of its result.
    failed : str
    """
    taken = ", ".join(f"{kind} %{k}" for k, kind in enumerate(parameters))
    return f"""
declare i32 @_setjmp(ptr) returns_twice
define {result} @"{entry}.landing"({taken}) returns_twice noinline {{
  %buffer = alloca [{_BUFFER} x i64], align 16
  %outer = alloca i64
  %at = ptrtoint ptr %buffer to i64
  %before = call i64 @smp_enter(i64 %at)
  store volatile i64 %before, ptr %outer
  %again = call i32 @_setjmp(ptr %buffer) returns_twice
  %first = icmp eq i32 %again, 0
  br i1 %first, label %go, label %left
go:
  %result = call {result} @"{entry}"({taken})
  %kept = load volatile i64, ptr %outer
  %went = call i64 @smp_leave(i64 %kept)
  ret {result} %result
left:
  %held = load volatile i64, ptr %outer
  %gone = call i64 @smp_leave(i64 %held)
  ret {result} {failed}
}}
"""
