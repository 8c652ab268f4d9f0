"""Designs: compared with the published tables, and with brute force over all sets of factors."""

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.designs import overlaps
from support.sampled import campaigns, examples

from smp.perturb.designs import aberration, orthogonal, words
from smp.perturb.designs.by_name import design, fractional, recognised, screening, smallest
from smp.perturb.designs.catalogue import PUBLISHED
from smp.perturb.designs.constructions import twice
from smp.perturb.designs.design import Design
from smp.perturb.designs.galois import field
from smp.perturb.designs.hadamard import plackett_burman, walsh
from smp.perturb.experiments.order import blocked, schedule

PAPER = json.loads((Path(__file__).parents[1] / "data/perturb/paper.json").read_text())

# Resolutions by (factors, generators), in 4 to 128 trials: Box, Hunter and Hunter (1978), table 12.15.
RESOLUTIONS = {
    (3, 1): 3, (4, 1): 4, (5, 1): 5, (5, 2): 3, (6, 1): 6, (6, 2): 4, (6, 3): 3, (7, 1): 7, (7, 2): 4, (7, 3): 4,
    (7, 4): 3, (8, 1): 8, (8, 2): 5, (8, 3): 4, (8, 4): 4, (9, 2): 6, (9, 3): 4, (9, 4): 4, (9, 5): 3, (10, 3): 5,
    (10, 4): 4, (10, 5): 4, (10, 6): 3, (11, 4): 5, (11, 5): 4, (11, 6): 4, (11, 7): 3,
}  # fmt: skip

# Numbers of words of 3, 4 and 5 factors in the designs of minimum aberration, by (factors, trials): Chen, Sun and Wu
# (1993) for 16, 32 and 64 trials; H. Xu, Technometrics 51 (2009), for 128 trials.
WORDS = {
    (9, 16): (4, 14, 8), (10, 16): (8, 18, 16), (11, 16): (12, 26, 28), (12, 16): (16, 39, 48),
    (15, 16): (35, 105, 168), (7, 32): (0, 1, 2), (8, 32): (0, 3, 4), (9, 32): (0, 6, 8),
    (10, 32): (0, 10, 16), (11, 32): (0, 25, 0), (12, 32): (0, 38, 0),
    (13, 32): (0, 55, 0), (14, 32): (0, 77, 0), (15, 32): (0, 105, 0), (16, 32): (0, 140, 0),
    (8, 64): (0, 0, 2), (9, 64): (0, 1, 4), (10, 64): (0, 2, 8), (11, 64): (0, 4, 14), (12, 64): (0, 6, 24),
    (13, 64): (0, 14, 28), (14, 64): (0, 22, 40), (15, 64): (0, 30, 60), (10, 128): (0, 0, 3), (11, 128): (0, 0, 6),
    (12, 128): (0, 1, 8), (13, 128): (0, 2, 16), (14, 128): (0, 3, 24), (15, 128): (0, 7, 32),
    (5, 16): (0, 0, 1), (6, 16): (0, 3, 0), (7, 16): (0, 7, 0), (8, 16): (0, 14, 0), (13, 16): (22, 55, 72),
    (14, 16): (28, 77, 112), (16, 64): (0, 43, 81), (17, 64): (0, 59, 108), (18, 64): (0, 78, 144),
    (19, 64): (0, 100, 192), (20, 64): (0, 125, 256), (16, 128): (0, 10, 48), (17, 128): (0, 15, 60),
}  # fmt: skip

ROWS = {  # Plackett and Burman (1946)
    8: "+++-+--",
    12: "++-+++---+-",
    16: "++++-+-++--+---",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
    28: "+-++++----+---+--+++-+-++-+",
    32: "----+-+-+++-++---+++++--++-+--+",
    36: "-+-+++---+++++-+++--+----+-+-++--+-",
    44: "++--+-+--+++-+++++---+-+++-----+---++-+-++-",
    48: "+++++-++++--+-+-+++--+--++-++---+-+-++----+----",
}


@st.composite
def regular(draw, most=8):
    """Draw a design of random columns and signs, sometimes folded over; it has any resolution, factors may coincide."""
    bits = draw(st.integers(1, 4))
    p = draw(st.integers(1, most))
    columns = tuple(draw(st.lists(st.integers(1, (1 << bits) - 1), min_size=p, max_size=p)))
    signs = tuple(draw(st.lists(st.sampled_from((-1, 1)), min_size=p, max_size=p)))
    made = Design("random", words.named(None, p), columns, signs, walsh(bits), True)
    return made.folded(draw(st.sampled_from([None, "a"]))) if draw(st.booleans()) else made


