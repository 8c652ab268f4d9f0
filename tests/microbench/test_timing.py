"""The method of measurement, on a clock that the test controls and on recorded timings."""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.errors import SmpError
from smp.microbench.method import clocks
from smp.microbench.method.overlaps import SPAN, overlap, together
from smp.microbench.method.plan import Plan, PlanError
from smp.microbench.method.result import summarise
from smp.microbench.method.rounds import Clock, Flag, Limits, MeasurementError, Point, measure_points, schedule
from smp.microbench.method.rows import row as row_of
from smp.microbench.method.visit import FEWEST, LONGEST_NS, MOST, SHORTEST_NS, calibrate
from smp.microbench.method.windows import WINDOW, Windows, flags, per_operation

# A chase in the first-level cache, 262,144 loads a window, recorded while eight busy processes shared two
# CPUs: wall ns, CPU ns, context switches. Left alone, the same chase took 1.283 ns a load.
LOADS = 262_144
RECORDED = [
    (336519, 336875, 0), (336443, 336724, 0), (10673750, 352806, 3), (336704, 337134, 3), (343800, 344161, 0),
    (341190, 341472, 0), (337134, 338136, 1), (339651, 339983, 1), (346735, 347183, 0), (338023, 338498, 0),
    (336517, 336724, 1), (341563, 341779, 1), (340536, 340815, 0), (336486, 337175, 0), (341105, 341691, 1),
    (368111, 368367, 1), (341154, 341646, 0), (336631, 336918, 0), (341098, 341556, 1), (344416, 344971, 1),
    (336485, 336841, 0), (355641, 345823, 1), (16384471, 424610, 2), (336669, 337081, 1), (339378, 339843, 0),
]  # fmt: skip


class FakeClock:
    """A computer whose time passes only when the test says so."""

    timer_ns = 20.0

    def __init__(self, read_ns: int = 0) -> None:
        self.now = self.on_cpu = self.taken = self.switched = 0
        self.GHz = 2.5
        self.read_ns = read_ns

    def spend(self, wall: int, cpu: int | None = None) -> tuple[int, int]:
        self.now += wall
        self.on_cpu += wall if cpu is None else cpu
        return wall, wall if cpu is None else cpu

    def wall(self) -> int:
        self.now += self.read_ns
        return self.now

    def cpu(self) -> int:
        return self.on_cpu

    def stolen(self) -> int:
        return self.taken

    def switches(self) -> int:
        return self.switched

    def rate(self) -> float:
        return self.GHz


def steady(clock: FakeClock, ns: float, key: str = "steady", operations: int = 1) -> Point:
    """Return a point whose operations always last `ns`."""

    def run(repeat: int) -> tuple[int, int]:
        wall, cpu = clock.spend(round(repeat * operations * ns))
        return wall + round(clock.timer_ns), cpu + round(clock.timer_ns)

    return Point(key, run, operations)


def recorded(rows: Sequence[tuple[int, int, int]], operations: int = LOADS) -> Windows:
    windows = np.zeros(len(rows), WINDOW)
    windows["wall_ns"], windows["cpu_ns"], windows["switches"] = np.transpose(rows)
    windows["operations"], windows["overlap"] = operations, 1.0
    windows["before_GHz"] = windows["after_GHz"] = 2.5
    windows["flags"] = flags(windows, 2.5)
    return windows


def measure(points: Sequence[Point], clock: Clock, budget_s: float = 0.1, seed: int = 0, **kwargs):
    return measure_points(points, budget_s, np.random.default_rng(seed), clock, **kwargs)


# --- the order of the visits


@given(st.integers(0, 20), st.integers(1, 5), st.integers(0, 99))
def test_every_round_visits_every_point_once(points: int, rounds: int, seed: int) -> None:
    orders = schedule(range(points), rounds, np.random.default_rng(seed))
    assert [sorted(order) for order in orders] == [list(range(points))] * rounds
    assert orders == schedule(range(points), rounds, np.random.default_rng(seed))


def test_rounds_differ_in_their_order() -> None:
    orders = schedule(range(20), 3, np.random.default_rng(0))
    assert orders[0] != orders[1] != orders[2]


# --- the length of a window


