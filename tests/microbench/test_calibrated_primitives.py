"""The models of the runtime's primitives: what each burst does, what a sample is, and the chain to the printed table.

On an emulated machine under ``schedule="clock"`` the times of primitives follow from the charges, so the fitted models
are compared with counts by hand.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.reports import printed
from support.sampled import each

import smp
from smp._runtime.protocols.wait import ROUND
from smp.errors import ModelError
from smp.microbench import command
from smp.microbench.calibration import kernels as calibration
from smp.microbench.calibration import plots, tables
from smp.microbench.calibration.primitives import bench as bench_module
from smp.microbench.calibration.primitives import sending
from smp.microbench.calibration.primitives.bench import RUNS, SLOW, Bench
from smp.microbench.calibration.primitives.primitive import Effort, Primitive, Timed, sample
from smp.microbench.calibration.primitives.suite import GROUPS, suite_of, terms
from smp.microbench.calibration.primitives.table import readable
from smp.models.fit.model import Model
from smp.selection import kept, timings
from smp.selection.suite import Suite

ALL = {each.name: each for group in GROUPS.values() for each in group}
NAMED = """
barrier, start of a barrier, done, any, any_flag, flag, reduce, scan, exclusive scan, segmented scan, scan along,
broadcast, mean, variance, median, send, send both ways, request, reply, try_send without room, poll in vain, receive,
round trip, from asleep to handled, block by copy, block by copy both ways, start_block and serve_blocks, transpose,
transpose by permutations, transpose without barriers, clear memory, empty superstep, log, print, state
"""
CALLS = 24
SIZES = {"length": 10, "transfers": 2}
DONE = {
    # (rounds of the barrier, messages sent) of processor 0 in a burst of 24 calls on two processors
    **dict.fromkeys(["barrier", "any", "mean", "variance", "median", "broadcast", "transpose"], (24, 0)),
    **dict.fromkeys(["reduce", "scan", "exclusive scan", "segmented scan", "scan along"], (24, 0)),
    **dict.fromkeys(["any_flag", "flag", "poll in vain", "clear memory", "log", "print", "state"], (0, 0)),
    "start of a barrier": (6, 0),  # two groups of three
    "done": (1, 0),
    "send": (3, 24),  # a barrier after each group of eight
    "request": (3, 24),
    "send both ways": (0, 24),
    "reply": (1, 3 + 24),  # three requests, each with eight replies
    "try_send without room": (2, 64),  # until the ring is full
    "receive": (2, 100),
    "round trip": (0, 24),
    "from asleep to handled": (0, 8),
    "block by copy": (0, 24),
    "block by copy, both ways": (0, 24),
    "start_block and serve_blocks": (0, 2 * 24),
    "transpose by permutations": (24, 24),
    "transpose without barriers": (0, 24),
    "empty superstep": (3 * 24, 0),
}


def emulated(p: int, **charges: int) -> smp.Machine:
    return smp.emulated(p, schedule="clock", limit=10**8, charges=smp.Charges(**charges))


@pytest.fixture(scope="module", params=["host", "emulated"])
def machine(request: pytest.FixtureRequest) -> Iterator[smp.Machine]:
    with smp.host(2) if request.param == "host" else emulated(2) as opened:
        yield opened


def sizes_of(primitive: Primitive) -> dict[str, int]:
    return {name: SIZES[name] for name in primitive.sizes}


# ------------------------------------------------------------------------------------------------------- the bursts


def test_each_primitive_is_listed_once_with_the_unit_of_its_length() -> None:
    names = [each.name for group in GROUPS.values() for each in group]
    assert [name.replace(",", "") for name in names] == [name.strip() for name in NAMED.replace("\n", " ").split(",")]
    assert len(set(names)) == len(names) >= 30
    assert all(bool(each.unit) == ("length" in each.sizes) for each in ALL.values())
    assert set(DONE) == set(names)


def counted(proc: smp.Processor, make: Callable[..., Any], sizes: dict[str, int]) -> tuple[float, int, int]:
    """Return the seconds of a burst, its rounds of the barrier, and the messages that it has sent."""

    def counts() -> np.ndarray[Any, Any]:
        messenger = proc._messenger
        return np.array([proc._port.memory.sync[ROUND], 0 if messenger is None else messenger.totals()[0]])  # type: ignore

    burst = make(proc, **sizes)
    burst(1)
    before = counts()
    proc.barrier()  # in which a handler may answer the first messages of the other's burst
    seconds = burst(CALLS)
    rounds, sent = counts() - before
    return seconds, int(rounds) - 1, int(sent)


@pytest.mark.parametrize("name", each(3, ALL))
def test_a_burst_does_its_calls(name: str, machine: smp.Machine) -> None:
    primitive = ALL[name]
    found = machine.run(counted, primitive.make, sizes_of(primitive)).results
    rounds, sent = found[0][1:]
    if name == "receive":
        assert 64 <= sent <= 100, "a ring may have less room than 64, while some credit is not given back"
        sent = 100
    assert (rounds, sent) == DONE[name]
    timed = [seconds for seconds, *_ in found if not math.isnan(seconds)]
    assert timed
    assert min(timed) >= 0.0


def test_long_vectors_take_two_barriers(machine: smp.Machine) -> None:
    for name in ("reduce", "scan", "exclusive scan", "segmented scan"):
        assert machine.run(counted, ALL[name].make, {"length": 9000}).results[0][1] == 2 * CALLS


def test_log_print_and_state_are_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with emulated(2) as opened:
        opened.run(counted, ALL["log"].make, {}, log=tmp_path / "log")
        assert (tmp_path / "log").read_text().count("an entry of the log") == 2 * (CALLS + 1)
        opened.run(counted, ALL["print"].make, {})
        assert capsys.readouterr().out.count("a line of text\n") == 2 * (CALLS + 1)
        states = opened.run(counted, ALL["state"].make, {}).states
        assert np.count_nonzero(states["state"] == "one") == 2 * (CALLS + 1)


def test_flags_are_up_after_a_burst(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[bool, bool]:
        flag(proc)(3)
        proc.barrier()
        up = proc.any_flag()
        proc.barrier()
        return up, proc.flag(False)

    flag = ALL["flag"].make
    assert machine.run(program).results == [(True, True)] * 2


def test_receiving_is_the_difference_to_polls_that_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two packets, three polls take five looks and without them three: two looks are of the packets."""
    monkeypatch.setattr(sending, "WAITING", 2)
    with emulated(2, load=7) as opened:
        seconds = opened.run(lambda proc: receive(proc)(1)).results if (receive := sending.receive) else []
    assert seconds == pytest.approx([7e-9, 7e-9])