def product(made, who):
    return made.levels[:, list(who)].astype(int).prod(axis=1)


def sets(p, most):
    return [who for size in range(1, most + 1) for who in combinations(range(p), size)]


@settings(max_examples=examples(60), deadline=None)
@given(regular())
def test_words_of_any_length_are_the_sets_of_factors_whose_product_is_constant(made):
    p = len(made.factors)
    constant = [who for who in sets(p, p) if np.ptp(product(made, who)) == 0]
    assert [int(count) for count in made.word_lengths] == [
        sum(len(who) == length for who in constant) for length in range(1, p + 1)
    ]
    assert made.resolution == min(map(len, constant), default=None)
    relation = {words.spelled(made.factors, who, product(made, who)[0]) for who in constant}
    if len(relation) <= 63:
        assert set(made.defining_relation.split(" = ")) == {"I"} | relation


@settings(max_examples=examples(60), deadline=None)
@given(regular(), st.data())
def test_aliases_are_the_effects_with_the_same_column_up_to_sign(made, data):
    everything = sets(len(made.factors), 3)
    own = data.draw(st.sampled_from(everything))
    same = {
        words.spelled(made.factors, who, sign)
        for who in everything
        for sign in (1, -1)
        if who != own and (product(made, who) == sign * product(made, own)).all()
    }
    assert set(made.aliases(words.spelled(made.factors, own))) == same


@settings(max_examples=20, deadline=None)
@given(regular())
def test_alias_structure_has_every_effect_once(made):
    everything = {words.spelled(made.factors, who) for who in sets(len(made.factors), 3)}
    constant = {
        words.spelled(made.factors, who) for who in sets(len(made.factors), 3) if np.ptp(product(made, who)) == 0
    }
    listed = [word for line in made.alias_structure() for word in line.replace("-", "+").strip("+").split("+")]
    assert len(listed) == len(set(listed))
    assert set(listed) == everything - constant


@settings(max_examples=examples(40), deadline=None)
@given(regular())
def test_sources_name_the_columns_they_stand_for(made):
    named = 0
    for contrast, (source, sign) in enumerate(made.sources(), start=1):
        for word in source.replace("-", "+-").removeprefix("+").split("+") if source not in ("block", "-") else []:
            who, side = words.parsed(made.factors, word)
            assert (sign * side * product(made, who) == made.matrix[:, contrast]).all()
            named += 1
    assert named >= len(set(made.columns))
    assert sum(source == "block" for source, _ in made.sources()) <= made.folds


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(2, 4), st.data())
def test_a_design_is_recovered_from_its_signs_in_any_order_of_the_trials(bits, data):
    p = data.draw(st.integers(bits, (1 << bits) - 1))
    rest = st.lists(st.integers(1, (1 << bits) - 1), min_size=p - bits, max_size=p - bits)
    columns = (*(1 << j for j in range(bits)), *data.draw(rest))
    signs = (*(1,) * bits, *data.draw(st.lists(st.sampled_from((-1, 1)), min_size=p - bits, max_size=p - bits)))
    made = Design("given", words.named(None, p), columns, signs, walsh(bits), True)
    shuffled = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(made.trials)
    found, order = recognised(made.levels[shuffled])
    assert (found.levels == made.levels[shuffled][order]).all()
    assert found.generators == made.generators
    if len(set(columns)) == p:
        again = fractional(found.name, generators=found.generators)
        assert (again.levels == made.levels).all()


def test_levels_that_are_not_a_design_are_not_recognised():
    levels = fractional("2^3").levels.copy()
    levels[0] = levels[1]
    with pytest.raises(ValueError, match="no full or fractional factorial design"):
        recognised(levels)
    mixed = np.column_stack([fractional("2^3").levels, [1, 1, 1, 1, 1, 1, -1, -1]])
    with pytest.raises(ValueError, match="not all columns are products"):
        recognised(mixed)
    with pytest.raises(ValueError, match="a row per trial"):
        recognised([[0, 1], [1, 0]])


@pytest.mark.parametrize("size", PUBLISHED)
def test_published_generators_have_the_published_resolution(size):
    p, k = size
    made = fractional(f"2^({p}-{k})")
    assert made.resolution == RESOLUTIONS[size]
    assert sorted(made.generators) == sorted(PUBLISHED[size].split())