@given(st.floats(0.1, 1e8), st.integers(0, 20))
def test_calibrated_windows_last_from_a_fifth_to_two_milliseconds(ns: float, start: int) -> None:
    clock = FakeClock()
    repeat = calibrate(steady(clock, ns), clock, 1 << start)
    window = round(repeat * ns) + clock.timer_ns
    assert window >= SHORTEST_NS
    assert window <= LONGEST_NS or repeat == 1


def test_one_long_operation_gives_windows_of_one_repeat() -> None:
    clock = FakeClock()
    assert calibrate(steady(clock, 5e6), clock) == 1


def test_a_pause_or_a_compilation_does_not_shorten_the_windows() -> None:
    clock = FakeClock()
    pauses = {0: 3_000_000_000, 4: 20_000_000}
    calls = iter(range(1000))

    def run(repeat: int) -> tuple[int, int]:
        return clock.spend(100 * repeat + pauses.get(next(calls), 0))

    repeat = calibrate(Point("chase", run), clock)
    assert SHORTEST_NS <= 100 * repeat <= LONGEST_NS


def test_calibration_ends_when_no_count_fits() -> None:
    clock = FakeClock()
    point = Point("cliff", lambda repeat: clock.spend(100 if repeat < 8 else 10 * LONGEST_NS))
    assert calibrate(point, clock, 8) == calibrate(point, clock, 1) == 8


def test_work_that_was_compiled_away_is_an_error() -> None:
    clock = FakeClock()
    with pytest.raises(MeasurementError, match=r"'empty'.*compiled away"):
        calibrate(Point("empty", lambda repeat: clock.spend(25)), clock)


# --- flags


def test_flags_name_each_disturbance() -> None:
    quiet = recorded([(300_000, 300_100, 0)] * 7)
    quiet["cpu_ns"][1] = 293_000
    quiet["stolen_ns"][2] = 10_000_000
    quiet["switches"][3] = 1
    quiet["before_GHz"][4] = 2.8
    quiet["after_GHz"][5] = 2.2
    quiet["overlap"][6] = 0.5
    expected = [0, Flag.DESCHEDULED, Flag.STOLEN, Flag.SWITCHED, Flag.DRIFTED, Flag.DRIFTED, Flag.APART]
    assert flags(quiet, 2.5).tolist() == expected
    assert flags(quiet).tolist() == [*expected[:4], 0, 0, Flag.APART], "drift needs a rate to compare with"
    quiet["before_GHz"] = quiet["after_GHz"] = np.nan
    assert flags(quiet, 2.5).tolist() == [*expected[:4], 0, 0, Flag.APART], "an unknown rate has not drifted"


def test_flags_follow_the_limits_given() -> None:
    window = recorded([(300_000, 270_000, 0)])
    assert flags(window)[0] == Flag.DESCHEDULED
    assert flags(window, limits=Limits(off_cpu=0.2))[0] == 0


def test_recorded_windows_of_a_busy_computer_are_flagged() -> None:
    windows = recorded(RECORDED)
    off = windows["flags"] & Flag.DESCHEDULED > 0
    # the window of 356 us was off the CPU for only 10 us
    assert windows["wall_ns"][off].tolist() == [10673750, 355641, 16384471]
    assert ((windows["flags"] & Flag.SWITCHED > 0) == (windows["switches"] > 0)).all()


# --- statistics


def test_recorded_windows_give_the_true_time_although_one_long_sample_does_not() -> None:
    windows = recorded(RECORDED)
    result = summarise("chase", windows)
    assert windows["wall_ns"].sum() / windows["operations"].sum() > 5, "one long sample would give this"
    assert result.minimum == pytest.approx(1.283, rel=0.001)
    assert result.median == pytest.approx(1.283, rel=0.02)
    assert result.valid
    assert result.count == len(RECORDED)
    assert result.clean_fraction == sum(switches == 0 for *_, switches in RECORDED) / len(RECORDED)


@given(st.lists(st.tuples(st.integers(1000, 5000), st.booleans()), min_size=1, max_size=40))
def test_statistics_are_those_of_the_clean_windows(rows: list[tuple[int, bool]]) -> None:
    windows = recorded([(wall, wall, int(switched)) for wall, switched in rows], operations=10)
    windows["timer_ns"] = 20
    result = summarise("any", windows)
    clean = [(wall - 20) / 10 for wall, switched in rows if not switched]
    counted = clean or [(wall - 20) / 10 for wall, _ in rows]
    assert result.minimum == min(counted)
    assert result.median == pytest.approx(np.median(counted))
    assert min(counted) <= result.median <= result.p95 <= max(counted)
    assert result.clean_fraction == len(clean) / len(rows)
    assert clean or not result.valid


