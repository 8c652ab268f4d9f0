"""A machine of more nodes is computed from the prices of two, in closed form."""

import json
from typing import Any

import pytest
from support.shapes import MPI

from smp.microbench.sections.nodes.report import MORE_NODES, tables
from smp.microbench.sections.nodes.rows import Nodes
from smp.profiles.more_nodes import MoreNodes, steps
from smp.profiles.profile import Profile

PRICES = {"L": 100.0, "ghr": 0.5, "ghw": 7.0, "gM": 0.125, "gfr": 0.25, "gfw": 9.0, "gMf": 0.125, "gms": 40.0}


def section(nodes: int = 2, each: int = 3) -> dict[str, Any]:
    times = {
        ("barrier", "all"): 30.0,
        ("empty superstep", "all"): 70.0,
        ("read of 8 bytes", "far"): 50.0,
        ("request and reply, 32 at once", "far"): 10.0,
    }
    return {
        "nodes": [each] * nodes,
        "processors": nodes * each,
        "operations": [{"name": name, "where": where, "seconds": time} for (name, where), time in times.items()],
        "functions": [{"family": "good", "terms": [*PRICES], "coefficients": [*PRICES.values()]}],
    }


@pytest.mark.parametrize(("nodes", "more"), [(2, 0), (3, 1), (4, 1), (16, 3), (256, 7), (4096, 11)])
def test_each_doubling_of_the_nodes_adds_a_step_to_every_barrier(nodes: int, more: int) -> None:
    machine = MoreNodes(section(), nodes)
    assert machine.barrier == 30.0 + 25.0 * more
    assert machine.empty_superstep == 70.0 + 50.0 * more
    assert steps(nodes) == 1 + more


def test_copies_lie_between_requests_together_on_many_networks_and_one_after_another_on_one() -> None:
    low, high = MoreNodes(section(), 16).reads(15, 4)
    start = 100.0 + 2 * 25.0 * 3 + 0.75 * 60
    assert low == start + 0.25 * 60 * 6 + 40.0 + 14 * 10.0
    assert high == start + 0.25 * 60 * 48 + 15 * 40.0


def test_the_measured_machine_has_its_own_prices() -> None:
    low, high = MoreNodes(section(), 2).reads(1, 8)
    assert low == high == 100.0 + 0.75 * 8 + 0.25 * 8 * 6 + 40.0


def test_the_report_has_more_nodes_only_if_all_prices_were_measured() -> None:
    document = json.loads(MPI.read_text())
    profile = Profile(document)

    def titles(data: dict[str, Any]) -> list[str]:
        return [table.title for table in tables(Nodes.model_validate(data), profile)]

    whole = document["nodes"]
    *_, last = tables(Nodes.model_validate(whole), profile)
    assert last.title == "More nodes of 2 processors, computed"
    assert [row[0] for row in last.rows] == [*MORE_NODES]
    without = whole | {"operations": [row for row in whole["operations"] if row["where"] != "far"]}
    assert titles(without) == [*titles(whole)][:-1]
    assert titles(whole | {"nodes": [3, 1]})[-1] == titles(whole)[-2]
