"""The parallel quicksort under perturbation: effects that can be predicted; no treatment changes the result."""

import numpy as np
import pytest
from support.machines import Machines

import smp
from smp.kernels.sorting.quick import sort_quick
from smp.perturb import compare, screen, treated
from smp.perturb.analysis.effects import Analysis

PLACES = ["s_lock", "push", "pop", "swap", "bubble_sort", "code1"]
TREATMENTS = ["700ns", "work:50", "sleep:1us", "lock", "cell", "message", "buffer:8KiB"]


@pytest.mark.parametrize("inline_swap", [False, True])
def test_on_one_processor_an_effect_is_the_sum_of_its_delays(inline_swap: bool) -> None:
    """No processor waits, the keys are always the same, and virtual time is exact: so effects add up, and S is zero."""

    def program(proc: smp.Processor, keys: smp.GlobalArray) -> None:
        sort_quick(proc, keys, inline_swap=inline_swap)

    with smp.emulated(1, schedule="clock") as machine:
        keys = np.random.default_rng(3).permutation(150)
        trials = screen(
            program,
            "2^(6-2)",
            treatment="300ns",
            factors=PLACES,
            arguments=lambda: (machine.array(keys),),
            machine=machine,
            replicates=2,
        )
    found = trials.analyse()
    delayed = {name: trials.met[name].passes * 300e-9 for name in PLACES}
    assert trials.delayed() == pytest.approx(delayed)
    effects = dict(zip(found.sources, found.effects.tolist(), strict=True))
    assert effects == pytest.approx(dict.fromkeys(found.sources, 0.0) | delayed, abs=1e-12)
    assert found.uncertainty == pytest.approx(0, abs=1e-12)


def test_the_improved_version_no_longer_depends_on_swap() -> None:
    """All trials of both versions sort the same list; the remaining calls of swap exchange the pivots."""

    def effects(machine: smp.Machine, inline_swap: bool) -> Analysis:
        def program(proc: smp.Processor, keys: smp.GlobalArray) -> dict[str, bool]:
            sort_quick(proc, keys, inline_swap=inline_swap)
            return {"sorted": bool((np.diff(keys.view) > 0).all())}

        keys = np.random.default_rng(8).permutation(400)
        trials = screen(
            program,
            "2^(6-2)",
            treatment="1us",
            factors=PLACES,
            arguments=lambda: (machine.array(keys),),
            machine=machine,
            replicates=1,
        )
        assert trials.responses("sorted").all()  # whatever is delayed
        return trials.analyse()

    with smp.emulated(5, schedule="clock") as machine:
        before, after = effects(machine, False), effects(machine, True)
    main = {name: before.effect(name) for name in PLACES}
    assert main["swap"] > 5 * max(effect for name, effect in main.items() if name != "swap")
    swap = compare(before, after)[PLACES.index("swap")]
    assert swap.factor == "swap"
    assert swap.after < swap.before / 10


@pytest.mark.parametrize("inline_swap", [False, True])
@pytest.mark.parametrize("shift", range(len(TREATMENTS)))
def test_no_treatment_changes_the_result(machines: Machines, shift: int, inline_swap: bool) -> None:
    """Over all shifts, each treatment is applied at each place, on the host and on an emulated machine."""
    keys = np.random.default_rng(shift).integers(0, 500, 600)
    chosen = {name: TREATMENTS[(i + shift) % len(TREATMENTS)] for i, name in enumerate(PLACES)}
    with smp.emulated(3, seed=shift) as emulated, treated(chosen):
        for machine in (emulated, machines(2)):
            shared = machine.array(keys)
            machine.run(sort_quick, shared, inline_swap=inline_swap)
            assert np.array_equal(shared.view, np.sort(keys))
