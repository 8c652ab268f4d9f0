"""The loops over local data of the kernels can all be charged on emulated machines, and count the same each time."""

import copy
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
import smp.kernels
from smp._runtime.emulated.local_work import Priced
from smp._runtime.loops.compiler import is_stream, loop_name
from smp.kernels.grids import blocked, by_blocks, red_black
from smp.kernels.lists import at_once, fast, helman_jaja, lists, reid_miller, sampling, serial, sublists, wyllie
from smp.kernels.messages import mesh, ring
from smp.kernels.sorting import by_messages, counting, distribution, halves, keys, parts
from smp.kernels.sorting import sampling as key_sampling
from smp.kernels.sorting.by_vectors import blocks, sharing
from smp.kernels.sorting.orders import packed, passes, values

ALEWIFE = smp.machines.load("alewife")
NOT_DECLARED = ALEWIFE.replace("loops", {})
N = 1000
Case = tuple[Callable[..., Any], tuple[Any, ...]]
FREE = by_messages.begin_radix, by_messages.begin_sample
"""Loops that stand for work that only a machine file knows."""


def loops_of_kernels() -> set[Any]:
    found = set()
    for module in pkgutil.walk_packages(smp.kernels.__path__, "smp.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if loop_name(value) and value.__module__ == module.name and not is_stream(value):
                found.add(value)
    return found


def cases() -> Iterator[Case]:
    """Yield every loop over local data of the kernels, with arguments."""
    rng = np.random.default_rng(1)
    numbers, whole = rng.random(N), rng.integers(0, 200, N)
    images, part = rng.integers(0, 1 << 32, N).astype(np.uint64), rng.integers(0, 16, N).astype(np.uint16)
    floors, places = np.sort(images[:15]), np.concatenate(([0], np.cumsum(np.bincount(part, minlength=16))[:-1]))
    scale, rule = parts.Scale(0.0, 4095.0, False), (np.uint64(63),) * 5

    yield parts.count_cells, (numbers, scale, np.zeros((2, parts.CELLS), np.uint32))
    table, at = np.zeros(parts.CELLS, np.uint8), np.zeros(64, np.uint64)
    yield parts.move, (numbers, scale, table, at, np.empty(N), None, 0)
    yield parts.move, (numbers, scale, table, at, np.empty(N), np.empty(N, np.int64), 0)
    yield halves.count_below, (numbers, 0.5)
    yield halves.move_to_halves, (numbers, 0.5, np.empty(N), 0, int((numbers < 0.5).sum()))
    yield counting.count, (whole, 0, np.zeros(200, np.uint8), np.zeros(200, np.uint32))
    yield counting.write_runs, (np.cumsum(np.bincount(whole, minlength=200)), 0, 0, N, np.empty(N, np.int64))
    yield counting.count_alone, (whole, 200, np.empty(N, np.int64))
    yield counting.count_various, (whole, 200, np.empty(N, np.int64))
    yield distribution._digits, (images, np.uint64(4), np.uint64(255), np.empty(N, np.uint16))
    yield distribution._count_up_to, (images, floors, np.empty(N, np.uint16))
    yield distribution._take_turns, (images, floors, np.zeros(15, np.uint64), np.zeros(N, np.uint16))
    yield distribution._tally, (part, np.zeros(16, np.int64))
    yield distribution._list_places, (part, places.copy(), np.empty(N, np.int64))
    yield distribution._deal, (np.empty(N, np.uint64), images, part, places.copy())
    small, totals = rng.integers(0, 1 << 32, N).astype(np.uint32), np.bincount(part, minlength=16).astype(np.int32)
    yield by_messages.clear, (totals.copy(),)
    yield by_messages.count_digits, (small, 4, 15, np.zeros(16, np.int32))
    yield by_messages.first_places, (totals, totals // 2, np.zeros(16, np.int64))
    yield by_messages.places_of, (small, 4, 15, np.zeros(16, np.int64), np.empty(N, np.int64))
    yield by_messages.begin_radix, (N,)
    yield by_messages.begin_sample, (N,)
    splitters = np.sort(small[:15])
    yield by_messages.processors_of, (small, splitters, np.empty(N, np.int64), np.zeros(16, np.int32))
    yield by_messages.sort_here, (small.copy(),)
    yield blocks.split_block, (images.copy(), 0, N, np.uint64(1 << 31))
    yield blocks.split_into, (images.copy(), images.copy(), 0, N, np.uint64(1 << 31))
    yield blocks.exchange, (images.copy(), 0, N // 2, N // 2)
    yield blocks.sort_part, (images.copy(), 0, N, np.empty((4, 2), np.int64))
    left, alone, pivots = np.empty((4, 2), np.int64), sharing.words_for([(0, N)], 1, blocks=2), np.empty(1, np.uint64)
    yield sharing.sort_shared, (images, images.copy(), alone, pivots, True, 400, 200, 0, left)
    kept, some = np.empty(blocks.KEPT, np.uint64), np.empty(31, np.uint64)
    all_keys = images, images.copy(), alone.copy(), pivots, True, 0, N, sharing.PART, kept, some
    yield sharing.split_first, all_keys
    yield sharing.sort_one, (images.copy(), alone.copy(), 0, N, 400, 200, 0, left, kept, some)
    yield key_sampling._estimate, (np.sort(images), 1e6, np.empty(5))
    yield key_sampling._fewness, (100.0,)
    yield key_sampling._look, (images, np.sort(rng.random(256)), np.empty(256, np.uint64))
    yield key_sampling.first_way, (images,)
    yield key_sampling._glance, (images.view(np.int64), 64, 1 << 20)
    yield key_sampling._variety, (images, keys.rule_of(np.dtype(np.uint64)), np.sort(rng.random(32)))
    yield key_sampling.vary, (images, key_sampling.FEW_DIFFERENT)
    yield key_sampling.different_unless_running, (images,)
    yield key_sampling.narrow_by, (images.view(np.int64), 64, 1 << 20)
    lowest, packing = images >> np.uint64(20), packed.Packing(*map(np.uint64, (0, 4, 10, 4)))
    words = np.sort(lowest >> np.uint64(4) << np.uint64(10) | np.arange(N, dtype=np.uint64))
    alike, ten, spare = keys.rule_of(np.dtype(np.uint64)), np.uint64(10), np.empty(64, np.uint64)
    yield values.order_values, (images % np.uint64(99), alike, 8, np.empty(N, np.int64))
    few, nine = images % np.uint64(9), np.zeros(9, np.int64)
    yield passes.count_few, (few, 9, np.empty(9, np.uint64), nine.copy())
    ends = np.cumsum(np.bincount(few.astype(np.int64), minlength=9))
    starts = np.concatenate([nine[:1], ends[:-1]])
    yield passes.write_passes, (few, 0, np.arange(9, dtype=np.uint64), 9, starts, ends, np.empty(N, np.int64))
    numbers, found = np.empty(N, np.uint8), np.zeros((2, values.MOST_VALUES), np.uint64)
    counts = np.zeros((2, values.MOST_VALUES), np.int64)
    for most in (8, 9):
        yield values.count, (few, most, numbers, found[0], counts[0])
        more = (
            few,
            most,
            numbers % np.uint8(9),
            0,
            np.arange(9, dtype=np.uint64),
            9,
            starts,
            ends,
            np.empty(N, np.int64),
        )
        yield values.write, more
    yield values.number, (images % np.uint64(99), numbers, found[0], counts[0])
    yield values._count, (numbers % np.uint8(99), counts[1])
    found[:, :9], counts[:, :9] = images[:9], N // 18
    yield values.to_places, (found, np.array([9, 9]), alike, counts)
    yield values.write_order, (np.zeros(N, np.uint8), 0, np.zeros(values.MOST_VALUES, np.int64), np.empty(N, np.int64))
    yield packed.survey, (lowest, 0, N, alike)
    yield packed.pack, (lowest, 0, N, alike, packing, np.empty(N, np.uint64))
    yield packed.unpack, (words.copy(), 0, N, ten)
    yield packed.end_of_run, (words, N // 2, ten)
    yield packed.collect, (words.copy(), 0, N, lowest, alike, packing, spare, np.empty(64, np.int64))
    yield packed.put_back, (lowest[:64].copy(), np.arange(0, 128, 2), 64, ten, words.copy())
    yield packed.relabel, (np.arange(N, dtype=np.uint64), 0, N, lowest, alike, packing)
    yield keys._to_images, (images, rule, np.empty(N, np.uint64))
    yield keys._to_bits, (images, rule, np.empty(N, np.uint64))

    grid = rng.random((34, 42))
    yield red_black.relax_rectangle, (grid, 1, 33, 1, 41, 0, 0.3, 0.1)
    yield blocked.relax_strip, (grid, 1, 33, 1, 1, 2, 0.3, 0.1)
    yield blocked.relax_in_cache, (grid, 2, 0.3, 0.1)
    yield by_blocks.copy_edge, (grid[::2, 1], np.empty(17))

    order = rng.permutation(N)
    successor = np.empty(N, np.int64)
    successor[order] = np.append(order[1:], order[-1])
    pairs = np.stack([successor, np.ones(N, np.int64)], axis=1)
    links = np.array([[3, 1], [4, 2], [5, -1]])
    key, found = (3, 1023, 5), np.zeros(3, np.int64)
    yield sampling.far_jumps, (successor, 100, 8)
    yield sampling.go_far, (successor,)
    yield lists.survey, (successor, 0, N, found)
    yield lists.survey_part, (successor, 0, N, found)
    yield fast.copy_surveyed, (successor, np.empty(N, np.int64), 0, N, found)
    yield fast.mark, (successor.copy(), np.arange(0, 100, 10), np.zeros(10, np.int64))
    yield fast.cut, (successor.copy(), 7, 0, np.zeros(11, np.int64), np.zeros(11, np.int64))
    yield fast.rank_alone, (successor, successor.copy(), np.empty(N, np.int64), -1, 0, 10, 4)
    yield fast.begin, (np.array([[3, 1], [4, 2], [5, 2]]), 0, np.zeros(3, np.int64))
    yield fast.finish, (np.zeros(N, np.int64), np.empty(N, np.int64), np.zeros(1 << 16, np.int64), -1)
    yield sublists.offsets_along, (links, 0, np.zeros(3, np.int64))
    starts = np.array([order[0]])
    yield helman_jaja.walk, (successor, key, 0, starts, 4, np.empty(N, np.int64), np.zeros((1, 2), np.int64))
    yield helman_jaja.scatter, (np.empty(N, np.int64), order, np.zeros(1, np.int64), np.full(1, N), 1, 4)
    cursors = np.array([[0, order[0], 0]])
    notes = np.empty(2 * N, np.int64)
    yield reid_miller.advance, (successor, key, 0, 8, 4, cursors, 1, notes, notes.copy(), np.ones(1, np.int64))
    yield reid_miller.scatter, (np.empty(N, np.int64), order, np.arange(N), N)
    yield wyllie.jump, (pairs, pairs.copy())
    yield serial.walk, (successor, int(order[0]), 0, 1, np.empty(N, np.int64))
    yield serial.find_head_and_walk, (successor, 1, np.empty(N, np.int64))
    yield at_once.rank_at_once, (successor, 1, np.empty(N, np.int64))
    yield mesh.approach, (rng.random(100), rng.random((4, 100)))
    yield ring.multiply, (images.copy(),)


CASES = list(cases())


def test_the_cases_are_all_loops_over_local_data_of_the_kernels() -> None:
    assert {loop for loop, _ in CASES} == loops_of_kernels()


@pytest.mark.parametrize(
    ("loop", "args"), each(8, CASES), ids=[f"{k}-{loop.__name__}" for k, (loop, _) in enumerate(CASES)]
)
def test_a_loop_is_charged_and_computes_what_it_computes_on_the_host(loop: Any, args: Any) -> None:
    work = Priced(NOT_DECLARED)
    plain, first, second = (copy.deepcopy(args) for _ in range(3))
    expected = loop(*plain)
    charged = work.run(loop, first, {})
    assert charged.cycles == 0 if loop in FREE else charged.cycles > 0
    assert repr(charged.result) == repr(expected)
    for ours, theirs in zip(first, plain, strict=True):
        if isinstance(ours, np.ndarray):
            assert ours.tobytes() == theirs.tobytes()
    assert work.run(loop, second, {}) == charged


def test_the_declared_cost_of_a_sweep_is_its_count_cell_by_cell() -> None:
    """The sweep itself uses vectors; `relax_cells`, which gives the same grid, is what a machine without them does."""

    @smp.local
    def cells(grid, top, bottom, left, right, colour, quarter, keep):
        return red_black.relax_cells(grid, top, bottom, left, right, colour, quarter, keep)

    work = Priced(NOT_DECLARED)
    for rows, columns in ((12, 9), (30, 70), (130, 20)):
        args = (np.random.default_rng(2).random((rows, columns)), 1, rows - 1, 1, columns - 1, 0, 0.3, 0.1)
        counted = work.run(cells, copy.deepcopy(args), {}).cycles
        declared = work.run(red_black.relax_rectangle, copy.deepcopy(args), {}).cycles
        assert declared == pytest.approx(counted, rel=0.02)


def test_a_sweep_on_a_published_machine_takes_the_printed_time_of_a_point() -> None:
    grid = np.random.default_rng(2).random((66, 66))
    for colour in (red_black.RED, red_black.BLACK):
        charged = Priced(ALEWIFE).run(red_black.relax_rectangle, (grid, 1, 65, 1, 65, colour, 0.3, 0.1), {})
        assert charged.cycles == 93 * 64 * 64 / 2
