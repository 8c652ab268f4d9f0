"""Descriptions are changed, saved and read back."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine_files import SMALL

import smp
from smp.machines import MachineFile, load, names


@pytest.fixture
def small(tmp_path: Path) -> MachineFile:
    (tmp_path / "small.toml").write_text(SMALL)
    return load(tmp_path / "small.toml")


def test_values_have_their_sources_and_their_base_units(small: MachineFile) -> None:
    assert small.message
    assert small.network
    assert small.interface
    assert small.clock.hz == 100_000_000
    assert small.message.receive == 50  # 0.5 us of 100 MHz
    assert small.source_of("message.receive") == "a guess"
    assert small.source_of("message.request") == "of the user"
    assert small.source_of("message.dispatch") == "by default"
    assert small.source_of("published.round_trip.per_hop") == "a measurement"
    assert small.published["round_trip"].sets == ("network.hop",)
    assert small.network.link_bandwidth == (20_000_000,)
    assert small.memory is None


def test_the_source_of_a_table_is_that_of_its_bare_values() -> None:
    document = {
        "name": "x",
        "processors": 2,
        "clock": {"hz": 1e9},
        "primitives": dict.fromkeys(smp.Charges.__dataclass_fields__, 1) | {"source": "a table"},
    }
    document["primitives"] |= {"load": {"value": 2, "source": "its own"}}
    made = load(document)
    assert made.source_of("primitives.store") == "a table"
    assert made.source_of("primitives.load") == "its own"
    assert made.source_of("clock.hz") == "of the user"


def test_a_source_of_a_setting_that_does_not_exist_is_refused(small: MachineFile) -> None:
    with pytest.raises(smp.MachineFileError, match=r"no setting 'message.recieve'; did you mean 'message.receive'\?"):
        small.source_of("message.recieve")
    for name in ("", "message.", "a b", "a\nb = 1", "a = 1 #", 7):
        with pytest.raises(smp.MachineFileError, match="is not the name of a setting"):
            small.source_of(name)  # type: ignore[arg-type]


def test_a_changed_copy_has_the_new_value_of_the_user() -> None:
    cm5 = load("cm5")
    changed = cm5.replace("message.receive", 40)
    assert changed.message
    assert cm5.message
    assert (changed.message.receive, cm5.message.receive) == (40, 62)
    assert changed.source_of("message.receive") == "of the user"
    assert changed.source_of("message.inject") == cm5.source_of("message.inject")
    assert type(changed) is MachineFile
    assert changed != cm5
    back = changed.replace("message.receive", {"value": 62, "source": "Brewer 1994, section 6.1.3"})
    assert back == cm5


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("processors", 32, 32),
        ("name", "mine", "mine"),
        ("message.receive", {"value": 2, "unit": "us"}, 66),
        ("message.receive", np.int64(7), 7),
        ("message.receive", np.float32(0.5), 0.5),
        ("network.link_bandwidth", [10e6], (10_000_000,)),
        ("processor.ops.load", 3, 3),
        ('loops."stencil.sweep".per_point', 100, 100),
        ("memory", None, None),
        ("network.cell", None, None),
        ("clock.drift", 1e-5, 1e-5),
    ],
)
def test_settings_of_each_kind_can_be_changed(name: str, value: Any, expected: Any) -> None:
    made: Any = load("cm5").replace(name, value)
    for key in name.replace('"stencil.sweep"', "stencil sweep").split("."):
        key = key.replace("stencil sweep", "stencil.sweep")
        made = made[key] if hasattr(made, "keys") else getattr(made, key)
    assert made == expected


def test_times_of_the_clock_table_may_be_in_seconds() -> None:
    clock = {
        "hz": 33e6,
        "interrupt_every": {"value": 1 / 60, "unit": "s"},
        "interrupt_cost": {"value": 30, "unit": "us"},
    }
    made = load("cm5").replace("clock", clock)
    assert (made.clock.interrupt_every, made.clock.interrupt_cost) == (550_000, 990)
    assert load("cm5").replace("clock.hz", {"value": 0.033, "unit": "GHz"}).clock.hz == pytest.approx(33e6)


def test_a_description_is_shown_by_its_name() -> None:
    assert repr(load("cm5")) == "<machine file 'cm5', 64 processors>"


def test_a_whole_table_can_be_changed() -> None:
    made = load("cm5").replace("network", {"kind": "ideal", "hop": 0, "source": "a wish"})
    assert made.network
    assert made.network.kind == "ideal"
    assert made.network.buffers is None
    assert made.source_of("network.hop") == "a wish"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("message.receive", -1, "machine 'cm5': message.receive is -1; it must be a number of cycles"),
        ("message.recieve", 1, "message.recieve is not known; did you mean 'receive'?"),
        ("message.receive.fast", 1, "'receive' is not a table"),
        ("name.fast", 1, "'name' is not a table"),
        ("messages.receive", 1, "messages is not known; did you mean 'message'?"),
        ("message.inject_at", None, "no setting 'message.inject_at' that could be left out"),
        ("message.receive", None, "message.receive is missing"),
        ("network.kind", "mesh", "does not belong to a network of the kind 'mesh'"),
        ("processors", np.bool_(True), "it must be a whole number of processors"),
        ("switch.contexts", 4, "switch.context_switch is missing"),
    ],
)
def test_a_change_that_is_not_allowed_is_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(smp.MachineFileError) as caught:
        load("cm5").replace(name, value)
    assert message in str(caught.value)
    assert caught.value.line is None


def test_a_description_cannot_be_changed_in_place() -> None:
    cm5 = load("cm5")
    for change in (
        lambda: setattr(cm5, "processors", 2),
        lambda: setattr(cm5.message, "receive", 2),
        lambda: cm5.sources.update(x="y"),  # type: ignore[attr-defined]
        lambda: cm5.loops.__setitem__("x", {}),  # type: ignore[attr-defined]
    ):
        with pytest.raises(AttributeError):  # of which FrozenInstanceError is one
            change()


@pytest.mark.parametrize("name", names())
def test_a_saved_description_reads_back_equal(tmp_path: Path, name: str) -> None:
    machine = load(name)
    machine.save(tmp_path / "copy.toml")
    assert load(str(tmp_path / "copy.toml")) == machine
    assert load(tmp_path / "copy.toml").to_toml() == machine.to_toml()
    assert os.listdir(tmp_path) == ["copy.toml"]
    assert load(machine) is machine


TEXTS = st.text(min_size=1, max_size=30).filter(lambda text: text.strip() and text.isprintable()) | st.sampled_from(
    ['"', "\\", "'''", '"""', "a\tb\n\x7f\x00", "\u00e9\U0001f600", "[x]", "# no", " x ", "value", "source", "unit"]
)


@given(name=TEXTS, source=TEXTS, loop=TEXTS, value=st.floats(0, 1e15) | st.integers(0, 10**15))
def test_any_text_and_number_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, name: str, source: str, loop: str, value: float
) -> None:
    made = load(
        {
            "name": name,
            "note": source,
            "processors": 2,
            "clock": {"hz": 33e6},
            "loops": {loop: {"per_point": {"value": value, "source": source}}},
            "primitives": dict.fromkeys(smp.Charges.__dataclass_fields__, value),
        }
    )
    file = tmp_path_factory.mktemp("made") / "made.toml"
    made.save(file)
    back = load(file)
    assert back == made
    assert back.loops[loop]["per_point"] == value
    assert back.name == name


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    load("cm5").save(file)
    before = file.read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        load("mta").save(file)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["mine.toml"]
