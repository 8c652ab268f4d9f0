"""Matrix-vector multiplication by puts: values as NumPy's, and times as LogP's where no put meets another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp.errors import ProcessorRaised
from smp.kernels.messages.matrix_vector import Order, multiply_by_puts
from smp.kernels.messages.request_cycles import model_machine
from smp.models.lopc import matrix_vector

ORDERS = st.sampled_from(["random", "shifted", "fixed"])


@settings(max_examples=20, deadline=None)
@given(p=st.integers(1, 5), rows=st.integers(0, 12), columns=st.integers(1, 6), order=ORDERS, seed=st.integers(0, 99))
def test_all_processors_have_the_product(p: int, rows: int, columns: int, order: Order, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, x = rng.normal(size=(rows, columns)), rng.normal(size=columns)
    with smp.emulated(p) as machine:
        run = machine.run(multiply_by_puts, matrix, x, order=order, seed=seed)
    for y, _ in run.results:
        np.testing.assert_allclose(y, matrix @ x)


def test_it_runs_on_the_host() -> None:
    matrix, x = np.arange(60.0).reshape(12, 5), np.arange(5.0)
    with smp.host(2) as machine:
        run = machine.run(multiply_by_puts, matrix, x)
    assert [y.tolist() for y, _ in run.results] == [(matrix @ x).tolist()] * 2


def time_of(order: Order) -> float:
    """Return the cycles of a multiplication of 48 x 48 on 6 processors of the machine that the model describes."""
    file = smp.machines.load(model_machine(50.0, hz=1e9))
    with smp.emulated(6, machine=file, fidelity="latency") as machine:
        run = machine.run(
            multiply_by_puts, np.zeros((48, 48)), np.zeros(48), order=order, multiply_add=4.0, handler=200.0
        )
    return float(max(seconds for _, seconds in run.results)) * 1e9


def test_shifted_puts_never_meet_and_take_the_time_of_logp() -> None:
    model = matrix_vector(48, 6, 4.0, 50.0, 200.0, variation=0.0)
    assert time_of("shifted") == pytest.approx(model.logp, rel=1e-6)


@pytest.mark.parametrize("order", ["random", "fixed"])
def test_other_orders_wait_within_the_bounds_of_the_model(order: Order) -> None:
    model = matrix_vector(48, 6, 4.0, 50.0, 200.0, variation=0.0)
    assert model.logp < time_of(order) <= model.upper


def test_wrong_shapes_and_orders_are_refused() -> None:
    with smp.emulated(1) as machine:
        with pytest.raises(ProcessorRaised, match=r"shape \(2, 3\) cannot be multiplied by a vector of shape \(2,\)"):
            machine.run(multiply_by_puts, np.zeros((2, 3)), np.zeros(2))
        with pytest.raises(ProcessorRaised, match="order is 'none': choose one of random, shifted, fixed"):
            machine.run(multiply_by_puts, np.zeros((2, 3)), np.zeros(3), order="none")
