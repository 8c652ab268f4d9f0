"""The actions of commands: measure, show a profile, calibrate, compare profiles, print what a program costs.

Each action takes the options of its command, prints its result to the standard output and everything else to the
standard error, and returns an exit code: 0 for success, 3 if a comparison found a figure that is slower than
``--fail-above`` allows, and 130 if it was interrupted (the results so far are saved).  `carry_out` adds 1 for errors.
`smp._computer.commands` turns the code into the exit status of the process.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from .._computer.commands import interruptible
from .._computer.data import write
from .._computer.facts import gather
from .._output.forms import print_in
from .._output.progress import shown_on
from ..errors import ProfileError, SmpError
from ..models.fit.fitting import ModelWarning
from ..profiles.profile import Profile, ProfileWarning
from ..profiles.published import opened
from .calibration.kernels import Calibration
from .calibration.kernels import load as load_models
from .measuring import begun, measure
from .method.samples import Samples, samples_of
from .report import whole_report as report
from .report.facts import part as computer
from .report.history import add_to_history
from .sections import SECTIONS

MOST_NAMES = 30  # most files that are listed by name; if there are more, the plots are only counted
Action = Callable[[argparse.Namespace, Console], int]


def carry_out(action: Action, options: argparse.Namespace) -> int:
    """Carry out an action, and return its exit code; print warnings and errors in a line each."""
    talk = Console(stderr=True)
    with warnings.catch_warnings():
        warnings.simplefilter("always", ProfileWarning)
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = lambda message, *_, **__: talk.print(f"warning: {message}", style="yellow", markup=False)
        try:
            return action(options, talk)
        except KeyboardInterrupt:
            talk.print("interrupted")
            return 130
        except (SmpError, OSError) as error:
            talk.print(f"error: {error}", style="red", markup=False)
            return 1


def run(options: argparse.Namespace, talk: Console) -> int:
    """Measure the wanted sections, all by default, and print the profile; add them to ``options.profile`` if given."""
    campaign = begun(
        options.mode,
        options.only or (),
        options.out,
        talk,
        machine=options.machine,
        hosts=options.hosts,
        launcher=options.launcher,
        processors=options.processors or (),
        seed=options.seed,
        word_bytes=options.word_bytes,
        base=opened(options.profile) if options.profile else None,
        budget_s=options.budget,
        name=options.name,
        specification=options.spec,
    )
    code = 0
    try:
        measure(campaign, talk)
    except KeyboardInterrupt:
        code = 130
        talk.print("interrupted: saving the results so far; run the same command again to continue")
    files = []
    try:
        files = [*campaign.save(), add_to_history(campaign.profile, options.out)]
    except OSError as error:  # a full disk; the results are printed all the same
        code = 1
        talk.print(f"error: {error}", style="red", markup=False)
    _show(campaign.profile, campaign.samples, files, options, talk)
    return code


def show(options: argparse.Namespace, talk: Console) -> int:
    """Print a saved or published profile, or only its sections ``options.only``."""
    profile = opened(options.profile)
    if options.only:
        profile.data = {
            name: value for name, value in profile.data.items() if name not in SECTIONS or name in options.only
        }
    _show(profile, samples_of(profile), [], options, talk)
    return 0


def _show(profile: Profile, samples: Samples, files: list[Path], options: argparse.Namespace, talk: Console) -> None:
    """Print a profile; write its page and its plots, unless they are off or there is no folder for them."""
    print_in(options.form, profile.data, report.whole(profile))
    if options.out is not None and not options.no_plots:
        from .report import plots
        from .report.page import write_page  # imports the template engine

        files = [*files, *plots.draw(profile.data, samples, options.out), write_page(profile, samples, options.out)]
    _tell(talk, options.out, files)


def calibrate(options: argparse.Namespace, talk: Console) -> int:
    """Fit the models of the kernels that ``options.calibrate`` names, and print them."""
    options.out.mkdir(parents=True, exist_ok=True)
    code, calibration = 0, Calibration(options.calibrate, options.out, options.seed)
    try:
        with interruptible(), shown_on(talk) as bar:
            calibration.measure(bar)
    except KeyboardInterrupt:
        code = 130
        talk.print("interrupted: saving the results so far; run the same command again to continue")
    _show_models(calibration.data, calibration.save(), options, talk)
    return code


def show_models(options: argparse.Namespace, talk: Console) -> int:
    """Print the saved calibration ``options.models``."""
    _show_models(load_models(options.models), [], options, talk)
    return 0


def _show_models(data: dict[str, object], files: list[Path], options: argparse.Namespace, talk: Console) -> None:
    from .calibration.tables import report as report_models

    print_in(options.form, data, report_models(data))
    if options.out is not None and not options.no_plots:
        from .calibration import plots as plots_calibration
        from .calibration.page import write_page  # imports the template engine

        files = [*files, *plots_calibration.draw(data, options.out), write_page(data, options.out)]
    _tell(talk, options.out, files)


def show_facts(options: argparse.Namespace, talk: Console) -> int:
    """Print what the system reports about this computer."""
    found = gather()
    print_in(options.form, found, [computer(found)])
    return 0


def compare(options: argparse.Namespace, talk: Console) -> int:
    """Print the profiles ``options.compare`` side by side."""
    from .predictions.comparison import compare as compared
    from .predictions.report_comparison import slower

    found = compared(*options.compare)
    print_in(options.form, found.to_json(), [found.report()])
    if options.page:
        from .predictions.changes import opened as opened_quietly
        from .report.comparison_page import page_of_comparison

        write(options.page, page_of_comparison(found, [*map(opened_quietly, options.compare)]))
        talk.print(f"written: {options.page}", markup=False, highlight=False)
    if options.fail_above is None:
        return 0
    if not any(row.valid for row in found.rows):
        raise ProfileError(
            "no figure is valid in both profiles, so none can count as slower: measure again when it is quiet"
        )
    worse = found.slower(options.fail_above)
    if worse:
        talk.print(slower(worse, options.fail_above), style="red", markup=False, highlight=False)
    return 3 if worse else 0


def impact(options: argparse.Namespace, talk: Console) -> int:
    """Print what the program ``options.impact`` costs, price by price."""
    from .predictions.impacts import impact_of
    from .predictions.report_impact import report as impact_report

    profile = opened(options.profile) if options.profile else Profile.find()
    kernel, n, p = options.impact
    found = impact_of(profile, kernel, n, p)
    data = {"kernel": kernel, "n": n, "p": p, **found.to_json()}
    print_in(options.form, data, [impact_report(profile, kernel, n, p, found=found)])
    return 0


def _tell(talk: Console, folder: Path, files: Sequence[Path]) -> None:
    names = [file.name for file in files]
    if len(names) > MOST_NAMES:
        names = [name for name in names if not name.endswith(".png")] + [
            f"{sum(n.endswith('.png') for n in names)} plots"
        ]
    if names:
        talk.print(f"written to {folder}: {', '.join(names)}")