# ------------------------------------------------------------------------------------------------------- the samples


def test_each_processor_takes_all_bursts_of_a_sample(machine: smp.Machine) -> None:
    found = machine.run(sample, ALL["barrier"].make, {}, Effort(bursts=5, calls=10)).results
    assert [len(bursts) for bursts in found] == [5, 5]
    assert all(isinstance(each, Timed) and each.seconds > 0 for bursts in found for each in bursts)


class Prepared:
    """A machine whose runs return prepared bursts, (seconds, seconds of the reference loop), for both processors."""

    def __init__(self, *runs: list[tuple[float, float]]) -> None:
        self.runs, self.made = runs, 0

    def run(self, *_: Any, **__: Any) -> Any:
        self.made += 1
        rows = [Timed(*each) for each in self.runs[min(self.made, len(self.runs)) - 1]]
        other = [Timed(math.nan, 1.0)] * len(rows)

        class Run:
            results = (rows, other)

        return Run()


def test_bursts_on_a_slow_cpu_do_not_count() -> None:
    slow, fast = 2 * SLOW, 1.0
    machine = Prepared([(5.0, fast), (9.0, slow), (4.0, fast), (1.0, slow), (6.0, fast), (7.0, fast)])
    bench = Bench(lambda p: machine, Effort(bursts=6))  # type: ignore[arg-type, return-value]
    assert bench.seconds(ALL["barrier"], 2, 0) == np.percentile([5.0, 4.0, 6.0, 7.0], 25)
    assert machine.made == 1


def test_a_sample_on_a_slow_cpu_is_taken_again_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = [(9.0, 2 * SLOW)] * 4
    machine = Prepared([(3.0, 1.0)] * 4, slow, slow, [(4.0, 1.0)] * 4, *[slow] * 50)
    bench = Bench(lambda p: machine, Effort(bursts=4))  # type: ignore[arg-type, return-value]
    assert [bench.seconds(ALL["barrier"], 2, 0) for _ in range(3)] == [3.0, 4.0, 9.0]
    assert machine.made == 1 + 3 + RUNS
    monkeypatch.setattr(bench_module, "MOST_S", -1.0)
    assert bench.seconds(ALL["barrier"], 2, 0) == 9.0
    assert machine.made == 1 + 3 + RUNS + 1, "the time for repeated runs is over"


def test_only_primitives_with_sizes_are_given_some() -> None:
    made = []

    class Noted(Prepared):
        def run(self, program: Any, make: Any, sizes: Any, *_: Any, **__: Any) -> Any:
            made.append(sizes)
            return super().run()

    bench = Bench(lambda p: Noted([(1.0, 1.0)]), Effort(bursts=1))  # type: ignore[arg-type, return-value]
    bench.seconds(ALL["barrier"], 2, 5)
    bench.seconds(ALL["start_block and serve_blocks"], 2, 4, 1000)
    assert made == [{}, {"transfers": 4, "length": 1000}]


