"""The records of sections: what a file holds is what they write again."""

import json

import pytest
from pydantic import BaseModel, ValidationError
from support.shapes import QUICK, measured

from smp.microbench.sections import SECTIONS
from smp.microbench.sections.latency.rows import Latency, Level


def kept(record: BaseModel) -> set[str]:
    """The keys that a record, or one in it, keeps without naming them."""
    parts = [part for _, value in record for part in (value if isinstance(value, list) else [value])]
    return set(record.model_extra or ()).union(*(kept(part) for part in parts if isinstance(part, BaseModel)))


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_of_a_file_is_written_as_it_was_read(name: str) -> None:
    data = measured(name)
    record = SECTIONS[name].records()(**data)
    assert json.dumps(record.to_json(), sort_keys=True) == json.dumps(data, sort_keys=True)
    assert not kept(record), "every key that a probe writes is in the record"


def test_every_section_of_the_file_has_a_record() -> None:
    described = {"format", "version", "created", "smp", "machine", "facts", "conditions", "samples"}
    assert set(json.loads(QUICK.read_text())) - described == set(SECTIONS)


def test_keys_that_no_record_names_are_kept() -> None:
    data = {"levels": [{"name": "L1", "ns": 1.5, "ways": 8}], "weather": {"sky": None}}
    assert Latency(**data).to_json() == data


def test_nulls_stay_and_what_was_not_given_stays_away() -> None:
    level = Level(name="DRAM", ns=100.0, found_bytes=None)
    assert level.to_json() == {"name": "DRAM", "ns": 100.0, "found_bytes": None}


def test_a_record_refuses_what_no_reader_could_use() -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Level(name="L1", ns=float("nan"))
    with pytest.raises(ValidationError, match="frozen"):
        Level(name="L1", ns=1.0).ns = 2.0  # type: ignore[misc]
