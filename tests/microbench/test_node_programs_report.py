"""The report on programs on several nodes says of which program each remark is."""

import re

import pytest
from support.machines import ROOT

from smp.microbench.sections.node_programs.report import tables
from smp.microbench.sections.node_programs.rows import NodePrograms
from smp.profiles.profile import Profile


@pytest.mark.filterwarnings("ignore::smp.profiles.profile.ProfileWarning")
def test_the_parts_of_a_prediction_are_those_of_a_program_and_a_length() -> None:
    profile = Profile.load(ROOT / "tests/data/profile/mpi.json")
    found = NodePrograms.model_validate(profile.data["node_programs"])
    first = next(iter(tables(found, profile)))
    parts = [note for note in first.notes if "for supersteps" in note]
    assert len(parts) == len(found.rows) == 8
    assert re.match(r"radix sort of 10,000: good: \S+ ms for supersteps, .* more for far ones and their", parts[0])
    assert [part.split(":")[0] for part in parts] == [f"{row.program} of {row.n:,}" for row in found.rows]
