"""Extra rows and columns are chosen by the model of a layout, and their predicted benefit is that of virtual time."""

from collections.abc import Callable

import numpy as np
import pytest

import smp
from smp._runtime.emulated.costs import Charges as VirtualCharges
from smp.kernels import relax
from smp.kernels.grids import layout_choice
from smp.kernels.grids.balance_of_rows import extra_figure
from smp.kernels.grids.extra_choice import charges_of, extra_by_model, filled
from smp.kernels.grids.extra_rows import Charges, amounts, best_extra, iteration_time
from smp.kernels.grids.layouts import blocks_of, rectangles
from smp.kernels.grids.programs import relax_red_black
from smp.kernels.grids.terms import random_grid

Predict = Callable[..., float]


def exact(p: int, charges: Charges, constant: float = 0.0, layout: str = "square") -> Predict:
    """Return a model that knows the amounts of every grid."""

    def predict(rows: int, columns: int, iterations: int) -> float:
        shape = rows, columns
        sharing = rectangles(shape, p, layout=layout)
        cells, exchanged = amounts(shape, sharing)
        return 5.0 + iterations * (constant + charges.cell * cells + charges.element * exchanged)

    return predict


@pytest.mark.parametrize("charges", [Charges(1.0, 8.0), Charges(1e-9, 1e-10), Charges(3.0, 0.0)])
def test_the_charges_of_a_model_are_found_again(charges: Charges) -> None:
    found = charges_of(exact(16, charges, constant=50 * charges.cell), (200, 200), 16)
    assert found.cell == pytest.approx(charges.cell, rel=1e-6)
    assert found.element == pytest.approx(charges.element, rel=1e-6, abs=1e-9 * charges.cell)


def test_the_choice_is_that_of_the_charges() -> None:
    charges, shape = Charges(1.0, 8.0), (200, 30)
    found = extra_by_model(exact(16, charges), shape, 16)
    assert found[:2] == best_extra(shape, 16, charges)
    assert found.rows > 0
    assert 0 < found.saved < found.filled < 1


def test_layouts_without_inner_blocks_have_no_extra_rows() -> None:
    dear = Charges(1.0, 50.0)
    for p, layout in ((4, "square"), (16, "uniprocessor"), (16, "shared")):
        assert extra_by_model(exact(p, dear), (200, 200), p, layout=layout) == (0, 0, 0.0, 0.0)
    assert extra_by_model(exact(16, Charges(1.0, 0.0)), (200, 200), 16)[:2] == (0, 0)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_model_without_a_usable_prediction_gives_no_extra_rows(seconds: float) -> None:
    assert extra_by_model(lambda rows, columns, iterations: seconds * iterations, (200, 200), 16)[:2] == (0, 0)


@pytest.mark.parametrize("shape", [(2, 2), (3, 50), (5, 5), (60, 4)])
def test_small_grids_are_shared_out(shape: tuple[int, int]) -> None:
    rows, columns, *_ = extra_by_model(exact(16, Charges(1.0, 8.0)), shape, 16)
    assert 0 <= rows <= shape[0] // 2
    assert 0 <= columns <= shape[1] // 2


def test_the_benefit_of_equation_41_is_that_of_a_smaller_grid() -> None:
    # 200 x 200, one row and one column more at each end: (198 / 200)^2
    assert filled(lambda rows, columns, iterations: 7.0 + iterations * rows * columns, (200, 200), 1, 1) == (
        pytest.approx(1 - 198**2 / 200**2)
    )


@pytest.fixture
def dear_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of 9 processors with which square blocks win, and elements of edges cost much more than cells."""
    library = layout_choice.layouts.__wrapped__("float64", 9)
    costs = {
        name: exact(9, Charges(1e-6, 30e-6), layout="square" if name == "square" else "horizontal")
        for name in library.implementations
    }

    class Fake:
        def __init__(self, predict: Predict) -> None:
            self.predict = predict

    class Chooses:
        models = {name: Fake(predict) for name, predict in costs.items()}  # noqa: RUF012

        def choose(self, *inputs: float) -> str:
            return "square"

    monkeypatch.setattr(layout_choice, "layouts", lambda kind, p: Chooses())


@pytest.mark.usefixtures("dear_edges")
def test_relax_uses_the_extra_rows_of_the_chosen_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = random_grid(62, 41, 6, "float64")
    how = layout_choice.best_layout(grid.shape, "float64", 6, 9)
    assert how["layout"] == "square"
    assert how["extra_rows"] > 0
    with smp.emulated(9) as machine:
        used: list[dict[str, object]] = []
        run = machine.run

        def watched(program: object, *arguments: object, **keywords: object) -> object:
            used.append(keywords)
            return run(program, *arguments, **keywords)  # type: ignore[arg-type]

        monkeypatch.setattr(machine, "run", watched)
        result = relax(grid, iterations=6, machine=machine, layout="program")
    assert used[0]["extra_rows"] == how["extra_rows"]
    np.testing.assert_array_equal(result, relax(grid, iterations=6))


def test_the_predicted_benefit_is_that_of_virtual_time() -> None:
    """The model is calibrated with even shares in virtual time, on a machine on which copies of elements are dear."""
    p, slow, dearer = 16, 1_000, 16

    def seconds(rows: int, columns: int, iterations: int, extra: tuple[int, int] = (0, 0)) -> float:
        grid = machine.zeros((rows, columns), np.float64)
        how = {"iterations": iterations, "extra_rows": extra[0], "extra_columns": extra[1]}
        return float(np.max(machine.run(relax_red_black, grid, **how).seconds))

    charges = VirtualCharges(copied_byte=slow * dearer, looped_byte=slow)
    with smp.emulated(p, schedule="clock", charges=charges) as machine:
        specification = smp.Specification(
            "square",
            {"rows": "24..160 x 4", "columns": "24..160 x 4", "iterations": "1, 3"},
            ["rows", "columns", "rows * columns", "iterations", "iterations * rows", "iterations * columns",
             "iterations * rows * columns"],
            lambda rows, columns, iterations: seconds(rows, columns, iterations),
            clocked=True,
        )  # fmt: skip
        model = smp.calibrate(specification, verification=5)
        shape = 122, 82
        assert blocks_of((120, 80), p, "square", None) == (4, 4)
        found = extra_by_model(model.predict, shape, p)
        even, uneven = (seconds(*shape, 3, extra) - seconds(*shape, 1, extra) for extra in ((0, 0), found[:2]))
    measured = 1 - uneven / even
    assert found[:2] != (0, 0)
    assert measured > 0
    assert found.saved == pytest.approx(measured, abs=0.03)
    assert found.filled > measured, "the extra rows fill idle time only in part"


def test_the_figure_shows_what_rows_save_and_cost() -> None:
    shape, p = (202, 42), 16
    cheap, dear = Charges(1.0, 0.1), Charges(1.0, 30.0)
    figure = extra_figure({"cheap edges": cheap, "dear edges": dear}, shape, p)
    assert [panel.title for panel in figure.panels] == ["cheap edges", "dear edges"]
    for panel, charges in zip(figure.panels, (cheap, dear), strict=True):
        saved, cost = (np.array(one.y) for one in panel.series)
        assert saved[0] == cost[0] == 0
        for rows in (1, 7):
            sharing = rectangles(shape, p, extra_rows=rows)
            even = iteration_time(shape, rectangles(shape, p), charges)
            assert saved[rows] - cost[rows] == pytest.approx(even - iteration_time(shape, sharing, charges))
        assert panel.marks[0].value == best_extra(shape, p, charges)[0]
