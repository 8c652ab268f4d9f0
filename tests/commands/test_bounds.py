"""The benchmark of bounds finds hot cycles in listings of machine code, and reads what the analyser prints."""

import platform
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import bounds
from assembly import Analysis, analysed, analysis_of, blocks_of, functions_of, hot_cycle, loops_of, straight, units_of
from bounded_loops import added, lanes_of, per_lane, per_mark

LISTING = """
\t.file\t"<string>"
\t.globl\twork
\t.type\twork,@function
work:
\t.cfi_startproc
\tpushq\t%rbx
.LBB0_1:
\tmovq\t(%rdi), %rax
\tcallq\t*%rcx
\ttestq\t%rax, %rax
\tjle\t.LBB0_9
\t.p2align\t4
.LBB0_2:                                # a loop that was unrolled
\tincb\t(%rsi,%rax)
\tje\t.LBB0_4
.LBB0_3:
\tincb\t1(%rsi,%rax)
\taddq\t$2, %rax
\tcmpq\t%rax, %rdx
\tjne\t.LBB0_2
\tjmp\t.LBB0_6
.LBB0_4:
\tlock\t\txaddq\t%rax, (%rcx)
\tincb\t2(%rsi,%rax)
\tjmp\t.LBB0_3
.LBB0_6:                                # the rest
\tincb\t(%rsi,%rax)
\tdecq\t%rdx
\tjne\t.LBB0_6
\tcmpq\t%rax, %rbx
\tjne\t.LBB0_1
.LBB0_9:
\tpopq\t%rbx
\tretq
.Lfunc_end0:
\t.size\twork, .Lfunc_end0-work

\t.type\tfew,@function
few:
\tcmpq\t$4, %rdi
\tjg\t.LBB1_2
\tvpminud\t%zmm0, %zmm1, %zmm2
\tretq
.LBB1_2:
\tvpminud\t%zmm0, %zmm1, %zmm2
\tvpmaxud\t%zmm0, %ymm1, %ymm3
\tretq
.Lfunc_end1:

\t.type\t_ZN7cpythonwork,@function
_ZN7cpythonwork:
.LBB2_1:
\tincb\t(%rax)
\tincb\t(%rax)
\tincb\t(%rax)
\tjmp\t.LBB2_1
.Lfunc_end2:
\t.type\ttable,@object
table:
\t.quad\t0
"""


def test_functions_are_listed_without_directives_and_without_those_for_python() -> None:
    functions = dict(functions_of(LISTING))
    assert list(functions) == ["work", "few"]
    assert functions["few"][0] == "cmpq\t$4, %rdi"
    assert not [line for lines in functions.values() for line in lines if line.startswith(".p2") or "#" in line]


def test_blocks_end_at_jumps_and_know_the_blocks_after_them() -> None:
    blocks = blocks_of(dict(functions_of(LISTING))["work"])
    assert blocks[""].following == (".LBB0_1",)
    assert blocks[".LBB0_2"] == (("incb\t(%rsi,%rax)", "je\t.LBB0_4"), (".LBB0_4", ".LBB0_3"))
    assert blocks[".LBB0_3+"].following == (".LBB0_6",)  # a jump without a condition
    assert blocks[".LBB0_9"].following == ()


def test_loops_are_found_by_their_jumps_back() -> None:
    loops = loops_of(blocks_of(dict(functions_of(LISTING))["work"]))
    assert loops[".LBB0_2"] == {".LBB0_2", ".LBB0_3", ".LBB0_4"}
    assert loops[".LBB0_6"] == {".LBB0_6"}
    assert set(loops) == {".LBB0_1", ".LBB0_2", ".LBB0_6"}
    assert loops[".LBB0_1"] > loops[".LBB0_2"] | loops[".LBB0_6"]


def test_a_jump_into_the_middle_of_a_circle_makes_no_loop() -> None:
    """Neither block of the circle is one that every way passes."""
    blocks = blocks_of(["je\tb", "a:", "nop", "b:", "nop", "jne\ta", "retq"])
    assert loops_of(blocks) == {}


def test_the_hot_cycle_has_most_marks_and_leaves_seldom_ways_out() -> None:
    hot = hot_cycle(LISTING, "incb", without="call|lock")
    assert hot is not None
    assert [line.split("\t")[0] for line in hot.code] == ["incb", "je", "incb", "addq", "cmpq", "jne"]
    assert hot.marks == ("incb\t(%rsi,%rax)", "incb\t1(%rsi,%rax)")
    seldom = hot_cycle(LISTING, "incb")
    assert seldom is not None
    assert len(seldom.marks) == 3