@pytest.mark.parametrize("size", WORDS)
def test_searched_and_published_columns_have_the_fewest_known_short_words(size):
    p, trials = size
    bits = trials.bit_length() - 1
    assert tuple(map(int, fractional(f"2^({p}-{p - bits})").word_lengths[2:5])) == WORDS[size]
    columns = aberration.columns(p, bits)
    made = Design("searched", words.named(None, p), columns, (1,) * p, walsh(bits), True)
    assert tuple(map(int, made.word_lengths[2:5])) == WORDS[size]


@pytest.mark.parametrize("bits", [3, 4, 5, 6, *campaigns(7, 8)])
def test_resolution_is_iv_up_to_half_as_many_factors_as_trials_and_iii_beyond(bits):
    trials = 1 << bits
    for p in {trials // 2, trials // 2 - 1, trials * 3 // 8}:
        assert (fractional(f"2^({p}-{p - bits})").resolution or 99) >= 4
    for p in {trials // 2 + 1, trials - 1}:
        made = fractional(f"2^({p}-{p - bits})")
        assert made.resolution == 3
        assert len(set(made.columns)) == p


def test_sixty_four_factors_fit_in_128_trials():
    made = fractional("2^(64-57)")
    assert made.resolution == 4
    assert sum(made.word_lengths) == 2**57 - 1
    gram = made.levels.T.astype(int) @ made.levels
    assert (gram == 128 * np.eye(64)).all()
    # of the 2,016 interactions of two factors, 32 share each of 63 contrasts
    assert Counter(len(effects) for c, effects in made.alias_sets(2).items() if len(effects[0][0]) == 2) == {32: 63}
    assert len(made.aliases("f1&f2", order=2)) == 31
    assert len(fractional("2^(100-92)").factors) == 100


def test_table_2_is_the_published_design_and_its_generators_are_recovered():
    printed = PAPER["table 2"]
    levels = [[1 if sign == "+" else -1 for sign in row] for row in printed["rows"]]
    found, order = recognised(levels, printed["factors"])
    assert found.name == printed["design"]
    assert found.generators == ("bubble_sort()=s_lock()&push()&pop()", "code1=push()&pop()&swap()")
    assert order.tolist() == list(range(16))
    assert (fractional(printed["design"], printed["factors"]).levels == levels).all()


def test_aliases_of_table_2_are_as_printed_except_for_one():
    printed = PAPER["table 2"]
    made = fractional(printed["design"], printed["factors"])
    wrong = []
    for contrast, source in enumerate(printed["sources"], start=1):
        wrong += [(contrast, word) for word in source.split(" OR ") if made.contrast(word) != (contrast, 1)]
    # By the printed signs bubble_sort() is s_lock()&push()&pop(), line 8 of the table, but it is printed in line 13.
    assert wrong == [(12, "bubble_sort()")]
    assert made.contrast("bubble_sort()") == (7, 1)


@pytest.mark.parametrize("table", ["table 2-B", "table 3"])
def test_aliases_of_tables_2b_and_3_are_as_printed(table):
    printed = PAPER[table]
    made = fractional(printed["design"], printed["factors"])
    if table == "table 3":
        assert made.resolution == 4
        assert [source for source, _ in made.sources()] == printed["sources"]
    else:
        assert made.resolution == 5
        for contrast, source in enumerate(printed["sources"], start=1):
            assert {made.contrast(word) for word in source.split(" OR ")} == {(contrast, 1)}


def test_a_foldover_frees_all_main_effects_and_a_single_fold_frees_one_factor():
    made = fractional("2^(7-4)")
    assert "bd" in made.aliases("a", order=2)
    whole, single = made.folded(), made.folded("a")
    assert (whole.resolution, single.resolution) == (4, 3)
    assert (whole.levels == np.vstack([made.levels, -made.levels])).all()
    assert all(not whole.aliases(factor, order=2) for factor in made.factors)
    assert not single.aliases("a", order=2)
    assert all(not single.aliases(f"a{other}", order=2) for other in "bcdefg")
    assert single.aliases("b", order=2)
    assert whole.blocks.tolist() == [0] * 8 + [1] * 8
    assert whole.folded("b").blocks.tolist() == sorted([0, 1, 2, 3] * 8)


@pytest.mark.parametrize("trials", ROWS)
def test_designs_of_plackett_and_burman_are_the_published_ones(trials):
    made = design(f"PB{trials}")
    row = "".join("+" if level > 0 else "-" for level in made.levels[0])
    assert row == ROWS[trials]
    shift = 9 if trials == 28 else 1  # the design of 28 trials consists of blocks of nine
    for k in range(0, trials - 1, shift):
        assert (made.levels[k] == np.roll(made.levels[0], k)).all()


@pytest.mark.parametrize("trials", range(4, 141, 4))
def test_designs_of_plackett_and_burman_are_orthogonal_and_have_a_trial_without_delays(trials):
    matrix = plackett_burman(trials)
    assert (matrix.T.astype(int) @ matrix == trials * np.eye(trials)).all()
    assert (matrix[:, 0] == 1).all()
    assert (matrix[-1, 1:] == -1).all()


def test_a_screening_takes_the_fewest_trials_and_folds_to_resolution_iv():
    assert [screening(words.named(None, p)).trials for p in (3, 4, 7, 8, 11, 12, 27, 47, 48, 51, 52, 91, 127)] == [
        4, 8, 8, 12, 12, 16, 28, 48, 52, 52, 56, 92, 128,
    ]  # fmt: skip
    made = screening("abcdefghjkl")
    assert made.resolution == 3
    assert made.folded().resolution == 4
    assert overlaps(made.levels) == {4: 165}  # each by a third of the 12 trials (Plackett-Burman)
    assert made.word_lengths[2] == Fraction(165, 9)
    with pytest.raises(ValueError, match="PB12 has no contrast for the interaction 'ab'"):
        made.contrast("ab")
    with pytest.raises(ValueError, match="PB148: no such design of 3 factors is known"):
        screening("abc", 148)


def test_every_named_array_is_orthogonal():
    known = orthogonal.arrays()
    assert {"OA9(3^4)", "OA12(2^11)", "OA18(2^1 3^7)", "OA25(5^6)", "OA32(2^1 4^9)", "OA54(2^1 3^25)"} <= set(known)
    for name in known:
        levels = orthogonal.orthogonal_array(name)
        assert len(levels) == int(name[2 : name.index("(")])
        assert not levels[0].any(), "the first trial has the first level everywhere"
        for i, j in list(combinations(range(levels.shape[1]), 2))[:60]:
            counts = Counter(zip(levels[:, i].tolist(), levels[:, j].tolist(), strict=True))
            assert len(set(counts.values())) == 1
            assert len(counts) == len(set(levels[:, i].tolist())) * len(set(levels[:, j].tolist()))


@pytest.mark.parametrize("s", [3, 5, 7, 11, 13])
def test_a_difference_scheme_of_twice_a_prime_has_every_difference_equally_often(s):
    scheme = twice(s)
    assert scheme.shape == (2 * s, 2 * s)
    for i, j in combinations(range(2 * s), 2):
        assert np.bincount((scheme[:, i] - scheme[:, j]) % s, minlength=s).tolist() == [2] * s


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 25, 27])
def test_fields_obey_the_rules_of_addition_and_multiplication(q):
    addition, multiplication = field(q)
    a, b, c = np.random.default_rng(q).integers(0, q, (3, 200))
    assert (addition[a, b] == addition[b, a]).all()
    assert (multiplication[a, addition[b, c]] == addition[multiplication[a, b], multiplication[a, c]]).all()
    assert (multiplication[multiplication[a, b], c] == multiplication[a, multiplication[b, c]]).all()
    assert all(sorted(row) == list(range(q)) for row in addition.tolist()), "each element has a negative"
    assert all(sorted(row) == list(range(q)) for row in multiplication[1:].tolist()), "each except 0 has an inverse"


