"""The ring computes the same checksums as one token after another, with any delays, network and machine."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Emulated, Machines

import smp
from smp._runtime.program.messages.packets import encoded
from smp.compiled import clock
from smp.errors import ProcessorRaised
from smp.kernels.messages import ring
from smp.kernels.messages.mailbox import PIECE
from smp.kernels.messages.ring import pass_tokens, tokens
from smp.perturb import counted, treated

PLACES = [*"abcdefgh", *(f"F{k}" for k in range(1, 7))]


def checksums(p: int, rounds: int, load: int, likely: float, seed: int) -> list[int]:
    """Return the sum that each node receives: its predecessor's tokens, and its own again from its successor."""
    received = tokens(p, rounds, load=load, likely=likely, seed=seed).sum(axis=0)
    return [int(number) for number in received + np.roll(received, -1)]


@pytest.mark.parametrize("network", ["ideal", "congested"])
@pytest.mark.parametrize("p", [1, 2, 3, 5])
@settings(max_examples=8, deadline=None)
@given(
    rounds=st.integers(1, 6),
    load=st.integers(0, 8),
    words=st.integers(1, 5),
    likely=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    seed=st.integers(0, 1000),
    delays=st.dictionaries(st.sampled_from(PLACES), st.integers(0, 100_000).map("{}ns".format)),
)
def test_delays_do_not_change_the_checksums(
    emulated: Emulated,
    congested: Emulated,
    network: str,
    p: int,
    rounds: int,
    load: int,
    words: int,
    likely: float,
    seed: int,
    delays: dict[str, str],
) -> None:
    machine = congested(p) if network == "congested" else emulated(p)
    with treated(delays):
        run = machine.run(pass_tokens, rounds, load=load, words=words, likely=likely, seed=seed)
    failures = int(run.network["failures"].sum())
    of_all = {"attempts": 2 * p * rounds + failures, "failures": failures} if network == "congested" else {}
    assert run.results == [{"checksum": one, **of_all} for one in checksums(p, rounds, load, likely, seed)]


def test_tokens_are_multiplied_as_often_as_the_load_says() -> None:
    """Computed by hand: the token after {code A}, and the token after the other branch."""
    values = np.full(ring.BLOCK, 5, np.uint64)
    ring.code_a(values, 3)
    assert set(values.tolist()) == {5 * ring.MULTIPLIER**3 % 2**64}
    (first,) = ring.first_tokens(1, 7).tolist()
    loops = 10 * (80 + first % 41) // 100
    assert 8 <= loops <= 12
    for likely, power in ((1.0, loops + 1), (0.0, 1)):
        found = tokens(1, 2, load=10, likely=likely, seed=7)
        assert found.tolist() == [[first], [first * ring.MULTIPLIER**power % 2**64 >> 33]]


def test_the_likely_branch_is_taken_with_its_probability() -> None:
    found = tokens(16, 200, load=10, likely=0.85, seed=1)
    assert np.mean([ring.is_likely(token, 0.85) for token in found.ravel().tolist()]) == pytest.approx(0.85, abs=0.02)
    assert len(np.unique(found)) == found.size


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("words", [2, PIECE, 2 * PIECE + 1])
def test_every_kind_of_machine_gives_the_same_checksums(
    machines: Machines, congested: Emulated, p: int, words: int
) -> None:
    """Messages of more than `PIECE` words take several of the machine's."""
    expected = checksums(p, 4, 10, 0.85, 9)
    for machine in (machines(p), congested(p)):
        run = machine.run(pass_tokens, 4, words=words, seed=9)
        assert [one["checksum"] for one in run.results] == expected
    for seed in range(3):
        with smp.emulated(p, seed=seed, network=smp.networks.ideal(room=1)) as machine:
            run = machine.run(pass_tokens, 4, words=words, seed=9)
            assert run.results == [{"checksum": one} for one in expected]


def test_places_are_passed_as_often_as_the_figure_says(emulated: Emulated) -> None:
    rounds, p = 12, 3
    with counted() as met:
        emulated(p).run(pass_tokens, rounds, seed=4)
    found = tokens(p, rounds, load=10, likely=0.85, seed=4)
    likely = [token for token in found.ravel().tolist() if ring.is_likely(token, 0.85)]
    assert 0 < len(likely) < found.size
    passes = {name: one.passes for name, one in met.items()}
    assert {passes[name] for name in ("a", "b", "F1", "F2", "g", "h")} == {found.size}
    assert {passes[name] for name in ("d", "F3", "F4")} == {len(likely)}
    assert {passes[name] for name in ("e", "f", "F5", "F6")} == {found.size - len(likely)}
    assert passes["c"] == sum(ring.loops_of(token, 10) for token in likely)


def timed(machine: smp.Machine, rounds: int, **options: Any) -> tuple[int, dict[str, int]]:
    """Return the nanoseconds of virtual time, and the results of node 0."""

    def program(proc: smp.Processor) -> tuple[int, dict[str, int]]:
        began = clock()
        found = pass_tokens(proc, rounds, **options)
        return clock() - began, found

    results = machine.run(program).results
    return max(ns for ns, _ in results), results[0][1]


def words_of(length: int) -> int:
    """Return the words of a message of a mailbox."""
    return len(encoded((ring.MAIN, bytes(8 * length)))[1]) // 8


def test_nodes_in_step_never_fail_and_a_round_takes_the_sum_of_its_parts() -> None:
    """With nothing to compute, a round is a transmission of each kind, and at most three sleeps of some 3 us."""
    network = smp.networks.congested(latency=50_000, per_word=1_000)
    with smp.emulated(5, schedule="clock", network=network) as machine:
        (few, one), (many, other) = (timed(machine, rounds, load=0, words=30) for rounds in (5, 9))
    assert one["failures"] == other["failures"] == 0
    sleeps = (many - few) / 4 - 2 * 50_000 - 1_000 * (words_of(30) + words_of(1))
    assert 30 + 1 < words_of(30) + words_of(1) < 30 + 1 + 12
    assert 0 < sleeps < 3 * 3_500


def test_delays_that_keep_nodes_in_step_make_the_ring_faster(congested: Emulated) -> None:
    """The quick branch waits about as long as {code A} takes, and all nodes wait for the slowest before they send."""
    before, plain = timed(congested(16), 8, seed=5)
    with treated({"F2": "20us", "F4": "20us", "F5": "24us", "F6": "20us"}):
        after, delayed = timed(congested(16), 8, seed=5)
    assert plain["failures"] > 30
    assert delayed["failures"] == 0
    assert before > 1.5 * after
    assert delayed["checksum"] == plain["checksum"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"rounds": 1, "load": -1}, "load must be at least 0, not -1"),
        ({"rounds": 1, "words": 0}, "words must be at least 1, not 0"),
        ({"rounds": 1, "likely": 1.5}, "likely must be a share from 0 to 1, not 1.5"),
        ({"rounds": 1.5}, "float"),
    ],
)
def test_invalid_options_are_refused(emulated: Emulated, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProcessorRaised, match=message):
        emulated(2).run(pass_tokens, **options)