def test_printed_lines_do_not_reach_the_output(capfd: pytest.CaptureFixture[str]) -> None:
    with smp.host(2) as opened:
        assert Bench(lambda p: opened, Effort(2, 5)).seconds(ALL["print"], 2) > 0
    assert capfd.readouterr().out == ""


# -------------------------------------------------------------------------------------------------------- the models


def some(machine: Callable[[int], smp.Machine], *names: str, processors: tuple[int, ...] = (2,)) -> Suite:
    """Return the suite with some of the primitives, whose samples are small."""
    whole = suite_of(processors, machine, Effort(bursts=1, calls=8))
    return Suite(whole.name, [each for each in whole.specifications() if each.name.split("/")[1] in names])


def test_models_of_an_emulated_machine_are_those_counted_by_hand() -> None:
    """In a barrier, the last to arrive looks at the abort word, adds, looks for sleepers, and looks at the sum twice.

    A post is an exchange and a look at the receiver's inbox.  A copy by NumPy takes no virtual time.
    """
    charges = {"load": 3, "fetch_add": 20, "exchange": 70}
    waits = {"futex_wait": 0, "futex_wake": 0, "woken": 0}
    made = smp.calibrate(some(lambda p: emulated(p, **charges, **waits), "barrier", "send"), verification=5).models
    without = {**charges, "fetch_add": 0}  # of a wake-up, which some of the blocks need
    made |= smp.calibrate(some(lambda p: emulated(p, **without, **waits), "block by copy"), verification=5).models
    for name, sizes, ns in (("barrier", {}, 4 * 3 + 20), ("send", {}, 70 + 3), ("block by copy", {"length": 1e5}, 73)):
        assert float(made[name].of({"p": 2, **sizes})) == pytest.approx(ns * 1e-9, rel=0.025)
        assert made[name].quality.mre < 0.025
    assert list(made["block by copy"].terms) == ["1"]


def test_the_receiver_of_a_message_is_asleep() -> None:
    """Otherwise it would not take the 2000 ns for being woken."""
    seconds = Bench(lambda p: emulated(p, woken=2000), Effort(2, 2)).seconds(ALL["from asleep to handled"], 2)
    assert 2000e-9 < seconds < 2400e-9


def test_terms_in_p_are_offered_if_p_has_several_values() -> None:
    assert terms(ALL["barrier"], [2]) == []
    assert terms(ALL["barrier"], [2, 4]) == ["log2(p)", "p"]
    assert terms(ALL["block by copy"], [2]) == ["length"]
    assert terms(ALL["scan along"], [2, 4]) == ["length", "log2(p)", "length * log2(p)", "p"]
    assert terms(ALL["start_block and serve_blocks"], [2]) == [
        "transfers",
        "transfers * length",
        "transfers * ceil(length / 65536)",
    ]


def test_a_model_may_depend_on_p() -> None:
    made = smp.calibrate(some(emulated, "mean", processors=(2, 4)), verification=4).models["mean"]
    assert made.names == ("p",)
    assert [given.grid for given in made.inputs] == [(2.0, 4.0)]
    assert made.quality.count == 2 * 8


def test_one_processor_has_all_primitives_but_those_that_need_two() -> None:
    names = [each.name for each in suite_of([1], emulated).specifications()]
    assert len(names) == len(ALL) - 1
    assert "messages/from asleep to handled" not in names
    bench = Bench(emulated, Effort(bursts=1, calls=4))
    for name in ("send", "round trip", "receive", "transpose by permutations", "broadcast"):
        assert bench.seconds(ALL[name], 1, *sizes_of(ALL[name]).values()) >= 0


# --------------------------------------------------------------------------------------------------- suites in general


def toy() -> Suite:
    """Return a suite of made-up tasks, which return the seconds that they have taken."""
    inputs = {"p": "2", "length": "1..1000 x 8"}
    return Suite(
        "messages",
        [
            smp.Specification("messages/reduce", inputs, ["length"], lambda p, n: 4.2e-7 + 6.1e-10 * n, clocked=True),
            smp.Specification("messages/scan", inputs, ["length"], lambda p, n: 5e-6 - 1e-9 * n, clocked=True),
            smp.Specification("messages/new one", inputs, ["length"], lambda p, n: 1e-6, clocked=True),
        ],
    )


def test_the_seconds_of_a_clocked_task_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(call: object) -> float:
        raise AssertionError("the call was timed")

    monkeypatch.setattr(timings, "timed", timed)
    made = smp.calibrate(toy(), verification=3)
    assert list(made.models) == ["reduce", "scan", "new one"]
    assert made.models["reduce"].predict(2, 1000) == pytest.approx(1.03e-6)