@pytest.mark.parametrize("q", [0, 1, 6, 12, 16])
def test_a_field_that_does_not_exist_or_is_too_large_is_refused(q):
    with pytest.raises(ValueError, match=f"no field of {q} elements is known"):
        field(q)


@pytest.mark.parametrize("s", [2, 3, 5, 7, 11])
def test_arrays_with_a_prime_number_of_levels_have_strength_two(s):
    levels = orthogonal.orthogonal_array(f"OA{s * s}[{s}^{s + 1}]")
    assert levels.shape == (s * s, s + 1)
    assert orthogonal.strength(levels) == 2


def test_the_array_of_table_4_has_the_printed_settings():
    printed = PAPER["table 4"]
    found = orthogonal.settings("F1, F2, F3, F4, F5, F6", printed["levels"])
    assert found.shape == (25, 6)
    for trial, row in printed["settings"].items():
        assert found[int(trial) - 1].tolist() == row


def test_settings_may_have_different_levels_for_each_factor_and_four_levels():
    found = orthogonal.settings("ab", {"a": (0, 1, 2), "b": (0, 10, 20)})
    assert sorted(map(tuple, found.tolist())) == [(a, b) for a in (0, 1, 2) for b in (0, 10, 20)]
    assert orthogonal.settings("abcde", (0, 1, 2, 3)).shape == (16, 5)
    with pytest.raises(ValueError, match="all factors must have the same number of levels"):
        orthogonal.settings("ab", {"a": (0, 1, 2), "b": (0, 10)})
    with pytest.raises(ValueError, match="no array is known for 9 factors of 6 levels"):
        orthogonal.settings(words.named(None, 9), range(6))
    with pytest.raises(ValueError, match=r"no array OA10\(5\^6\) is known"):
        orthogonal.orthogonal_array("OA10(5^6)")
    with pytest.raises(ValueError, match="is not an orthogonal array: write"):
        orthogonal.orthogonal_array("5^6")


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(1, 5), st.integers(0, 1000), st.integers(1, 4))
def test_each_replication_runs_all_trials_once_block_by_block(trials, replications, seed, blocks):
    block = np.arange(trials) % blocks
    order = schedule(trials, replications, seed, block)
    again = schedule(trials, replications, seed, block)
    assert all((one == other).all() for one, other in zip(order, again, strict=True))
    assert order.replication.tolist() == sorted(order.replication.tolist())
    for replication in range(replications):
        mine = order.replication == replication
        assert sorted(order.trial[mine].tolist()) == list(range(trials))
        assert (order.block[mine] == block[order.trial[mine]]).all()
        changes = np.count_nonzero(np.diff(order.block[mine]))
        assert changes == len(set(block.tolist())) - 1


