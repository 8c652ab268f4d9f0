"""A new form of a kernel needs only its own module and one line in the kernels' table.

The module is tests/support/added_form.py.  Everything else reads the table: the names that users may give, the choice
by models, the predictions, and the microbenchmarks.
"""

from __future__ import annotations

import numpy as np
import pytest
from support import added_form
from support.machines import Machines
from support.profiles import charging

from smp.kernels import random_list, rank_list
from smp.kernels.form import Form
from smp.kernels.lists import choice
from smp.kernels.lists.forms import FORMS
from smp.kernels.lists.serial import rank_here
from smp.microbench.method.plan import Plan
from smp.microbench.predictions import changes
from smp.microbench.sections.lists import probe

ADDED = Form("Alone", added_form.rank_alone, cost=added_form.cost, element_bytes=4, terms=("n",), longest=50)


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMS, "alone", ADDED)  # the one line in the table


def test_a_user_can_name_the_added_form(machines: Machines) -> None:
    successor = random_list(100)
    np.testing.assert_array_equal(rank_list(successor, machine=machines(2), algorithm="alone"), rank_here(successor))


def test_models_can_choose_the_added_form() -> None:
    assert "alone" in choice.programs.__wrapped__(2).implementations


def test_the_time_of_the_added_form_is_predicted_from_its_accesses() -> None:
    (superstep,) = added_form.cost(1000, 2)
    assert superstep["hr"] == 1000
    assert changes.model_of(charging(), "alone", 1000, 2).total() > 0


def test_the_microbenchmark_measures_the_added_form_up_to_its_longest_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.LENGTHS, "quick", (50, 60))
    monkeypatch.setattr(probe, "REPEATS", 1)
    plan = Plan("quick", (2,), 1, 64, 8, ())
    rows = probe.measure(plan, lambda *_: None).data.rows
    assert [row.n for row in rows if row.algorithm == "alone"] == [50]
