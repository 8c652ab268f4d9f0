"""Fixtures that run the same tests on all kinds of machines."""

import contextlib
import functools
from collections.abc import Callable, Iterator

import pytest
from support.message_machine import message_machine

import smp

KINDS: dict[str, Callable[[int], smp.Machine]] = {
    "host": smp.host,
    "emulated": smp.emulated,
    "messages": message_machine,
}


@pytest.fixture(scope="module", params=KINDS)
def machines(request: pytest.FixtureRequest) -> Iterator[Callable[[int], smp.Machine]]:
    """``machines(p)`` returns a machine of p processors; the tests run with each kind in turn."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda p: stack.enter_context(KINDS[request.param](p)))


NETWORKS: dict[str, Callable[[int], smp.Machine]] = {
    **KINDS,
    "congested": lambda p: smp.emulated(p, schedule="clock", network=smp.networks.congested()),
}


@pytest.fixture(scope="module", params=NETWORKS)
def networks(request: pytest.FixtureRequest) -> Iterator[Callable[[int], smp.Machine]]:
    """``networks(p)`` returns a machine as ``machines(p)`` does, with each kind and each network of messages."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda p: stack.enter_context(NETWORKS[request.param](p)))


@pytest.fixture
def kinds() -> dict[str, Callable[[int], smp.Machine]]:
    """Functions that open a machine, one for each kind."""
    return KINDS


@pytest.fixture(scope="module")
def messages() -> Iterator[smp.Machine]:
    """A machine of two processors that share no memory."""
    with message_machine(2) as machine:
        yield machine


@pytest.fixture(scope="module")
def each_kind() -> Iterator[Callable[[int], dict[str, smp.Machine]]]:
    """``each_kind(p)`` returns a machine of p processors for each kind."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda p: {kind: stack.enter_context(opened(p)) for kind, opened in KINDS.items()})