def test_each_replication_has_a_fresh_order_and_all_orders_are_equally_likely():
    order = schedule(16, replications=3, seed=5)
    assert len({tuple(order.trial[order.replication == r].tolist()) for r in range(3)}) == 3
    firsts = Counter(schedule(4, 2000, seed=1).trial.reshape(-1, 4)[:, 0].tolist())
    assert all(abs(count - 500) < 100 for count in firsts.values())  # five standard deviations


@pytest.mark.parametrize(
    ("text", "count", "taken"),
    [("2^3", 2, ["abc"]), ("2^4", 2, ["abcd"]), ("2^5", 4, ["abe", "abcd", "cde"]), ("2^(5-1)", 2, ["ab"])],
)
def test_blocks_use_the_least_important_contrasts(text, count, taken):
    made = fractional(text)
    block, contrasts = blocked(made, count)
    sources = [made.sources()[contrast - 1][0] for contrast in contrasts]
    assert sorted(map(len, sources)) == sorted(map(len, taken))
    assert np.bincount(block).tolist() == [made.trials // count] * count
    for contrast in contrasts:
        assert all(np.ptp(made.matrix[block == one, contrast]) == 0 for one in range(count))


def test_a_design_survives_json_and_a_changed_one_is_refused():
    signed = fractional("2^(6-2)", "s, t, u, v, w, x", generators=["w=-s&t&u", "x=t&u&v"])
    for made in (signed, fractional("2^(7-4)").folded().folded("c"), screening("abcdefghjkl").folded()):
        again = Design.from_json(json.loads(json.dumps(made.to_json())))
        assert (again.levels == made.levels).all()
        assert (again.matrix == made.matrix).all()
        assert (again.name, again.factors, again.sources()) == (made.name, made.factors, made.sources())
    data = signed.to_json()
    for change in ({"columns": [1, 2, 3, 4, 5, 6]}, {"rows": data["rows"][::-1]}, {"rows": data["rows"][:5]}):
        with pytest.raises(ValueError, match="it was changed"):
            Design.from_json({**data, **change})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fractional("3^4"), "is not a design of two levels"),
        (lambda: fractional("2^(6-4)"), r"6 factors need at least 2\^3 trials, as in 2\^\(6-3\)"),
        (lambda: fractional("2^20"), r"2\^20 trials, but a design may have at most 4,096"),
        (lambda: fractional("2^3", "ab"), "a design of 3 factors cannot take 2: a, b"),
        (lambda: fractional("2^2", "a, a"), "more than one factor has this name"),
        (lambda: fractional("2^2", ["a&b", "c"]), "cannot be called 'a&b'"),
        (lambda: fractional("2^(3-1)", generators=["c=ad"]), "'d' is not one of a, b"),
        (lambda: fractional("2^(3-1)", generators=["c=a"]), "two factors have the same column"),
        (lambda: fractional("2^(3-1)", generators=[]), "there must be 1"),
        (lambda: fractional("2^(6-3)", generators=["e=abc", "e=bcd", "f=ab"]), "generated twice"),
        (lambda: fractional("2^3").folded("d"), "cannot fold over on 'd': the factors of this design are a, b, c"),
        (lambda: fractional("2^12").folded(), "8,192 trials"),
        (lambda: fractional("2^3").contrast("ax"), "'x' is not one of a, b, c"),
        (lambda: fractional("2^0"), "is not a design of two levels"),
        (lambda: fractional("2^99999999999"), "at most 4,096"),
        (lambda: fractional("2^2", ["a;b", "c"]), "cannot be called 'a;b'"),
        (lambda: fractional("2^2", ["a\tb", "c"]), "cannot be called"),
        (lambda: screening([]), "no factors"),
        (lambda: design("PB"), "PB alone is not a design"),
        (lambda: design("PB0", "abc"), "PB0: no such design of 3 factors"),
        (lambda: design("PB1"), "PB1: no such design"),
        (lambda: design("PB8192"), "some up to 4,096"),
        (lambda: screening(words.named(None, 4096)), "PB: no such design of 4096 factors"),
        (lambda: smallest(words.named(None, 20), 12), "no design of 20 factors up to 4,096 trials has resolution 12"),
        (lambda: schedule(0), "0 trials"),
        (lambda: schedule(4, blocks=np.zeros(3, int)), "blocks of shape"),
        (lambda: blocked(fractional("2^3"), 3), "8 trials cannot be divided into 3 blocks"),
        (lambda: blocked(fractional("2^(7-4)"), 2), "would hide a main effect"),
        (lambda: blocked(screening("abcdefg"), 2), "no contrasts of interactions for the blocks"),
    ],
)
def test_invalid_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_words_are_parsed_and_factors_are_named():
    assert words.parsed("abc", "aba") == ((1,), 1)
    assert words.parsed("abc", "-c&a") == ((0, 2), -1)
    with pytest.raises(ValueError, match="'pussh' is not an effect: 'pussh' is not one of push, pop"):
        words.parsed(("push", "pop"), "pussh")
    assert words.named("push, pop") == ("push", "pop")
    assert words.named(None, 26)[::25] == ("f1", "f26")
    assert "i" not in words.named(None, 25)


