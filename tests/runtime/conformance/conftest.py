"""Fixtures that run the same tests on all kinds of machines."""

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from support.machines import Machines, shared
from support.message_machine import message_machine
from support.nodes import ON_NODES

import smp

KINDS: dict[str, Callable[[int], smp.Machine]] = {
    "host": smp.host,
    "emulated": smp.emulated,
    "messages": message_machine,
}

MPI: dict[str, Callable[[int], smp.Machine]] = {"mpi": smp.mpi, **ON_NODES}
"""Kinds that need MPI.  Their tests have a marker of their own."""


FOUR_NODES = {
    f"test_{name}_of_all_kinds.py"
    for name in ("arrays", "collectives", "combining", "failures", "messages", "supersteps")
}
"""Modules whose ordinary tests also run with a node for each processor; the others do so only in slow runs."""
LONG = re.compile(
    r"test_parts_of|test_the_worked_examples|test_all_boundaries.*-[45]-|test_the_published_median.*-[56]\]"
    r"|test_(statistics_of_every_dtype|collectives_combine_the_values).*-[1-4]\]"
    r"|test_(processors_get_their_parts|votes_are_counted).*-[1-3]\]"
    r"|test_(requests_are_answered|processors_make_arrays|python_numbers_give).*-[12]\]"
    r"|test_reads_see_the_values.*(mpi-[15]|nodes-[12]|each-[12])\]"
    r"|test_every_operator.*(-b1|nodes-u1|each-u1)\]|test_every_repeat.*-shape[13]\]"
    r"|test_every_index.*two nodes|test_arrays_of_any_dtype.*node each"
    r"|test_it_makes_no_difference.*-[12]-\d-\d+\]|test_an_exception_is_reported.*-1-"
)
"""Cases that take long with MPI, and run there only in slow runs: of each test, others stay in the ordinary run."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        with_mpi = item.get_closest_marker("mpi") is not None
        partly = "mpi on a node each" in item.name and item.path.name not in FOUR_NODES
        if partly or (with_mpi and LONG.match(item.name)):
            item.add_marker(pytest.mark.slow)


def marked(kinds: Iterable[str]) -> list[Any]:
    """Return the names of kinds as parameters, with those that need MPI and their marker."""
    return [*kinds, *(pytest.param(kind, marks=pytest.mark.mpi) for kind in MPI)]


@pytest.fixture(scope="session")
def on_one_node() -> Iterator[Machines]:
    """``on_one_node(p)`` returns a machine of MPI that stays open for other modules.

    To open it takes seconds, and while it is idle it uses no CPU. Machines on several nodes do.
    """
    with shared(smp.mpi) as machine:
        yield machine


@contextlib.contextmanager
def opening(request: pytest.FixtureRequest, kinds: dict[str, Callable[[int], smp.Machine]]) -> Iterator[Any]:
    """Return the function that opens the machines of a module, of the fixture's kind."""
    if request.param == "mpi":
        yield request.getfixturevalue("on_one_node")
        return
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda p: stack.enter_context({**kinds, **MPI}[request.param](p)))


@pytest.fixture(scope="module", params=marked(KINDS))
def machines(request: pytest.FixtureRequest) -> Iterator[Callable[[int], smp.Machine]]:
    """``machines(p)`` returns a machine of p processors; the tests run with each kind in turn."""
    with opening(request, KINDS) as machine:
        yield machine


NETWORKS: dict[str, Callable[[int], smp.Machine]] = {
    **KINDS,
    "cm5": lambda p: smp.emulated(p, machine="cm5", fidelity="latency"),
    "alewife": lambda p: smp.emulated(p, machine="alewife", fidelity="latency"),
    "protocol processors": lambda p: smp.emulated(
        p, machine=smp.machines.load("alewife").replace("protocol", {"processor": True}), fidelity="latency"
    ),
    "congested": lambda p: smp.emulated(p, schedule="clock", network=smp.networks.congested()),
}


@pytest.fixture(scope="module", params=marked(NETWORKS))
def networks(request: pytest.FixtureRequest) -> Iterator[Callable[[int], smp.Machine]]:
    """``networks(p)`` returns a machine as ``machines(p)`` does, with each kind and each network of messages."""
    with opening(request, NETWORKS) as machine:
        yield machine


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
