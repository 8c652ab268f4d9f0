"""Figures 3 and 4: the latency of a load, and of an instruction word."""

from __future__ import annotations

from smp._output.figure import Axis, Figure, Mark, Panel, Series
from smp._runtime.emulated.multithreaded.experiments.latencies import memory_latency, word_latency
from smp._runtime.emulated.multithreaded.settings import WORD_BYTES
from smp.machines import MachineFile

from ..rows import Part, Row, near

SIZES = tuple(1024 << k for k in range(15))  # 1 KB to 16 MB
STREAMS = (1, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80)
BUMP = "The study saw a slight bump above 128 KB, when the machine was loaded; it is not modelled."


def part(machine: MachineFile, quick: bool) -> Part:
    """Measure both latencies."""
    sizes = SIZES[::2] if quick else SIZES
    loads = {size: [(step, memory_latency(machine, size, step)) for step in _strides(size, quick)] for size in sizes}
    words = {k: word_latency(machine, k, 1024 if quick else 8192) for k in STREAMS}
    cold = [cycles for size, found in loads.items() for step, cycles in found if size // step > 1024]
    same = [cycles for size, found in loads.items() for step, cycles in found if step == size]
    knee = max(n for n in range(64, 1025, 16) if memory_latency(machine, n * WORD_BYTES, WORD_BYTES) < (170 + 115) / 2)
    rows = [
        near("figure 3", "a load, stride well below the length", 170, sum(cold) / len(cold), "cycles", "set", 0.01),
        near("figure 3", "a load, always the same word", 115, sum(same) / len(same), "cycles", "set", 0.01),
        Row("figure 3", "spread over the sizes", "flat", max(cold) / min(cold) - 1, "", "pred", 0, 0.02),
        Row("figure 3", "distinct words at half the fall", "256 or fewer", knee, "words", "pred", 128, 512),
    ]
    for k in (1, 20, 40, 60, 80):
        printed = 21 if k == 1 else k + 20
        kind = "set" if k == 40 else "pred"
        rows.append(near("figure 4", f"an instruction word, {k} streams", printed, words[k], "cycles", kind, 0.1))
    assert machine.streams is not None
    background = machine.streams.background
    rows.append(Row("section 3.1.2", "streams of the runtime", "less than 10", background, "streams", "shown"))
    return Part("latencies", rows, [_figure_3(loads), _figure_4(words)], data={"loads": loads, "words": words})


def _strides(size: int, quick: bool) -> list[int]:
    step = 2 if quick else 1
    powers = [WORD_BYTES << k for k in range(0, 30, step) if WORD_BYTES << k <= size]
    return [*powers, size] if powers[-1] != size else powers


def _figure_3(loads: dict[int, list[tuple[int, float]]]) -> Figure:
    series = [
        Series(
            f"{size >> 10} KB" if size < 1 << 20 else f"{size >> 20} MB",
            [step for step, _ in found],
            [cycles for _, cycles in found],
            shade=k / (len(loads) - 1),
            marker=0,
        )
        for k, (size, found) in enumerate(loads.items())
    ]
    marks = [Mark(170, text="printed: 170", axis="y", dash="dashed"), Mark(115, text="printed: 115", axis="y")]
    return Figure(
        "mta-figure-03",
        "Latency of a load by stride and size of the array (figure 3)",
        "One stream loads words, each at the address that the load before has given.",
        [
            Panel(
                Axis("stride", "bytes", "log"), Axis("time of a load", "cycles", low=110, high=180), series, marks=marks
            )
        ],
        legend="array",
        remarks="At the right end of each line all loads are of one word. " + BUMP,
    )


def _figure_4(words: dict[int, float]) -> Figure:
    streams = list(words)
    series = [
        Series("emulated", streams, list(words.values()), marker=0),
        Series("printed rule: streams + 20", streams, [k + 20 for k in streams], colour=6, dash="dashed"),
    ]
    return Figure(
        "mta-figure-04",
        "Time from one instruction word of a stream to the next (figure 4)",
        "All streams read the clock again and again.",
        [Panel(Axis("streams", low=0, high=80), Axis("time of a word", "cycles", low=0, high=160), series)],
        legend_at="upper left",
        remarks="The axes are those of the study, which also saw large deviations from run to run. Here 20 streams of "
        "the runtime are always ready, which gives its rule; its text has fewer than ten.",
    )
