"""Every fault of a machine file is an error with the line, the key, the value, what is allowed, and a way out."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from support.machine_files import SMALL, changed

import smp
from smp.machines import load
from smp.machines.layout.processors import Primitives

ALL = "processors = 16"
REQUEST, RECEIVE = "request = 60", 'receive = { value = 0.5, unit = "us", source = "a guess" }'
HOP, LINKS, KIND = "hop = 2", "link_bandwidth = [20_000_000]", 'kind = "mesh"'
HEADER, CONTROL = "[message]", "[control]"
RESULT = 'round_trip = { constant = 400, per_hop = 4, sets = ["network.hop"], source = "a measurement" }'
LINES = """\
[memory]
shared = "directory"
line = 64
ways = 2
local_miss = 1
remote_clean = 2
remote_dirty2 = 3
remote_dirty3 = 4
"""
CHARGES = "[primitives]\n" + "\n".join(f"{one.name} = 1" for one in fields(Primitives))
FAULTS = [
    # keys that are not known
    (REQUEST, "requset = 60", "message.requset", "did you mean 'request'?"),
    (REQUEST, "request = 60\nzzz = 60", "message.zzz", "is not known. The keys of [message] are notify, request,"),
    (REQUEST, "request = 60\nbuffers = 60", "message.buffers", "there is such a key in [network]"),
    (CONTROL, "[controll]", "controll", "did you mean 'control'?"),
    (RECEIVE, "receive = { value = 62, sorce = 'x' }", "message.receive.sorce", "did you mean 'source'?"),
    # keys that are missing
    (REQUEST, "", "message.request", "is missing; it must be a number of cycles, 0 or more (time to send a request)"),
    (RECEIVE, "receive = { source = 'x' }", "message.receive", "has no value; write { value = ..., source = ... }"),
    # types
    (REQUEST, "request = true", "message.request", "is True; it must be a number of cycles, 0 or more"),
    (REQUEST, "request = [60]", "message.request", "is [60]; it must be a number of cycles, 0 or more"),
    (REQUEST, "request = 1979-05-27", "message.request", "it must be a number of cycles, 0 or more"),
    (REQUEST, "request = '60 us'", "message.request", 'is written { value = 2, unit = "ns" }'),
    (ALL, "processors = 2.5", "processors", "is 2.5; it must be a whole number of processors, 1 or more"),
    (ALL, "processors = 0", "processors", "is 0; it must be a whole number of processors, 1 or more"),
    (LINKS, "link_bandwidth = 20_000_000", "network.link_bandwidth", "it must be a list"),
    (LINKS, "link_bandwidth = []", "network.link_bandwidth", "is []; it must be a list"),
    ('name = "small"', 'name = ""', "name", "is ''; it must be a text that is not empty"),
    ('name = "small"', "name = 7", "name", "is 7; it must be a text"),
    (RECEIVE, "receive = { value = 62, source = 3 }", "message.receive.source", "is 3; it must be a text"),
    ("words = 4", "words = 4\nhandlers_atomic = 1", "message.handlers_atomic", "is 1; it must be true or false"),
    # numbers that are not allowed
    (REQUEST, "request = -60", "message.request", "is -60; it must be a number of cycles, 0 or more"),
    (REQUEST, "request = nan", "message.request", "is nan; it must be a number of cycles, 0 or more"),
    (REQUEST, "request = inf", "message.request", "is inf; it must be"),
    (REQUEST, "request = 1e16", "message.request", "and at most 1e+15"),
    (REQUEST, f"request = {10**400}", "message.request", "and at most 1e+15"),
    (
        LINKS,
        "link_bandwidth = [0]",
        "network.link_bandwidth",
        "where bandwidth has no limit, the network is of the kind",
    ),
    (LINKS, "link_bandwidth = [-5]", "network.link_bandwidth", "is -5; it must be a number of bytes/s, 1 or more"),
    # units
    (
        RECEIVE,
        'receive = { value = 62, unit = "MHz" }',
        "message.receive",
        "units allowed here are cycles, ns, us, ms, s",
    ),
    (RECEIVE, 'receive = { value = 62, unit = "cycle" }', "message.receive", "did you mean 'cycles'?"),
    (REQUEST, 'request = 60\nwords2 = { value = 4, unit = "us" }', "message.words2", "did you mean 'words'?"),
    ("words = 4", 'words = { value = 4, unit = "us" }', "message.words", "is a number without a unit"),
    ('notify = "poll"', 'notify = { value = "poll", unit = "us" }', "message.notify", "it is a word"),
    # words that are not known
    (
        'notify = "poll"',
        'notify = "pol"',
        "message.notify",
        "is 'pol'; it must be one of 'poll', 'interrupt'; did you mean",
    ),
    (KIND, 'kind = "torus"', "network.kind", "did you mean 'torus3'?"),
    ("out_fifo = 4", 'out_fifo = 4\noverflow = "lose"', "interface.overflow", "one of 'stall', 'drop'"),
    ('routing = "dimension"', 'routing = "x-y"', "network.routing", "one of 'up-random', 'dimension', 'source'"),
    ("fan_out = 2", "fan_out = 2\nbarrier = 7", "control.barrier", "does not belong to control of the kind 'none'"),
    # settings that do not go together
    (KIND, 'kind = "fat-tree"', "network.arity", "is missing, and a network of the kind 'fat-tree' needs it"),
    (KIND, 'kind = "ideal"', "network.buffers", "does not belong to a network of the kind 'ideal'"),
    (KIND, 'kind = "mesh"\narity = 4', "network.arity", "stands here for nothing"),
    ('routing = "dimension"', 'routing = "source"', "network.routing", "it must be 'dimension'"),
    (LINKS, "", "network", "needs either link_bandwidth or link_cycles_per_packet"),
    (LINKS, LINKS + "\nlink_cycles_per_packet = 3", "network", "and not both"),
    (HOP, "hop = 2\nshape = [4, 5]", "network.shape", "is [4, 5], which is 20 nodes for 16 processors"),
    (HOP, "hop = 2\nshape = [4, 2, 2]", "network.shape", "a mesh has 2 dimensions"),
    (HOP, "hop = 2\ncell = { size = 5, payload = 6 }", "network.cell.payload", "must be at most 5"),
    ('kind = "none"', 'kind = "tree"', "control.barrier", "is missing, and control of the kind 'tree' needs it"),
    (REQUEST, "request = 60\ninject_at = 61", "message.inject_at", "it must be at most 60"),
    ("out_fifo = 4", 'out_fifo = 4\noverflow = "drop"', "interface", "needs resend_after if overflow is 'drop'"),
    ("[clock]", "[clock]\ninterrupt_cost = 5", "clock", "needs both interrupt_every and interrupt_cost"),
    ("[clock]", "[clock]\ndrift = 1.5", "clock.drift", "must be a part below 1"),
    (CONTROL, "[block]\ndma = true\nstart = 4\n\n[control]", "block", "needs bandwidth if dma is true"),
    (CONTROL, "[switch]\ncontexts = 4\ncontext_switch = 1\n\n[control]", "switch", "needs the table [memory]"),
    (CONTROL, '[memory]\nshared = "bus"\n\n[control]', "memory.line", "shared memory of the form 'bus' needs it"),
    (CONTROL, f"{LINES}cache = 200\n\n[control]", "memory.cache", "is 200; it must be a multiple of 128"),
    (CONTROL, f"{CHARGES}\n\n[control]", "primitives", "interface.overflow must be 'drop', not 'stall'"),
    # loops and published results
    (CONTROL, "[loops]\nsweep = { point = 3 }\n\n[control]", "loops.sweep.point", "is not a term; a term is constant"),
    (CONTROL, "[loops]\nsweep = { per_point = -3 }\n\n[control]", "loops.sweep.per_point", "is -3; it must be"),
    (CONTROL, '[loops]\n"a.b" = 3\n\n[control]', 'loops."a.b"', "is 3; it must be a table"),
    (RESULT, "round_trip = { source = 'x' }", "published.round_trip", "has no term"),
    (RESULT, "round_trip = { constan = 4 }", "published.round_trip.constan", "did you mean 'constant'?"),
    (
        RESULT,
        "round_trip = { low = 4, unit = 'mm' }",
        "published.round_trip.unit",
        "is 'mm'; it must be one of 'cycles'",
    ),
    (
        RESULT,
        "round_trip = { low = 4, sets = ['a.b'] }",
        "published.round_trip.sets",
        "which is neither a setting nor a table of settings;",
    ),
    (RESULT, "round_trip = { low = 4, sets = 'a.b' }", "published.round_trip.sets", "must be a list of names"),
    ("[published]", "[published]\nsource = 'x'", "published.source", "is 'x'; it must be a table"),
]


def refused(file: Path, text: str) -> smp.MachineFileError:
    file.write_text(text)
    with pytest.raises(smp.MachineFileError) as caught:
        load(file)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(("old", "new", "key", "message"), FAULTS)
def test_a_fault_is_reported_with_its_line(tmp_path: Path, old: str, new: str, key: str, message: str) -> None:
    text, number = changed(old, new)
    error = refused(tmp_path / "my.toml", text)
    lines = text.splitlines()
    last = key.rpartition(".")[2].strip('"')
    if new and new != old and error.line != number:  # a fault of several keys, or one that stands below the old line
        assert error.line is not None
        assert last in lines[error.line - 1] or lines[error.line - 1].startswith("[")
    assert error.key == key
    assert message in str(error)
    assert str(error).startswith(f"{tmp_path / 'my.toml'}, line {error.line}: {key} ")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (REQUEST, "requset = 60", 10),
        (REQUEST, "", 8),  # a missing key: the header of its table
        (RECEIVE, "receive = -1", 13),
        (LINKS, "link_bandwidth = [\n  20_000_000,\n  0,\n]", 25),  # the first line of a value of several
        (HEADER, "[mesage]", 8),
        (KIND, 'kind = "fat-tree"', 22),
        (RESULT, "round_trip.low = true", 34),
        (ALL, "processors = -1", 2),
    ],
)
def test_the_line_of_a_fault_is_exact(tmp_path: Path, old: str, new: str, line: int) -> None:
    assert refused(tmp_path / "my.toml", changed(old, new)[0]).line == line


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (REQUEST, "request 60", 10, "this is not TOML: expected '=' after a key"),
        (REQUEST, "request = ", 10, "this is not TOML: invalid value"),
        (REQUEST, "request = 60\nrequest = 61", 11, "this is not TOML: cannot overwrite a value"),
        (RESULT, 'round_trip = "', 34, "this is not TOML"),
        (REQUEST, f"request = {'9' * 5000}", 10, "this is not TOML: exceeds the limit (4300 digits)"),
        (REQUEST, f"request = {'[' * 50_000}", 10, "this is not TOML: values are nested too deeply"),
        (REQUEST, "request = 2020-13-45", 10, "this is not TOML: "),
    ],
)
def test_a_fault_of_the_syntax_has_its_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    error = refused(tmp_path / "my.toml", changed(old, new)[0])
    assert error.line == line
    assert str(error).startswith(f"{tmp_path / 'my.toml'}, line {line}: ")
    assert message in str(error)


def test_a_missing_table_is_reported_without_a_line(tmp_path: Path) -> None:
    error = refused(tmp_path / "my.toml", 'name = "x"\nprocessors = 2\n')
    assert error.line is None
    assert str(error) == f"{tmp_path / 'my.toml'}: clock is missing; it must be a table (the clock)"
    no_network = SMALL.partition("[network]")[0] + '[control]\nkind = "none"\nfan_out = 2\n'
    error = refused(tmp_path / "my.toml", no_network)
    assert "message needs the table [network], which is missing" in str(error)
    assert error.line == 8


def test_a_machine_without_communication_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path / "my.toml", 'name = "x"\nprocessors = 2\n[clock]\nhz = 1e9\n')
    assert str(error).endswith(
        "the document has no way for processors to communicate: add the table [message], [memory] or [primitives]"
    )


def test_files_that_cannot_be_read_are_named_errors(tmp_path: Path) -> None:
    with pytest.raises(smp.MachineFileError, match=r"there is no machine file at .*my\.toml; the machines that come"):
        load(tmp_path / "my.toml")
    with pytest.raises(smp.MachineFileError, match=r"cannot read the machine file .*: .*Is a directory"):
        load(tmp_path)
    with pytest.raises(smp.MachineFileError, match="cannot read the machine file"):
        load("nul\0l.toml")
    (tmp_path / "long.toml").write_text("#" * 70_000)
    with pytest.raises(smp.MachineFileError, match="it has more than 65,536 bytes"):
        load(tmp_path / "long.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "x"\nnote = "\xe9"\n')
    with pytest.raises(smp.MachineFileError, match="line 2: this is not a text in UTF-8") as caught:
        load(tmp_path / "latin.toml")
    assert caught.value.line == 2


def test_a_name_that_is_not_known_is_refused_with_the_nearest() -> None:
    with pytest.raises(smp.MachineFileError, match=r"there is no machine 'cm6'; did you mean 'cm5'\? The machines are"):
        load("cm6")
    with pytest.raises(smp.MachineFileError, match="7 is not a machine: give a name, a path, a mapping"):
        load(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "the mapping: name is missing; it must be a text"),
        ([], "[] is not a machine"),
        ({1: 2}, "the mapping: the document has the key 1; a key must be a text"),
        ({"name": "x", "processors": math.inf}, "the mapping: processors is inf; it must be a whole number"),
        ({"name": "x", "processors": 1}, "the mapping: clock is missing; it must be a table"),
        ({"name": "x", "k" * 5_000: 1}, f"{'k' * 120}... is not known"),
        ({"name": "\ud800", "processors": 1, "clock": {"hz": 1}}, "a text that UTF-8 can encode"),
        ({"name": "x", "loops": {"\ud800": 1}, "clock": {"hz": 1}}, "processors is missing"),
        ({"name": "x", "processors": 1, "clock": 3}, "clock is 3; it must be a table"),
    ],
)
def test_a_mapping_that_is_not_valid_is_refused(document: Any, message: str) -> None:
    with pytest.raises(smp.MachineFileError) as caught:
        load(document)
    assert message in str(caught.value)
    assert caught.value.line is None


def test_no_code_of_a_file_is_run(tmp_path: Path) -> None:
    text = changed(REQUEST, "request = \"__import__('os').mkdir('made')\"")[0]
    assert "it must be a number of cycles" in str(refused(tmp_path / "my.toml", text))