def test_a_loop_around_a_call_is_not_hot() -> None:
    assert hot_cycle(LISTING, "movq") is None
    around = hot_cycle(LISTING, "movq", without="lock")
    assert around is not None
    assert around.code[:2] == ("movq\t(%rdi), %rax", "callq\t*%rcx")


def test_of_equal_loops_the_first_is_hot() -> None:
    body = (
        "\t.type\tf,@function\nf:\na:\n\tincb\t1(%rax)\n\tjne\ta\nb:\n\tincb\t2(%rax)\n\tjne\tb\n\tretq\n.Lfunc_end0:\n"
    )
    hot = hot_cycle(body, "incb")
    assert hot is not None
    assert hot.marks == ("incb\t1(%rax)",)


def test_a_function_without_a_loop_is_a_cycle_of_its_own() -> None:
    hot = hot_cycle(LISTING, "vpmin|vpmax")
    assert hot is not None
    assert [line.split("\t")[0] for line in hot.code] == ["cmpq", "jg", "vpminud", "vpmaxud", "retq"]


def test_a_listing_without_a_mark_has_no_hot_cycle() -> None:
    assert hot_cycle(LISTING, "vdivpd") is None
    assert hot_cycle("", "incb") is None


def test_units_of_a_round_are_counted_by_marks_or_by_lanes() -> None:
    marks = ("vmulpd\t%zmm0, %zmm1, %zmm2", "vmulpd\t%ymm0, %ymm1, %ymm2", "vcvttpd2dq\t%zmm1, %ymm1")
    assert [lanes_of(line, 8) for line in marks] == [8, 4, 8]
    assert per_lane(8, 2)(marks) == 10
    assert per_lane(4)(marks) == 40
    assert per_mark(3)(marks) == 9


def test_jumps_of_a_cycle_go_on_to_the_next_line() -> None:
    assert straight(["incb\t(%rax)", "je\t.LBB0_4", "decq\t%rdx"]) == "incb\t(%rax)\nje .Lnext1\n.Lnext1:\ndecq\t%rdx\n"


def document(busy: dict[str, float], cycles: int, operations: int) -> dict[str, Any]:
    """Return a JSON document as the analyser prints it, for 100 rounds of two instructions."""
    usage = [{"InstructionIndex": 2, "ResourceIndex": k, "ResourceUsage": each} for k, each in enumerate(busy.values())]
    usage += [{"InstructionIndex": 0, "ResourceIndex": 0, "ResourceUsage": 99}]  # of one instruction
    return {
        "CodeRegions": [
            {
                "Instructions": ["incq %rax", "decq %rbx"],
                "ResourcePressureView": {"ResourcePressureInfo": usage},
                "SummaryView": {
                    "DispatchWidth": 6,
                    "Iterations": 100,
                    "TotalCycles": 100 * cycles,
                    "TotaluOps": 100 * operations,
                },
            }
        ],
        "TargetInfo": {"CPUName": "znver4", "Resources": list(busy)},
    }


def test_the_bound_is_a_busy_unit_the_dispatch_or_a_chain() -> None:
    busy = {"Zn4ALU0": 1.0, "Zn4FP1": 9.5, "Zn4FP2": 9.9, "Zn4LSU.\x00": 2.0}
    assert analysis_of(document(busy, 10, 12)) == Analysis(10.0, 6, 12.0, busy)
    assert analysis_of(document(busy, 10, 12)).bound() == "vectors (FP1, FP2)"
    assert analysis_of(document(busy, 10, 60)).bound() == "dispatch of 6 operations a clock"
    assert analysis_of(document(busy, 20, 60)).bound() == "chain of results"


def test_units_are_named_without_the_cpu_and_each_once() -> None:
    assert units_of(["Zn4LSU.\x00", "Zn4LSU.\x01", "Zn4AGU2"]) == "loads and stores (LSU); addresses (AGU2)"
    assert units_of(["SKXPort5", "Zn3FP1"]) == "Port5; vectors (FP1)"


def test_an_analyser_that_does_not_know_the_cpu_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    script = tmp_path / "analyser"
    script.write_text("#!/bin/sh\necho 'error: no table of that CPU' >&2\nexit 1\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(RuntimeError, match=r"for the CPU some: error: no table of that CPU\. .*--cpu names another"):
        analysed(str(script), "some", ["incq\t%rax"])


def test_without_an_analyser_the_command_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bounds.py", "--analyser", "no-such-analyser"])
    bounds.main()
    assert "apt-get install llvm-19" in capsys.readouterr().out


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the instructions are those of x86")
def test_the_code_of_a_loop_is_what_the_compiler_makes_of_it() -> None:
    words = np.zeros(1, np.int64)
    hot = hot_cycle(bounds.listing_of(added, (words, 9)), "lock")
    assert words[0] == 9
    assert hot is not None
    assert all("(" in line for line in hot.marks)