def test_the_tasks_of_a_suite_are_measured_in_the_same_rounds() -> None:
    order: list[str] = []

    def task(name: str) -> Callable[[int], float]:
        return lambda n: order.append(name) or 1e-6  # type: ignore[func-returns-value]

    ranges = {"a": "1..100 x 5", "b": "1..200 x 5"}
    smp.calibrate(Suite("s", [smp.Specification(k, {"n": v}, [], task(k), clocked=True) for k, v in ranges.items()]))
    rounds = [order[k : k + 50] for k in range(0, len(order), 50)]
    assert [each.count("a") for each in rounds] == [25, 25, 25]
    assert "a" * 25 not in "".join(order)


def test_a_suite_needs_different_names() -> None:
    one = smp.Specification("a", {"n": "1..9"}, ["n"], abs)
    with pytest.raises(ModelError, match="the suite s needs specifications with different names, not: a, a"):
        Suite("s", [one, one])
    with pytest.raises(ModelError, match="not: none"):
        Suite("s", [])


# ---------------------------------------------------------------------------------------------- the command and table


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(calibration, "suite_here", toy)
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path / "data"))


def test_formulas_have_units() -> None:
    models = smp.calibrate(toy(), verification=3).models
    assert [readable(model) for model in models.values()] == [
        "420 ns + 0.610 ns * length",
        "5.00 us - 1.00 ns * length",
        "1.00 us",
    ]


@pytest.mark.usefixtures("toys")
def test_the_command_calibrates_keeps_and_prints_the_primitives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--calibrate", "messages", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    said = " ".join(shown.out.split())
    assert re.search(r"reduce words 420 ns \+ 0.610 ns \* length 0(\.0)? 28 20", said)
    assert re.search(r"other .* new one 1.00 us 0(\.0)? 28 20", said), "a task that is not in the list of primitives"
    assert "reduce 110.1 + 47.5 * length (figure 6-6)" in said
    assert command.main(["--models", str(tmp_path), "--no-plots"]) == 0
    assert capsys.readouterr().out == shown.out
    assert command.main(["--models", str(tmp_path), "--no-plots", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["libraries"]["messages"]["format"] == "smp-suite"
    found = kept.read(kept.kept_at())["libraries"]["messages"]["models"]
    assert Model.from_json(found["reduce"]).predict(2, 1000) == pytest.approx(1.03e-6)
    assert found["reduce"]["samples"] is None
    assert "def messages_reduce(p, length):" in (tmp_path / "models.py").read_text()


@pytest.mark.usefixtures("toys")
def test_an_interrupted_suite_is_resumed(tmp_path: Path) -> None:
    def interrupts(done: float, text: str) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    first = calibration.Calibration(["messages"], tmp_path, seed=1)
    with pytest.raises(KeyboardInterrupt):
        first.measure(interrupts)
    first.save()
    shares: list[float] = []
    second = calibration.Calibration(["messages"], tmp_path, seed=1)
    second.measure(lambda done, text: shares.append(done))
    assert shares[0] == pytest.approx(0.5, abs=0.05)
    assert len(second.data["libraries"]["messages"]["models"]) == 3
    assert not second.data["interrupted"]


@pytest.mark.usefixtures("toys")
def test_only_models_with_large_errors_are_drawn(tmp_path: Path) -> None:
    made = calibration.Calibration(["messages"], tmp_path, seed=1)
    made.measure(lambda done, text: None)
    assert list(plots.figures(made.data)) == []
    models = made.data["libraries"]["messages"]["models"]
    models["scan"]["quality"]["mre"] = 0.2
    assert [figure.id for figure in plots.figures(made.data)] == ["residuals-messages-scan"]
    assert "Above 10%: messages/scan" in printed(*tables.report(made.data))


def test_the_primitives_are_calibrated_only_on_request() -> None:
    assert command.parser().parse_args(["--calibrate"]).calibrate == ("sort", "lists", "stencil", "transpose")
    assert command.parser().parse_args(["--calibrate", "messages"]).calibrate == ("messages",)
    with pytest.raises(SystemExit):
        command.parser().parse_args(["--calibrate", "nothing"])


@pytest.mark.slow
def test_the_primitives_of_this_computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path / "data"))
    assert command.main(["--calibrate", "messages", "--no-plots", "--out", str(tmp_path)]) == 0
    made = {model.name.split("/")[1]: model for model in calibration.models(calibration.load(tmp_path))}
    assert set(made) == set(ALL)
    assert np.mean([model.quality.mre <= 0.1 for model in made.values()]) >= 0.8, "on a busy computer; 0.9 when quiet"
    assert made["transpose without barriers"].of({"p": 2, "length": 100}) < made["transpose by permutations"].of(
        {"p": 2, "length": 100}
    )