def test_a_point_says_why_it_is_not_valid() -> None:
    few = summarise("few", recorded([(300, 300, 0)] * 3))
    assert (few.valid, few.why) == (False, ["3 clean windows of 3, fewer than 5"])
    dirty = summarise("dirty", recorded([(300, 300, 0)] * 6 + [(300, 300, 1)] * 44))
    assert dirty.why == ["12% of the windows are clean, below 20%"]
    unstable = summarise("unstable", recorded([(300, 300, 0)] * 5 + [(600, 600, 0)] * 6))
    assert unstable.why == ["unstable: the median is 2.00 times the minimum, above 1.25"]
    short = recorded([(300, 300, 0)] * 9)
    short["timer_ns"] = 300
    assert summarise("short", short).why == ["the timer's cost exceeds the shortest window"]
    assert summarise("unstable", unstable.windows, limits=Limits(spread=2.5)).valid
    with pytest.raises(MeasurementError, match="'none' has no window"):
        summarise("none", recorded(RECORDED)[:0])


def test_points_that_sleep_by_nature_can_be_valid() -> None:
    asleep = recorded([(300_000, 20_000, 2)] * 8)
    assert not summarise("futex", asleep).valid
    assert summarise("futex", asleep, ignore=Flag.DESCHEDULED | Flag.SWITCHED).valid


def test_a_row_is_plain_json_with_its_units() -> None:
    row = row_of(summarise("chase", recorded(RECORDED)))
    assert row["minimum_ns"] == pytest.approx(1.283, rel=0.001)
    assert (row["windows"], row["valid"], row["why"]) == (len(RECORDED), True, [])
    assert all(type(value) in (float, str, int, bool, list) for value in row.values())


# --- the engine


def test_results_are_per_operation_without_the_timers_cost_and_in_the_order_of_the_points() -> None:
    clock = FakeClock()
    true = {"L1": 1.3, "L2": 4.6, "DRAM": 112.0, "page": 5e6}
    results = measure([steady(clock, ns, key, 8) for key, ns in true.items()], clock)
    assert [result.key for result in results] == list(true)
    for result in results:
        assert result.value == pytest.approx(true[result.key], rel=1e-4)
        assert result.valid
        assert set(result.windows["operations"] % 8) == {0}


def test_the_engine_finds_the_true_time_in_replayed_timings() -> None:
    clock = FakeClock()
    rows = iter(RECORDED * 100)

    def run(repeat: int) -> tuple[int, int]:
        wall, cpu, switches = next(rows)
        clock.switched += switches
        return clock.spend(wall, cpu)

    (result,) = measure([Point("chase", run, LOADS)], clock, budget_s=0.5)
    assert result.windows["operations"].tolist() == [LOADS] * result.count
    assert result.median == pytest.approx(1.283, rel=0.02)
    assert result.clean_fraction < 0.3, "windows after a switch do not count either"
    assert result.valid


def test_a_call_that_is_timed_from_outside_is_charged_the_outer_clock() -> None:
    clock = FakeClock(read_ns=500)

    def run(repeat: int) -> None:
        clock.spend(100 * repeat)

    inside = steady(clock, 100.0, "inside")
    outer, inner = measure([Point("call", run), inside], clock)
    assert (outer.windows["timer_ns"] == 500).all()
    assert (inner.windows["timer_ns"] == clock.timer_ns).all()
    assert outer.minimum == inner.minimum == 100


def test_there_are_at_least_three_rounds_however_small_the_budget() -> None:
    clock = FakeClock()
    results = measure([steady(clock, 10.0, key) for key in "abcd"], clock, budget_s=1e-9)
    for result in results:
        assert np.bincount(result.windows["round"]).tolist() == [FEWEST] * 3


def test_rounds_continue_while_there_is_time() -> None:
    clock = FakeClock()
    results = measure([steady(clock, 10.0, key) for key in "ab"], clock, budget_s=0.5)
    assert 0.4e9 < clock.now <= 0.5e9
    for result in results:
        per_round = np.bincount(result.windows["round"])
        assert len(per_round) > 3
        assert (per_round == MOST).all()


