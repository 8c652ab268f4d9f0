"""Profiles: saving and loading, errors of files that are not profiles, and predictions by the stored functions."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.profiles import document

import smp
from smp._runtime.program.steps import SUMMARY
from smp.errors import ProfileError
from smp.profiles.profile import Profile, ProfileWarning, kept_at


def test_a_saved_profile_is_loaded_unchanged(tmp_path: Path) -> None:
    Profile(document()).save(tmp_path / "profile.json")
    for path in (tmp_path, tmp_path / "profile.json"):
        assert Profile.load(path).data == document()
    assert [file.name for file in tmp_path.iterdir()] == ["profile.json"]


def test_a_failed_save_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    Profile(document()).save(file)
    bad = document() | {"access": {"nan": math.nan}}
    with pytest.raises(ValueError, match="JSON"):
        Profile(bad).save(file)
    assert Profile.load(file).data == document()
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "damaged or not a profile"),
        ("[1, 2]", "is not a profile of smp"),
        ('{"format": "lmbench"}', "is not a profile of smp"),
        ('{"format": "smp-profile", "version": 99}', "version 99.*upgrade"),
        ('{"format": "smp-profile", "version": "one"}', "damaged: version is 'one'; it should be 1"),
        ('{"format": "smp-profile", "version": 1}', "damaged: machine is missing"),
    ],
)
def test_a_file_that_is_not_a_profile_is_refused_with_the_reason(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "profile.json").write_text(text)
    with pytest.raises(ProfileError, match=says):
        Profile.load(tmp_path)


def test_a_binary_file_is_reported_as_unreadable(tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="cannot read"):
        Profile.load(tmp_path)


def test_a_missing_file_and_a_missing_profile_name_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path))
    with pytest.raises(ProfileError, match=r"no profile at .*python -m smp.microbench --quick"):
        Profile.load(tmp_path / "none.json")
    with pytest.raises(ProfileError, match=r"no profile of this machine .* python -m smp.microbench --quick"):
        Profile.find()


def test_the_kept_profile_is_found_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path))
    Profile(document()).keep()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Profile.find()
    assert found.data == document()
    assert found.path == kept_at(document()["machine"])


def test_the_warning_about_a_profile_of_another_machine_names_that_machine(tmp_path: Path) -> None:
    foreign = document()
    foreign["machine"] |= {"name": "elsewhere", "cpu": "R10000", "cpus": 16}
    Profile(foreign).save(tmp_path / "profile.json")
    with pytest.warns(ProfileWarning, match=r"another machine, elsewhere \(R10000, 16 CPUs\)"):
        Profile.load(tmp_path)


def test_good_predictions_change_function_at_the_private_cache() -> None:
    profile = Profile(document())
    small, large = profile.predict("good", 2, [1000, 3000], [500, 500], [0, 0])
    assert small == pytest.approx(1e-6 + 1500 * 2e-9)
    assert large == pytest.approx(1500 * 2e-9 + 2000 * 4e-9)


def test_a_p_in_between_is_interpolated_and_one_beyond_takes_the_nearest_with_a_note() -> None:
    profile = Profile(document())
    at = {p: float(profile.predict("bad", p, 100, 100, 400)[0]) for p in (1, 2, 3, 4, 9)}
    assert at[3] == pytest.approx((at[2] + at[4]) / 2)
    assert (at[1], at[9]) == (at[2], at[4])
    assert profile.basis(2) == ""
    assert profile.basis(3) == "p = 3 was not measured: predicted from p = 2 and 4"
    assert profile.basis(9) == "p = 9 was not measured: predicted from p = 4"


def test_good_depends_on_bytes_and_bad_on_accesses() -> None:
    row = np.zeros(1, SUMMARY)
    row["hr"], row["hw"], row["m"] = 800, 0, 800  # 800 elements of 4 bytes: 400 words
    row["hr_bytes"], row["m_bytes"] = 3200, 3200
    row["copy_in"], row["compute"] = 4e-6, 1e-6
    interval = Profile(document()).interval(row, 2)
    assert interval.good[0] == pytest.approx(1e-6 + 400 * 2e-9)
    assert interval.bad[0] == pytest.approx(800 * 20e-9 + 800 * 2e-9)
    assert interval.random[0] == pytest.approx(800 * 10e-9)
    assert (interval.measured[0], interval.compute[0]) == pytest.approx((4e-6, 1e-6))


def test_the_least_overhead_is_charged_to_good_and_the_most_to_bad() -> None:
    row = np.zeros(1, SUMMARY)
    data = document()
    data["access"]["overhead_s"] = {"2": [3e-6, 9e-6], "4": [5e-6, 11e-6]}
    bare, with_it = Profile(document()).interval(row, 2), Profile(data).interval(row, 2)
    assert with_it.good[0] - bare.good[0] == pytest.approx(3e-6)
    assert with_it.bad[0] - bare.bad[0] == pytest.approx(9e-6)
    assert with_it.random[0] - bare.random[0] == pytest.approx(9e-6)
    assert Profile(data).overhead(3) == pytest.approx((4e-6, 10e-6))


def test_the_bad_end_is_the_larger_of_bad_and_random() -> None:
    row = np.zeros(1, SUMMARY)
    row["hw"], row["m"], row["hw_bytes"], row["m_bytes"] = 1_000, 1_000, 8_000, 8_000
    row["copy_out"] = 90e-6  # bad charges 42 us, random 100 us
    interval = Profile(document()).interval(row, 2)
    assert interval.bad[0] < interval.measured[0] < interval.random[0]
    assert bool(interval.inside[0])


def program(proc: smp.Processor, data: smp.GlobalArray) -> None:
    with proc.superstep("read") as step:
        step.copy_in(data, proc.block(len(data)))


def test_real_and_virtual_time_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path))
    host, virtual = Profile(document()), Profile(document())
    virtual.data["machine"]["kind"] = "emulated"
    host.keep()
    with smp.emulated(2) as machine:
        run = machine.run(program, machine.zeros(40_000, np.int64))
    with pytest.raises(ProfileError, match=r"run is from an emulated machine.* measured on that machine.* smp\.host"):
        run.interval()
    with pytest.raises(ProfileError, match="is of the kind 'host' and the run of the kind 'emulated'"):
        run.interval(host)
    assert run.interval(virtual).m.tolist() == [40_000]
    with smp.host(1) as machine:
        run = machine.run(program, machine.zeros(40_000, np.int64))
    with pytest.raises(ProfileError, match="is of the kind 'emulated' and the run of the kind 'host'"):
        run.interval(virtual)


def test_a_run_finds_its_interval_and_reports_a_missing_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path))
    with smp.host(2) as machine:
        run = machine.run(program, machine.zeros(40_000, np.int64))
    with pytest.raises(ProfileError, match="no profile of this machine"):
        run.interval()
    Profile(document()).keep()
    interval = run.interval()
    assert list(interval.m) == [40_000]
    assert interval.measured[0] == pytest.approx(interval.copy_in[0] + interval.copy_out[0])
    assert "read" in str(interval)
    assert str(run.interval(Profile(document()))) == str(interval)


def test_a_profile_without_cost_functions_is_reported() -> None:
    data = document()
    del data["access"]
    with pytest.raises(ProfileError, match="has no cost functions"):
        Profile(data).predict("good", 2, 1, 1, 2)


def test_profiles_are_plain_json() -> None:
    assert json.loads(json.dumps(document(), allow_nan=False)) == document()


def test_a_section_is_available_as_a_record() -> None:
    rows = [{"limit": 1, "counted_least": 1, "counted_most": 1, "equal": True, "waits": 3, "windows": 3}]
    rows[0] |= {"ns": 2.5, "minimum_ns": 2.0, "p95_ns": 3.0}
    found = Profile({"retries": {"rows": rows, "look_ns": 25.0, "valid": True}, "waking": None})
    assert (found.section("retries").look_ns, found.section("retries").rows[0].ns) == (25.0, 2.5)
    assert found.section("waking") is None
    assert found.section("latency") is None
    del rows[0]["waits"]
    with pytest.raises(ProfileError, match=r"section 'retries' is damaged: rows\[0\]\.waits is missing"):
        found.section("retries")
