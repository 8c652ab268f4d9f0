"""The text of machine code gets a call before each instruction on shared words."""

import llvmlite.binding as llvm
import pytest

from smp._runtime.loops.stepped.library import apart, with_landing
from smp._runtime.loops.stepped.text import HOOKS, KINDS, POSSIBLE, instrument
from smp._runtime.loops.system_calls import FUTEX

MODULE = """
declare i64 @syscall(i64, i64, i64, i64, i64, i64, i64)
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.x86.sse2.pause()
define i64 @f(ptr %p, i64 %v) {{
  {line}
  ret i64 %v
}}
"""


def stepped(line: str) -> str:
    """Return the instrumented function; LLVM accepts the module."""
    text = instrument(MODULE.format(line=line))
    llvm.parse_assembly(text).verify()
    return text[text.index("define ") : text.index("\n}")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("%a = load atomic i64, ptr %p seq_cst, align 8", "load"),
        ("%a = load atomic float, ptr %p seq_cst, align 4", "load"),
        ("store atomic i64 %v, ptr %p seq_cst, align 8", "store"),
        ("store atomic i64 7, ptr %p release, align 8", "store_release"),
        ("%a = atomicrmw add ptr %p, i64 %v seq_cst, align 8", "fetch_add"),
        ("%a = atomicrmw or ptr %p, i64 0 seq_cst, align 8", "fetch_add"),
        ("%a = atomicrmw xchg ptr %p, i64 %v seq_cst, align 8", "exchange"),
        ("%a = cmpxchg ptr %p, i64 1, i64 %v seq_cst seq_cst, align 8", "compare_exchange"),
        ("%a = cmpxchg ptr %p, i128 1, i128 2 seq_cst seq_cst, align 16", "compare_exchange_pair"),
    ],
)
def test_an_instruction_on_a_shared_word_is_one_step(line: str, kind: str) -> None:
    before, after = stepped(line).split(line)
    *_, pointer, step = before.rstrip().split("\n")
    at, _, made = pointer.strip().partition(" = ")
    assert made == "ptrtoint ptr %p to i64"
    assert step.endswith(f"call i64 @smp_step(i64 {KINDS.index(kind)}, i64 {at})")
    assert ("@smp_changed" in after) == (kind in ("exchange", "compare_exchange", "compare_exchange_pair"))
    assert "@smp_step" not in after


@pytest.mark.parametrize(
    "line",
    [
        "%a = load i64, ptr %p, align 8",
        "store i64 %v, ptr %p, align 8",
        "%a = atomicrmw add ptr %p, i64 1 monotonic, align 8",  # a counter of references
        "%a = call i64 @syscall(i64 1, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0)",
    ],
)
def test_other_instructions_are_no_steps(line: str) -> None:
    assert line in stepped(line)
    assert "smp_" not in stepped(line)


@pytest.mark.skipif(not POSSIBLE, reason="no machine code makes steps on this computer")
def test_waiting_is_left_to_the_emulator() -> None:
    assert "call void" not in stepped("tail call void @llvm.x86.sse2.pause()")
    word = "i64 ptrtoint (ptr null to i64)"
    for when in ("%v", "noundef range(i64 1, 9) %v"):  # LLVM adds what it knows about an argument
        sleep = stepped(f"%a = tail call i64 @syscall(i64 {FUTEX}, i64 %v, i64 0, i64 5, i64 {when}, i64 0, i64 0) #3")
        assert "%a = call i64 @smp_wait(i64 %v, i64 5, i64 %smp." in sleep
        assert "@syscall" not in sleep
    wake = stepped(f"%a = call i64 @syscall(i64 {FUTEX}, {word}, i64 1, i64 3, i64 0, i64 0, i64 0)")
    assert f"%a = call i64 @smp_wake({word}, i64 3)" in wake


def test_the_clock_is_virtual() -> None:
    read = stepped("%a = call i32 @clock_gettime(i32 1, ptr nonnull %p)")
    assert "@clock_gettime" not in read
    assert read.count("store i64") == 2


@pytest.mark.parametrize("name", ["f", '"f[abi:v1]"'])
@pytest.mark.parametrize("linkage", ["linkonce_odr", "weak_odr", "weak", "internal"])
def test_no_other_module_can_take_the_place_of_a_function(linkage: str, name: str) -> None:
    text = f"define {linkage} noundef i64 @{name}(i64 %v) {{\n  %a = call i64 @{name}(i64 %v)\n  ret i64 %a\n}}"
    made = instrument(text)
    llvm.parse_assembly(made).verify()
    own = f'@"{name.strip(chr(34))}.stepped"'
    assert f"define internal noundef i64 {own}(i64 %v)" in made
    assert f"call i64 {own}(i64 %v)" in made
    assert f"@{name}(" not in made


def test_python_enters_a_loop_through_its_landing() -> None:
    text = """
define i32 @loop(ptr noalias nocapture %ret, ptr %excinfo, { i64, i64 } %pair, [2 x double] %two, i64 %n) #0 {
  ret i32 0
}
define ptr @wrapper(ptr %self) {
  %made = call i32 @loop(ptr null, ptr null, { i64, i64 } zeroinitializer, [2 x double] zeroinitializer, i64 3)
  ret ptr null
}
attributes #0 = { noinline }
"""
    made = with_landing(instrument(text), "wrapper", "loop")
    llvm.parse_assembly(made).verify()
    assert '%made = call i32 @"loop.landing"(ptr null' in made
    assert 'define i32 @"loop.landing"(ptr %0, ptr %1, { i64, i64 } %2, [2 x double] %3, i64 %4)' in made


def test_a_loop_is_kept_apart_from_its_wrapper() -> None:
    text = """
define linkonce_odr i32 @"a.loop"(ptr %ret, { i64, i64 } %pair) #0 {
  ret i32 0
}
define ptr @wrapper(ptr %self) {
  %made = call i32 @"a.loop"(ptr null, { i64, i64 } zeroinitializer)
  ret ptr null
}
attributes #0 = { nounwind }
"""
    made = llvm.parse_assembly(apart(text, "a.loop"))
    made.verify()
    assert b"noinline" in b" ".join(made.get_function("a.loop").attributes)
    assert b"noinline" not in b" ".join(made.get_function("wrapper").attributes)


def test_all_hooks_are_declared() -> None:
    text = instrument("")
    assert all(f"declare i64 @{name}(" in text for name in HOOKS)