def test_designs_have_several_spellings_and_are_shown_as_text():
    assert [design(text).name for text in ("2^3", "2^(6 - 2)", "2^{6-2}", "2^6-2", "pb12")] == [
        "2^3", "2^(6-2)", "2^(6-2)", "2^(6-2)", "PB12",
    ]  # fmt: skip
    assert design("PB", "abcde").trials == 8
    assert str(fractional("2^3")) == "2^3: 3 factors in 8 trials, nothing is aliased"
    assert fractional("2^(15-11)").defining_relation.endswith("(2,036 words more)")
    assert fractional("2^3", ["push", "pop", "swap"]).sources()[2][0] == "push&pop"


def test_an_array_with_factors_of_one_level_is_refused():
    with pytest.raises(ValueError, match=r"no array OA1\(1\^2\) is known"):
        orthogonal.orthogonal_array("OA1(1^2)")


@pytest.mark.parametrize("text", ["OA25(^5)", "OA25(5^)", "OA25( )", "OA25(5^0)", "OA25(5^6^7)", "OA25(5^6", "OA(5^6)"])
def test_an_invalid_name_of_an_orthogonal_array_is_refused(text):
    with pytest.raises(ValueError, match="is not an orthogonal array: write"):
        orthogonal.orthogonal_array(text)


def test_orthogonal_arrays_have_several_spellings():
    for text in ("L18[6^1 3^6]", "oa18( 6 x 3^6 )", "OA_18(6*3 3 3 3^3)"):
        assert np.array_equal(orthogonal.orthogonal_array(text), orthogonal.orthogonal_array("OA18(6^1 3^6)"))


def test_levels_must_be_given_for_every_factor():
    with pytest.raises(ValueError, match="no levels for b, c: give a list for each factor"):
        orthogonal.settings("abc", {"a": (0, 1)})
