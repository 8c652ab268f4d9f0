"""A measurement within a budget of seconds: the choice of sections, their shares of time, and the missing sections."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from smp._computer import deadline as deadlines
from smp._computer.deadline import Deadline
from smp._computer.documents import Record
from smp._output.terminal import text
from smp.microbench import command
from smp.microbench.campaign import Campaign
from smp.microbench.method.budget import LEAST, share_out
from smp.microbench.method.plan import Measurement, Plan, PlanError, Stopped
from smp.microbench.report.first_screen import summary
from smp.microbench.sections import IMPORTANCE, SECTIONS
from smp.profiles.profile import Profile

DEFAULT = {name: SECTIONS[name].seconds[1] for name in IMPORTANCE if SECTIONS[name].machine == "host"}
HALF = 0.5


def test_the_order_of_importance_names_only_sections() -> None:
    assert len(set(IMPORTANCE)) == len(IMPORTANCE)
    assert set(IMPORTANCE) <= set(SECTIONS), "sections that it does not name come last"
    assert IMPORTANCE[:4] == ("placement", "access", "synchronisation", "latency")


@pytest.mark.parametrize("budget", [0.1, 3, 8, 33, 60, 100, 150, 300])
def test_shares_fill_the_budget_and_do_not_exceed_it(budget: float) -> None:
    fixed = [name for name in DEFAULT if not SECTIONS[name].scaled]
    fits, share = share_out(DEFAULT, budget, HALF, fixed)
    assert HALF <= share <= 1
    takes = sum(DEFAULT[name] * (1 if name in fixed else share) for name in fits)
    assert takes <= budget + 1e-9
    if len(fits) < len(DEFAULT) and fits:
        smallest = min(DEFAULT[name] * (1 if name in fixed else HALF) for name in DEFAULT if name not in fits)
        least = sum(DEFAULT[name] * (1 if name in fixed else HALF) for name in fits)
        assert budget - least < smallest, "no section that fits is left out"
        assert share == 1 or takes == pytest.approx(budget)
    if budget == 300:
        assert (fits, share) == (list(DEFAULT), 1.0)


def test_a_plan_with_a_share_takes_that_share_of_the_usual_seconds() -> None:
    assert Plan("quick", (1,), 1, 64).seconds(8.0) == 8.0
    assert Plan("quick", (1,), 1, 64, share=0.5).seconds(8.0) == 4.0
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(PlanError, match="share"):
            Plan("quick", (1,), 1, 64, share=share)


def test_a_deadline_interrupts_and_restores_the_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    polite = Deadline(0.02)
    with polite:
        polite.check()
        assert not polite.passed
        time.sleep(0.03)
        with pytest.raises(KeyboardInterrupt):
            polite.check()
    assert polite.passed
    monkeypatch.setattr(deadlines, "GRACE_S", 0.05)
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(KeyboardInterrupt), Deadline(0.02) as deadline:
        time.sleep(5)
    assert deadline.passed
    assert deadline.left == 0
    with Deadline(5) as early, Deadline(None) as never:
        assert 4 < (early.left or 0) < 5
    assert (early.passed, never.passed, never.left) == (False, False, None)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


SHARES: dict[str, float] = {}
"""Share of the usual seconds with which each section was measured."""


def campaign(
    monkeypatch: pytest.MonkeyPatch, folder: Path, budget: float, sections: Sequence[str], takes: dict[str, float]
) -> Campaign:
    """Return a campaign whose sections take the given seconds and can be stopped in the middle, as rounds can."""
    monkeypatch.setattr(Profile, "keep", lambda self: None)
    made = Campaign(Plan("default", (1,), 1, 64), None, budget)
    made.begin(sections, folder)
    SHARES.clear()

    def probe(name: str) -> Callable[..., Measurement]:
        def measure(tick: object) -> Measurement:
            SHARES[name] = made._share
            try:
                time.sleep(takes.get(name, 0.0))
            except KeyboardInterrupt:
                raise Stopped(name, Measurement(Record(of="part"), {})) from None
            return Measurement(Record(of=name), {})

        return measure

    monkeypatch.setattr(made, "_probe", probe)
    return made


def test_the_most_important_sections_come_first_and_share_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = campaign(monkeypatch, tmp_path, 60.0, ("latency", "synchronisation", "access", "lists", "fine"), {})
    made.measure(lambda done, text: None)
    assert list(SHARES) == ["access", "synchronisation", "latency", "lists", "fine"]
    assert SHARES["access"] == pytest.approx(60 / (78 + 10 + 28), rel=0.1), "lists and fine do not fit in addition"
    assert SHARES["latency"] == pytest.approx((60 - 30 - 8) / 28, rel=0.15), "unused seconds are shared out again"
    assert made.missing == []
    assert made.profile.data["conditions"]["interrupted"] is False
    assert LEAST["quick"] == 1, "the quick mode already has the fewest rounds"


def test_an_interrupted_section_keeps_its_measured_part_and_the_same_command_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = ("latency", "synchronisation", "retries")
    made = campaign(monkeypatch, tmp_path, 4.0, sections, {"synchronisation": 30})
    ended: list[str] = []
    made.measure(lambda done, text: None, lambda name, seconds: ended.append(name))
    assert made.missing == ["latency", "synchronisation"]
    assert ended == ["retries"], "the only section that fits"
    made.save()
    data = json.loads((tmp_path / "profile.json").read_text())
    assert data["conditions"]["budget_s"] == 4.0
    assert data["conditions"]["interrupted"] is False
    assert data["unfinished"]["done"] == ["retries"]
    known = Profile({name: data[name] for name in ("machine", "conditions", "unfinished")})
    screen = " ".join(text(summary(known).tables[0], 100).split())
    assert "NOT COMPLETE in 4 s: latency, synchronisation" in screen

    again = campaign(monkeypatch, tmp_path, 0.6, ("synchronisation",), {"synchronisation": 30})
    began = time.monotonic()
    again.measure(lambda done, text: None)
    assert time.monotonic() - began < 5, "although the section reports no progress in that time"
    assert again.profile.data["synchronisation"] == {"of": "part"}, "no section fits: the most important one starts"
    assert 0 < SHARES["synchronisation"] < HALF
    assert again.missing == ["synchronisation"]

    whole = campaign(monkeypatch, tmp_path, 60.0, ("synchronisation",), {})
    assert whole.profile.data["unfinished"]["done"] == []
    whole.measure(lambda done, text: None)
    assert whole.missing == []
    assert "unfinished" not in whole.profile.data


def test_only_a_section_that_was_cut_off_before_loses_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = ("latency", "synchronisation")
    given = Campaign(Plan("default", (1,), 1, 64), Profile({"synchronisation": {}}), 60.0)
    given.begin(sections, tmp_path)
    with given._deadline:
        assert list(given._chosen(begun=False)) == ["synchronisation", "latency"], "it is complete in another profile"
    made = campaign(monkeypatch, tmp_path, 0.6, sections, {"synchronisation": 30})
    made.measure(lambda done, text: None)
    made.save()
    again = campaign(monkeypatch, tmp_path, 60.0, sections, {})
    again.measure(lambda done, text: None)
    assert list(SHARES) == ["latency", "synchronisation"]


def test_a_section_that_is_complete_when_the_time_ends_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = campaign(monkeypatch, tmp_path, 1.0, ("retries", "latency"), {})

    def probe(name: str) -> Callable[..., Measurement]:
        def measure(tick: Callable[[float, str], None]) -> Measurement:
            time.sleep((made._deadline.left or 0.0) + 0.01)
            tick(1.0, name)
            return Measurement(Record(of=name), {})

        return measure

    monkeypatch.setattr(made, "_probe", probe)
    made.measure(lambda done, text: None)
    assert made.missing == ["latency"]
    assert made.profile.data["retries"] == {"of": "retries"}


def test_ctrl_c_within_a_budget_is_raised_as_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = campaign(monkeypatch, tmp_path, 60.0, ("retries",), {})

    def probe(name: str) -> Callable[..., Measurement]:
        raise KeyboardInterrupt

    monkeypatch.setattr(made, "_probe", probe)
    with pytest.raises(KeyboardInterrupt):
        made.measure(lambda done, text: None)


@pytest.mark.parametrize("text", ["0", "-1", "soon", "inf", "nan"])
def test_an_invalid_budget_is_a_usage_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([f"--budget={text}"])
    assert ended.value.code == 2
    assert f"'{text}' is not a budget" in capsys.readouterr().err


def test_real_sections_stop_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--no-plots", "--out", str(tmp_path)]
    began = time.monotonic()
    assert command.main(["-p", "1", "--only", "retries,waking,latency", "--budget", "3", *out]) == 0
    assert time.monotonic() - began < 3 + 5
    err = " ".join(capsys.readouterr().err.split())
    data = json.loads((tmp_path / "profile.json").read_text())
    done = data["unfinished"]["done"]
    assert "latency" not in done, "the section takes 28 s"
    missing = [name for name in ("latency", "retries", "waking") if name not in done]
    assert f"3 s were not enough; not measured, or only in part: {', '.join(missing)}; run the same command" in err
