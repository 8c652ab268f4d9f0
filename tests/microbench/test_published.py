"""The published numbers of the Tera MTA are consistent: clocks agree with times, and sums with their parts."""

import pytest

from smp.microbench.output import tera


@pytest.mark.parametrize(
    ("number", "ms"),
    [(tera.START, 1.04e-1), (tera.REMAP, 6.60e-1), (tera.REMAP_DEVIATION, 5.95e-2), (tera.REMAP_AT_ONCE, 2.07e-1)],
)
def test_clocks_agree_with_the_times_printed_next_to_them(number: tera.Published, ms: float) -> None:
    assert number.ns == pytest.approx(ms * 1e6, rel=0.01)


def test_the_deviation_of_a_start_is_printed_ten_times_too_long() -> None:
    assert 10 * tera.START_DEVIATION.ns == pytest.approx(3.74e-2 * 1e6, rel=0.01)


def test_a_remapping_is_the_sum_of_its_categories() -> None:
    assert sum(one.clocks for one in tera.REMAPPING) == pytest.approx(tera.REMAP.value, rel=0.005)
    left = tera.REMAP.value
    for one in tera.REMAPPING[:-1]:
        left -= one.clocks
        assert left == pytest.approx(float(one.left.replace(",", "")), rel=0.015)
    assert left / tera.WORD_CLOCKS.value == pytest.approx(1010, rel=0.01)
    assert tera.REMAP_AT_ONCE.value == pytest.approx(
        tera.REMAP.value - tera.LOOKS.value * tera.HOT_SPOT.value, rel=0.01
    )


def test_the_speedup_of_streams_and_the_serial_list_agree_with_other_numbers() -> None:
    assert tera.STREAM_FOUR.value / tera.STREAM_ONE.value == pytest.approx(tera.STREAM_SPEEDUP.value, rel=0.01)
    # three memory references of about 700 ns
    assert 3 * tera.LATENCY.ns / 1e3 == pytest.approx(tera.SERIAL_LIST.value, rel=0.1)
