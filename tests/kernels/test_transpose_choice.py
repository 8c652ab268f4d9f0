"""A transpose chooses its schedule by models.  The models are made up, so that no test depends on measured times."""

import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines import Machines
from support.message_machine import message_machine

import smp
from smp.kernels import transpose_schedule
from smp.kernels.messages import transposes
from smp.kernels.messages.transposes import libraries, library_for
from smp.microbench.calibration import kernels
from smp.models.fit.model import Model
from smp.models.fit.records import Quality
from smp.models.fit.specification import expressions_of
from smp.selection import kept

EXACT = Quality(count=9, verified=9, r_squared=1.0, mre_fit=0.0, mre=0.0, worst=0.0)
KEYWORDS: dict[str, dict[str, Any]] = {
    "copies": {},
    "rounds": {"schedule": "rounds", "barriers": 0},
    "rounds with barriers": {"schedule": "rounds", "barriers": 2},
    "interleaved": {"schedule": "interleaved"},
}


def use(processors: int, terms: Mapping[str, Mapping[str, float]]) -> None:
    """Give the library of a number of processors models; implementations without terms take very long."""
    models, library = {}, library_for(processors)
    for each in library.specifications():
        own = terms.get(each.name.split("/")[1], {"1": 1e9})
        expressions = {name: made for name, made in expressions_of(list(own), list(each.inputs)).items() if name in own}
        values = np.array([own[name] for name in expressions])
        covariance = np.zeros((len(values), len(values)))
        models[each.name] = Model(each.name, each.ranges, expressions, values, covariance, 0.01, 9, each.when, EXACT)
    library.use(models)


@pytest.fixture(autouse=True)
def no_models_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path))
    library_for.cache_clear()
    yield
    library_for.cache_clear()


@pytest.mark.parametrize("name", KEYWORDS)
def test_the_models_choose_the_schedule(machines: Machines, name: str) -> None:
    """The program gets the keywords, whatever they are, and its results are right."""
    use(4, {name: {"1": 1.0}} if name != "rounds with barriers" else {name: {"barriers": -1.0, "1": 5.0}})
    keywords = transpose_schedule(8, 4)
    assert keywords == KEYWORDS[name]
    assert machines(4).run(program, keywords).results == [[0 + k, 10 + k, 20 + k, 30 + k] for k in range(4)]


def program(proc: smp.Processor, keywords: dict[str, Any]) -> Any:
    return proc.transpose(np.arange(proc.size) + 10 * proc.rank, **keywords).tolist()


def test_the_bytes_of_a_part_decide() -> None:
    use(4, {"copies": {"nbytes": 1.0}, "interleaved": {"1": 100.5}})
    assert [transpose_schedule(nbytes, 4) for nbytes in (0, 8, 100)] == [{}] * 3
    assert [transpose_schedule(nbytes, 4) for nbytes in (101, 1e6)] == [KEYWORDS["interleaved"]] * 2
    assert transpose_schedule(101, 3) == {}  # another number of processors, of which there are no models


@pytest.mark.parametrize("processors", [3, 4, 9, 65])
@pytest.mark.parametrize("mix", [1e-4, 0.01, 0.1, 1.0])
def test_the_number_of_rounds_between_barriers_is_the_best(processors: int, mix: float) -> None:
    last = processors - 1
    use(processors, {"rounds with barriers": {f"ceil({last} / barriers) - 1": 1.0, "nbytes * barriers": mix, "1": 1.0}})
    found = transpose_schedule(8, processors)
    times = {n: 1 + math.ceil(last / n) - 1 + 8 * mix * n for n in range(1, last)}
    assert found["schedule"] == "rounds"
    assert times[found["barriers"]] <= 1.1 * min(times.values())  # whole numbers of barriers make steps


def test_without_models_the_kind_of_the_machine_decides() -> None:
    assert [transpose_schedule(nbytes, p) for nbytes in (0, 8, 1e9) for p in (1, 2, 5)] == [{}] * 9


def test_a_choice_of_copies_suits_machines_without_shared_memory() -> None:
    use(2, {"copies": {"1": 1.0}})
    with message_machine(2) as machine:
        assert machine.run(program, transpose_schedule(8, 2)).results == [[0, 10], [1, 11]]


@pytest.mark.parametrize(("nbytes", "processors"), [(-1, 2), (math.nan, 2), (8, 0)])
def test_parts_and_processors_that_cannot_be_are_refused(nbytes: float, processors: int) -> None:
    with pytest.raises(ValueError, match="parts of 0 bytes or more, on 1 processor or more, not"):
        transpose_schedule(nbytes, processors)


def test_models_that_are_kept_are_found_again() -> None:
    use(2, {"interleaved": {"1": 1.0}})
    kept.keep(kept.document([library_for(2)]))
    library_for.cache_clear()
    assert transpose_schedule(100, 2) == {"schedule": "interleaved"}
    assert transpose_schedule(100, 4) == {}


def test_models_of_other_code_do_not_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    use(2, {"interleaved": {"1": 1.0}})
    kept.keep(kept.document([library_for(2)]))
    monkeypatch.setattr(kept, "code_of", lambda library: "edited")
    library_for.cache_clear()
    with pytest.warns(kept.CalibrationWarning, match=r"the models of transpose were .*; until then transpose chooses"):
        assert transpose_schedule(100, 2) == {}
    library_for.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a calibration does not ask for a calibration
        assert kernels.libraries(["transpose"])


def test_the_command_calibrates_the_libraries_for_powers_of_two_and_all_processors() -> None:
    names = [[library.name for library in libraries(most)] for most in (1, 2, 3, 6)]
    assert names == [[f"transpose[{p} processors]" for p in sizes] for sizes in ([2], [2], [2, 3], [2, 4, 6])]
    assert {library.name for library in kernels.libraries(["transpose"])} >= {"transpose[2 processors]"}


@pytest.mark.parametrize("processors", [2, 3, 4])
def test_every_implementation_is_timed_with_its_own_schedule(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transposes, "_opened", smp.emulated)
    monkeypatch.setattr(transposes, "TIMES", 2)
    asked = []

    class Spied:
        rank, size = 0, processors

        def transpose(self, data: Any, out: Any, **keywords: Any) -> None:
            assert data.shape == out.shape == (processors, 24)
            assert data.itemsize == 1
            asked.append(keywords)

    class Opened:
        def run(self, program: Any, *args: Any) -> None:
            program(Spied(), *args)

    library = library_for(processors)
    for name, each in library.implementations.items():
        asked.clear()
        keywords = {} if each.parameter is None else {"barriers": 2}
        each.function(Opened(), 24, **keywords)
        assert asked == [{"schedule": "copies"} if name == "copies" else KEYWORDS[name]] * 2
    assert library.setup is not None
    with library.setup(24)[0] as machine:
        for each in library.implementations.values():
            each.function(machine, 24, **({} if each.parameter is None else {"barriers": 1}))
