"""Contention at one word and at one server: the table has what was measured, next to what LoPC predicts."""

import json
from pathlib import Path

import numpy as np
import pytest

import smp
from smp._commands import contention as command
from smp._computer.limits import usable_cpus
from smp.errors import ProfileError
from smp.microbench import measure_contention
from smp.microbench.method.windows import WINDOW, Flag, Windows
from smp.microbench.predictions.contention import measured
from smp.microbench.predictions.contention.measured import Taken, row
from smp.microbench.predictions.contention.programs import PADDED, Setting, at_one_server, at_one_word
from smp.microbench.predictions.contention.rows import Contended, Contention
from smp.profiles.contention import Contention as Parameters

PROFILE = smp.Profile(
    {
        "synchronisation": {"handoff_exchange_ns": 160.0, "fetch_add_ns": {"alone": 5.0, "contended": {"2": 40.0}}},
        "messages": {
            "rows": [
                {"what": "trip", "processors": 2, "ns": 100.0},
                {"what": "request", "processors": 2, "ns": 1900.0},
                {"what": "request", "processors": 4, "ns": 9999.0},
            ]
        },
    }
)
STORED = str(Path(__file__).parents[2] / "profiles" / "amd-epyc-2-cpus.json")


def windows_of(each_ns: float, count: int = 8, flag: Flag | None = None) -> Windows:
    windows = np.zeros(count, WINDOW)
    windows["operations"], windows["wall_ns"] = 100, 100 * each_ns
    windows["flags"] = flag or 0
    return windows


def test_a_row_has_the_work_that_was_measured_and_the_prediction_for_it() -> None:
    moved = windows_of(999.0, 4, Flag.MOVED)
    found = row(Taken("word", 2, Setting(7, 100), [windows_of(100.0), moved], [windows_of(300.0), moved], 600), PROFILE)
    assert (found.work, found.measured, found.moved) == pytest.approx((100e-9, 300e-9, 0.5))
    assert found.logp == pytest.approx((100 + 2 * 60 + 2 * 20) * 1e-9)
    assert found.logp < found.lopc < found.logp + 20e-9, "at most, the request waits for the one other client"
    assert (found.error, found.logp_error) == pytest.approx((found.lopc / 300e-9 - 1, 260 / 300 - 1))
    assert not found.why


def test_without_steps_there_is_no_work() -> None:
    found = row(Taken("word", 2, Setting(0, 100), [windows_of(3.0)], [windows_of(50.0)]), PROFILE)
    assert found.work == 0.0
    assert found.logp == pytest.approx(160e-9)


def test_one_processor_sends_no_request() -> None:
    found = row(Taken("word", 1, Setting(7, 100), [windows_of(100.0)], [windows_of(110.0)]), PROFILE)
    assert found.lopc == found.logp == pytest.approx(105e-9)
    assert found.error == pytest.approx(105 / 110 - 1)


def test_the_parameters_of_a_server_are_those_of_messages_between_two_processors() -> None:
    found = row(Taken("server", 2, Setting(0, 100), [windows_of(700.0)], [windows_of(3000.0)]), PROFILE)
    assert found.work == pytest.approx(700e-9), "without steps, the calls from Python are the work"
    assert found.logp == pytest.approx((700 + 1900) * 1e-9)
    assert found.lopc > found.logp, "the model counts the one client's own request among those that it waits for"
    assert found.moved is None


def test_clients_of_a_server_wait_for_one_another() -> None:
    found = row(Taken("server", 4, Setting(0, 100), [windows_of(1.0)], [windows_of(3000.0)]), PROFILE)
    assert found.lopc > found.logp + 900e-9, "the two other clients keep the server busy"


@pytest.mark.parametrize("p", [2, 3])
def test_every_request_is_answered(p: int) -> None:
    with smp.emulated(p) as machine:
        results = machine.run(at_one_server, [Setting(0, 5), Setting(2, 7)], 2).results
    for stamps, _ in results[:-1]:
        assert (stamps[..., 3] == [[[5, 5]] * 2, [[7, 7]] * 2]).all()
    assert not results[-1][0].any(), "the server takes no times"


@pytest.mark.parametrize("p", [1, 3])
def test_every_addition_is_done_and_those_after_another_processor_are_counted(p: int) -> None:
    settings, pairs = [Setting(0, 5), Setting(2, 7)], 2
    with smp.emulated(p) as machine:
        words = machine.zeros(PADDED, np.int64)
        run = machine.run(at_one_word, words, settings, pairs)
        total = int(words.view[0])
    assert total == p * pairs * (5 + 7)
    for stamps, moved in run.results:
        assert (stamps[..., 3] == [[[5, 5]] * pairs, [[7, 7]] * pairs]).all()
        assert (stamps[..., 0] <= stamps[..., 1]).all()
        if p > 1:
            assert (moved > 0).all()
    if p == 1:
        assert run.results[0][1][0] == 1, "only the first addition of a later burst does not follow an own one"


def test_this_computer_is_measured() -> None:
    found = measure_contention(PROFILE, rounds=1)
    assert {one.what for one in found.rows} == ({"word", "server"} if len(usable_cpus()) > 1 else {"word"})
    assert {one.processors for one in found.rows} == {2**k for k in range(len(usable_cpus()).bit_length())}
    for one in found.rows:
        assert one.low <= one.measured <= one.high or one.why
        assert one.moved is None if one.what == "server" else 0.0 <= (one.moved or 0.0) <= 1.0
    assert all((one.moved or 0.0) < 0.5 for one in found.rows if one.processors == 1)
    assert all(one.processors > 1 for one in found.rows if one.what == "server"), "a server needs a client"


def test_more_processors_than_cpus_are_refused() -> None:
    with pytest.raises(ValueError, match="processors that take turns on a CPU do not meet"):
        measure_contention(PROFILE, [len(usable_cpus()) + 1])


def test_a_profile_without_the_parameters_is_refused() -> None:
    with pytest.raises(ProfileError, match="--only synchronisation"):
        measure_contention(smp.Profile({}))
    with pytest.raises(ProfileError, match="--only messages"):
        measure_contention(smp.Profile({}), only=["server"])
    with pytest.raises(ValueError, match="no contention for 'wrod': choose from word, server"):
        measure_contention(PROFILE, only=["wrod"])


def test_the_command_prints_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    one = Contended("word", 2, 100e-9, 200e-9, 190e-9, 210e-9, 240e-9, 250e-9, 0.9, ("unstable",))
    made = Contention((one,), {"word": Parameters(50e-9, 20e-9)}, ((25e-9, 0.75),), 140e-9)
    monkeypatch.setattr(measured, "measure_contention", lambda profile, processors, only: made)
    assert command.main(["--profile", STORED]) == 0
    told = capsys.readouterr().out
    for part in (
        "200.0 [190, 210] !",
        "S_l = 50.0 ns, S_o = 20.0 ns",
        "25 ns (75% of the time); 140 ns when",
        "! not valid, 1 of 1: unstable",
    ):
        assert part in told
    assert command.main(["--profile", STORED, "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["contention"]
    assert line["error"] == pytest.approx(0.25)


def test_the_command_reports_what_cannot_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--profile", STORED, "-p", str(len(usable_cpus()) + 1)]) == 1
    assert "do not meet" in " ".join(capsys.readouterr().err.split())
