"""The records of sections write the same data again that a file holds."""

import json

import pytest
from pydantic import BaseModel, ValidationError
from support.shapes import MPI, QUICK, measured

from smp.microbench.sections import SECTIONS
from smp.microbench.sections.latency.rows import Latency, Level


def kept(record: BaseModel) -> set[str]:
    """Return the keys that a record, or a record in it, keeps although it has no field for them."""
    parts = [part for _, value in record for part in (value if isinstance(value, list) else [value])]
    return set(record.model_extra or ()).union(*(kept(part) for part in parts if isinstance(part, BaseModel)))


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_of_a_file_is_written_as_it_was_read(name: str) -> None:
    data = measured(name)
    record = SECTIONS[name].records()(**data)
    assert json.dumps(record.to_json(), sort_keys=True) == json.dumps(data, sort_keys=True)
    assert not kept(record), "the record has a field for every key that a probe writes"


def test_every_section_of_the_file_has_a_record() -> None:
    described = {"format", "version", "created", "smp", "machine", "facts", "conditions", "samples"}
    for file, kind in ((QUICK, "host"), (MPI, "mpi")):
        own = {name for name, section in SECTIONS.items() if section.machine == kind}
        assert set(json.loads(file.read_text())) - described == own


def test_keys_without_a_field_in_the_record_are_kept() -> None:
    data = {"levels": [{"name": "L1", "ns": 1.5, "ways": 8}], "weather": {"sky": None}}
    assert Latency(**data).to_json() == data


def test_nulls_are_kept_and_missing_keys_stay_missing() -> None:
    level = Level(name="DRAM", ns=100.0, found_bytes=None)
    assert level.to_json() == {"name": "DRAM", "ns": 100.0, "found_bytes": None}


def test_a_record_refuses_nan_and_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Level(name="L1", ns=float("nan"))
    with pytest.raises(ValidationError, match="frozen"):
        Level(name="L1", ns=1.0).ns = 2.0  # type: ignore[misc]