def test_visits_are_prepared_and_in_a_random_order_that_follows_from_the_seed() -> None:
    def visits(seed: int) -> list[str]:
        clock, order = FakeClock(), []
        points = []
        for key in "abcdef":
            point = steady(clock, 10.0, key)
            points.append(Point(key, point.run, prepare=lambda key=key: order.append(key)))
        measure(points, clock, budget_s=1e-9, seed=seed)
        return order

    order = visits(1)
    rounds = [order[k : k + 6] for k in range(0, 18, 6)]
    assert [sorted(one) for one in rounds] == [list("abcdef")] * 3
    assert rounds[0] != rounds[1] != rounds[2]
    assert visits(1) == order != visits(2)


@pytest.mark.parametrize("budget_s", [1e-9, 0.3])
def test_progress_grows_to_one(budget_s: float) -> None:
    clock, seen = FakeClock(), []
    points = [steady(clock, 10.0, key) for key in "abc"]
    measure(points, clock, budget_s, tick=lambda fraction, text: seen.append((fraction, text)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] == 1
    if budget_s > 0.1:
        assert fractions[len(fractions) // 2] == pytest.approx(0.5, abs=0.1), "rounds after the third count, too"
    assert {text for _, text in seen[:3]} == {f"round 1: {key}" for key in "abc"}


def disturbed(clock: FakeClock, every: int, disturbance: Callable[[], int]) -> Point:
    """Return a point of 10 ns per operation. Once every ``every`` windows, `disturbance` returns the ns of a pause."""
    calls = iter(range(1, 1_000_000))

    def run(repeat: int) -> tuple[int, int]:
        pause = disturbance() if next(calls) % every == 0 else 0
        clock.on_cpu += 10 * repeat
        clock.now += 10 * repeat + pause
        return 10 * repeat + pause, 10 * repeat

    return Point("disturbed", run)


def test_long_pauses_do_not_change_the_median() -> None:
    clock = FakeClock()
    (result,) = measure([disturbed(clock, 3, lambda: 13_000_000)], clock)
    off = result.windows["flags"] == Flag.DESCHEDULED
    assert 0 < off.sum() < result.count
    assert (per_operation(result.windows)[off] > 100).all()
    assert result.minimum == pytest.approx(10, rel=1e-3)
    assert result.median == pytest.approx(10, rel=1e-3)
    assert result.valid


def test_a_switch_flags_its_window_and_the_next_which_finds_cold_caches() -> None:
    clock = FakeClock()

    def switch() -> int:
        clock.switched += 1
        return 0

    (result,) = measure([disturbed(clock, 10, switch)], clock, budget_s=1e-2)
    for visit in np.unique(result.windows["round"]):
        hit = result.windows["flags"][result.windows["round"] == visit] == Flag.SWITCHED
        starts = np.flatnonzero(hit[:-1] & ~np.concatenate([[True], hit[:-1]])[:-1])
        assert starts.size
        assert hit[starts + 1].all()
        assert hit.sum() <= 2 * (starts.size + 2)


def test_stolen_time_flags_the_whole_visit() -> None:
    clock = FakeClock()
    calls = iter(range(1_000_000))
    point = steady(clock, 10.0)

    def run(repeat: int) -> tuple[int, int] | None:
        clock.taken += 10_000_000 * (next(calls) == 60)
        return point.run(repeat)

    (result,) = measure([Point("stolen", run)], clock)
    (visit,) = set(result.windows["round"][result.windows["flags"] == Flag.STOLEN].tolist())
    assert (result.windows["flags"][result.windows["round"] == visit] == Flag.STOLEN).all()


def test_a_clock_that_slows_down_flags_the_visits_at_the_other_rate() -> None:
    clock = FakeClock()
    visits = iter(range(1000))
    points = []
    for key in "abc":

        def slow_down() -> None:
            clock.GHz = 1.5 if next(visits) in (4, 5) else 2.5

        points.append(Point(key, steady(clock, 10.0, key).run, prepare=slow_down))
    results = measure(points, clock, budget_s=1e-9)
    drifted = sum(int((result.windows["flags"] == Flag.DRIFTED).sum()) for result in results)
    assert drifted == 2 * FEWEST
    assert all(result.value == pytest.approx(10, rel=1e-3) for result in results)


def test_a_clock_that_slows_down_within_a_visit_flags_it() -> None:
    clock = FakeClock()
    calls = iter(range(1_000_000))
    point = steady(clock, 10.0)

    def run(repeat: int) -> tuple[int, int] | None:
        clock.GHz = 2.5 if next(calls) < 60 else 2.0
        return point.run(repeat)

    (result,) = measure([Point("slows", run)], clock, budget_s=0.035)
    rates = {(float(w["before_GHz"]), float(w["after_GHz"])) for w in result.windows}
    assert {(2.5, 2.5), (2.5, 2.0), (2.0, 2.0)} == rates
    mixed = (result.windows["before_GHz"] == 2.5) & (result.windows["after_GHz"] == 2.0)
    assert (result.windows["flags"][mixed] == Flag.DRIFTED).all()


def test_an_unknown_clock_rate_does_not_count_as_drift() -> None:
    clock = FakeClock()
    clock.GHz = math.nan
    (result,) = measure([steady(clock, 10.0)], clock)
    assert result.valid
    assert result.clean_fraction == 1


def test_senseless_requests_are_refused_and_no_points_give_no_results() -> None:
    clock = FakeClock()
    for budget in (0, -1, math.nan, math.inf):
        with pytest.raises(MeasurementError, match="above zero"):
            measure([steady(clock, 1.0)], clock, budget)
    with pytest.raises(MeasurementError, match="0 operations"):
        measure([Point("none", lambda repeat: None, operations=0)], clock)
    assert measure([], clock) == []
    assert issubclass(MeasurementError, SmpError)


def test_an_interrupt_is_passed_on() -> None:
    def interrupted(repeat: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure([Point("long", interrupted)], FakeClock())


# --- processors that run together


def spans(rows: Sequence[tuple[int, int]], cpu: Sequence[int] | None = None, operations: int = 1):
    made = np.zeros(len(rows), SPAN)
    if rows:
        made["start"], made["end"] = np.transpose(rows)
    made["cpu_ns"] = made["end"] - made["start"] if cpu is None else cpu
    made["operations"] = operations
    return made


@st.composite
def processors(draw):
    """Draw the stamps and running masks of one to four processors, within 60 ns."""
    made, masks = [], []
    for _ in range(draw(st.integers(1, 4))):
        times = sorted(draw(st.lists(st.integers(0, 60), max_size=12)))
        rows = list(zip(times[::2], times[1::2], strict=False))
        made.append(spans(rows))
        masks.append(np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_))
    return made, masks


@given(processors(), st.sampled_from([0, 10**17]))
def test_overlap_agrees_with_a_count_of_every_nanosecond(case, origin: int) -> None:
    made, masks = case
    all_run = [
        all(
            any(run and s <= ns < e for s, e, run in zip(one["start"], one["end"], mask, strict=True))
            for one, mask in zip(made, masks, strict=True)
        )
        for ns in range(60)
    ]
    expected = [
        [sum(all_run[s:e]) / (e - s) if e > s else 0.0 for s, e in zip(one["start"], one["end"], strict=True)]
        for one in made
    ]
    for one in made:  # also on a computer that has been up for years
        one["start"] += origin
        one["end"] += origin
    for got, wanted in zip(overlap(made, masks), expected, strict=True):
        assert got.tolist() == pytest.approx(wanted)


def test_windows_out_of_order_are_refused() -> None:
    with pytest.raises(MeasurementError, match="processor 1 are out of order"):
        overlap([spans([(0, 9)]), spans([(0, 5), (4, 9)])])


def test_windows_during_which_the_partner_slept_do_not_count() -> None:
    """A line is handed over in 48 ns. While the partner sleeps, the lone processor needs 8 ns."""
    period, operations = 300_000, 6000
    awake = [k not in range(4, 30) for k in range(40)]
    lone = spans(
        [(k * period, k * period + (48 if awake[k] else 8) * operations) for k in range(40)],
        operations=operations,
    )
    partner = spans(
        [(k * period, k * period + 48 * operations) for k in range(4)]
        + [(4 * period, 30 * period)]  # one window, in which it sleeps
        + [(k * period, k * period + 48 * operations) for k in range(30, 40)],
        cpu=[48 * operations] * 15,
        operations=operations,
    )
    windows = together([lone, partner], timer_ns=0.0)
    mine = windows[windows["rank"] == 0]
    assert (mine["flags"] == np.where(awake, 0, Flag.APART)).all()
    slept = windows[windows["rank"] == 1][4]
    assert slept["flags"] == Flag.DESCHEDULED | Flag.APART
    assert np.median(per_operation(mine)) == 8, "the median without the flags"
    result = summarise("hand-off", windows, quote="median")
    assert result.value == result.median == 48
    assert result.valid


def test_processors_that_never_meet_give_no_valid_result() -> None:
    first = spans([(k, k + 10) for k in range(0, 100, 10)])
    second = spans([(k, k + 10) for k in range(1000, 1100, 10)])
    result = summarise("apart", together([first, second], 0.0), quote="median")
    assert not result.valid
    assert result.clean_fraction == 0


def test_time_stolen_during_a_run_flags_all_its_windows() -> None:
    both = [spans([(0, 10), (10, 20)])] * 2
    windows = together(both, 0.0, round=3, stolen_ns=10_000_000)
    assert (windows["flags"] == Flag.STOLEN).all()
    assert (windows["round"] == 3).all()
    assert windows["rank"].tolist() == [0, 0, 1, 1]


def test_a_scattered_median_is_unstable() -> None:
    lengths = [100, 100, 100, 100, 100, 200, 200, 200]
    rows = [(sum(lengths[:k]), sum(lengths[: k + 1])) for k in range(len(lengths))]
    result = summarise("scattered", together([spans(rows)], 0.0), quote="median")
    assert result.why == ["unstable: the third quartile is 2.00 times the first, above 1.25"]


def test_a_compiled_loop_may_fill_spans_as_plain_words() -> None:
    words = np.arange(8).reshape(2, 4)
    assert words.view(SPAN)[:, 0]["cpu_ns"].tolist() == [2, 6]


# --- the clocks of this computer


def test_the_chain_that_measures_the_clock_rate_is_really_run() -> None:
    a, b, operations, looks = 12345, 67890, 64, 3
    value = a
    for _ in range(looks * operations // 2):
        value = (value ^ a) + b
    shortest, got = clocks._shortest_chain(operations, looks, a, b)
    assert got == value
    assert shortest >= 0


def test_the_rate_is_called_an_estimate_next_to_the_rate_that_the_system_reports() -> None:
    rate = clocks.clock_rate()
    assert rate.GHz > 0
    assert math.isfinite(rate.GHz)
    assert rate.source.startswith("estimate")
    assert clocks.ClockRate(3.9, 2.7).source.endswith("system reports 2.70 GHz")
    assert clocks.ClockRate(3.9, None).source.endswith("system reports none")


def test_the_host_clock_goes_forward_and_sees_a_sleep_as_time_off_the_cpu() -> None:
    clock: Clock = clocks.HostClock()
    assert clock.timer_ns >= 0
    wall, cpu, switches, stolen = clock.wall(), clock.cpu(), clock.switches(), clock.stolen()
    time.sleep(0.02)
    wall, cpu = clock.wall() - wall, clock.cpu() - cpu
    assert 0 <= cpu < wall
    assert clock.switches() > switches
    assert clock.stolen() >= stolen


def test_the_engine_runs_on_the_host_clock() -> None:
    def run(repeat: int) -> tuple[int, int]:
        shortest, _ = clocks._shortest_chain(16 * repeat, 1, 3, 5)
        return shortest, shortest

    (result,) = measure([Point("chain", run, 16)], clocks.HostClock(), budget_s=0.01)
    assert result.count >= 3 * FEWEST
    assert 0 < result.minimum <= result.median <= result.p95


# --- the plan


def test_a_plan_that_cannot_be_measured_is_refused() -> None:
    assert Plan("quick", (1, 2), 0, 64).word_bytes == 8
    for arguments, message in (
        (("fast", (1,), 0, 64), "choose one of quick, default, full"),
        (("quick", (), 0, 64), "a plan needs one number of processors or more"),
        (("quick", (1, 0), 0, 64), "a plan needs one number of processors or more"),
        (("quick", (1,), 0, 60), "line of 60 bytes"),
        (("quick", (1,), 0, 0), "line of 0 bytes"),
    ):
        with pytest.raises(PlanError, match=message):
            Plan(*arguments)
