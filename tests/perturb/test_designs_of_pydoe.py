"""The package's designs compared with those of pydoe, if it is installed: it needs a newer NumPy than smp does."""

import numpy as np
import pytest
from support.designs import overlaps

from smp.perturb.designs import orthogonal, words
from smp.perturb.designs.by_name import design, fractional, recognised, smallest

pydoe = pytest.importorskip("pydoe")


@pytest.mark.parametrize("p", range(3, 12))
@pytest.mark.parametrize("resolution", [3, 4, 5])
def test_the_smallest_design_has_as_many_trials_as_that_of_pydoe_and_no_more_short_words(p, resolution):
    found = smallest(words.named(None, p), resolution)
    theirs = pydoe.fracfact_by_res(p, resolution)
    assert found.trials == len(theirs)
    assert (found.resolution or 99) >= resolution
    assert found.word_lengths <= recognised(theirs)[0].word_lengths


@pytest.mark.parametrize("generators", ["a b c ab", "a b c d abc bcd", "a b c -abc", "a b c d e abcd abce abde"])
def test_levels_equal_those_of_pydoe_for_the_same_generators(generators):
    parts = generators.split()
    letters = words.named(None, len(parts))
    k = sum(len(part.lstrip("-")) > 1 for part in parts)
    pairs = [f"{name}={part}" for name, part in zip(letters, parts, strict=True) if len(part.lstrip("-")) > 1]
    made = fractional(f"2^({len(parts)}-{k})", generators=pairs)
    theirs = pydoe.fracfact(generators)
    order = np.lexsort(theirs[:, : len(parts) - k].T)  # smp changes the first factor fastest
    assert (made.levels == theirs[order]).all()
    folded = pydoe.fold(made.levels)
    assert (made.folded().levels == folded).all()
    assert (made.folded("b").levels == pydoe.fold(made.levels, [1])).all()


@pytest.mark.parametrize("trials", [4, 8, 16, 32, 64])
def test_if_columns_multiply_the_designs_of_pydoe_and_of_plackett_and_burman_have_all_of_them(trials):
    for levels in (design(f"PB{trials}").levels, pydoe.pbdesign(trials - 1)):
        found, _ = recognised(levels)
        assert sorted(found.columns) == list(range(1, trials))


@pytest.mark.parametrize("trials", [12, 20])
def test_pydoe_has_the_same_designs_up_to_order_and_signs(trials):
    ours, theirs = design(f"PB{trials}").levels, pydoe.pbdesign(trials - 1).astype(int)
    size = trials - 1
    wanted = set(map(tuple, ours.tolist()))
    orders = (np.arange(size) * times % size for times in range(1, size))
    assert any(set(map(tuple, (sign * theirs[:, order]).tolist())) == wanted for order in orders for sign in (1, -1))


@pytest.mark.parametrize("trials", [24, 48])
def test_the_published_design_aliases_no_effect_wholly_but_the_doubled_one_of_pydoe_does(trials):
    assert max(overlaps(design(f"PB{trials}").levels)) == trials // 3
    assert max(overlaps(pydoe.pbdesign(trials - 1))) == trials


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_full_designs_equal_those_of_pydoe(count):
    theirs = pydoe.ff2n(count)
    assert (fractional(f"2^{count}").levels == theirs[np.lexsort(theirs.T)]).all()


@pytest.mark.parametrize("name", ["2^3", "2^(4-1)", "2^(5-2)", "2^(6-2)", "2^(7-3)", "2^(8-4)"])
def test_alias_sets_equal_those_of_pydoe(name):
    made = fractional(name)
    theirs, _ = pydoe.fracfact_aliasing(made.levels)
    order = len(made.factors)
    mine = {
        frozenset("".join("abcdefgh"[i] for i in who) for who, _ in effects)
        for effects in made.alias_sets(order).values()
    }
    assert mine == {frozenset(line.split(" = ")) for line in theirs}


@pytest.mark.parametrize(
    "name", ["L9(3^4)", "L16(4^5)", "L18(6^1 3^6)", "L32(2^1 4^9)", "L50(2^1 5^11)", "L54(2^1 3^25)"]
)
def test_orthogonal_arrays_have_the_shapes_of_those_of_pydoe(name):
    theirs = np.asarray(pydoe.get_orthogonal_array(name), np.int64)
    ours = orthogonal.orthogonal_array(name)
    assert ours.shape == theirs.shape
    assert ours.max(axis=0).tolist() == theirs.max(axis=0).tolist()


def test_a_table_of_pydoe_is_not_orthogonal_which_is_why_arrays_are_constructed():
    assert orthogonal.strength(np.asarray(pydoe.get_orthogonal_array("L64(2^31)"), np.int64)) < 2
