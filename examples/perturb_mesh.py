"""Climb ladders of delays with one program on two machines, to see how far the answer depends on the delay.

The program is a wrapped mesh of 4 x 4 nodes.  In a round, each node receives the states of its four neighbours and
updates its own.  Two forms compute the same: in shared memory, with a superstep for each round, and by messages, where
a message that finds its receiver busy is sent again after a time-out.  In each form two places are treated with delays
from 2 us to 200 us.  The question is from which delay on the effect is in proportion.  (Section 4 of
Synthetic-perturbation tuning of MIMD programs, example 3, figures 3 and 4.)

    --plots DIR     draws the figures
    --host          runs the form in shared memory on two processors of this computer instead: real time and noise
"""

import argparse
from itertools import count
from pathlib import Path

import numpy as np

import smp
from smp.compiled import clock, local
from smp.kernels.messages.mesh import new_state, relax_mesh
from smp.kernels.messages.mesh_messages import relax_mesh_messages
from smp.perturb import climb

NODES, WORDS, ROUNDS = 16, 32, 6
DELAYS = ("2us", "5us", "10us", "20us", "50us", "100us", "200us")
GRAINS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MACHINE = smp.machines.load("ipsc1").replace("interface.resend_after", {"value": 200, "unit": "us"})
LATEST = 100_000
"""Largest delay in ns with which a node begins.  These delays differ from run to run, and are the only noise."""


@local
def idle(octets):
    octets[:1] = 0  # an emulated machine charges 0.1 ns for each octet, whatever is done


def shared(proc, state, grain):
    relax_mesh(proc, state, rounds=ROUNDS, grain=grain)


def messages(proc, state, grain, late):
    idle(np.empty(10 * late[proc.rank], np.uint8))
    return relax_mesh_messages(proc, state, rounds=ROUNDS, grain=grain)


def arguments(machine, form, grain):
    """Return a function that makes the arguments of each run: the same states, and different times to begin."""
    seeds, state = count(), new_state(NODES, WORDS)

    def made():
        late = np.random.default_rng(next(seeds)).integers(0, LATEST, NODES)
        return (machine.array(state), grain, *([late] if form is messages else []))

    return made


def climbed(machine, form, grain, factors, replicates):
    return climb(
        form,
        DELAYS,
        factors=factors,
        arguments=arguments(machine, form, grain),
        machine=machine,
        replicates=replicates,
    )


def timed(proc, form, *args):
    proc.barrier()
    began = clock()
    again = form(proc, *args)
    return (clock() - began) * 1e-9, again and again["failures"]


def against_grain(machine, form):
    """Return the seconds (grains,) that a form takes, and how many messages had to be sent again."""
    made = [arguments(machine, form, grain) for grain in GRAINS]
    return zip(*[machine.run(timed, form, *given()).results[0] for given in made], strict=True)


def emulated(folder):
    with smp.emulated(NODES, machine=MACHINE) as machine:
        print("Shared memory, a grain of 8 (figure 3-a)")
        linear = climbed(machine, shared, 8, "main_loop, update", replicates=2)
        print(linear.table())
        print("Each pass of a place costs the whole delay, whatever its length: any of these delays will do.\n")

        print("Response against grain (figure 4), in ms; and the messages that are sent again")
        exact, _ = against_grain(machine, shared)
        times, again = against_grain(machine, messages)
        print("grain    shared    by messages   sent again")
        for grain, one, other, failures in zip(GRAINS, exact, times, again, strict=True):
            print(f"{grain:5}   {one * 1e3:7.3f}   {other * 1e3:12.3f}   {failures:10}")
        print("In shared memory, more work always takes more time. By messages, communication dominates, and a grain")
        print("of 64 takes the least time.\n")

        print("By messages, a grain of 8 (figure 3-b)")
        erratic = climbed(machine, messages, 8, "main_loop, receive", replicates=6)
        print(erratic.table())
        for factor, found in erratic.ladders().items():
            print(f"\n{factor}\n{found}")
        print("\nMessages sent again: means of the trials that delay the given places")
        print("        neither  main_loop  receive     both")
        for delay, rung in zip(DELAYS, erratic.rungs, strict=True):
            none, main, receive, both = rung.responses("failures").mean(axis=0)
            print(f"{delay:>5}   {none:7.1f}  {main:9.1f}  {receive:7.1f}  {both:7.1f}")
        print("A small delay changes which node finds whose input busy, which can make the program faster.")
        print("Large delays bring all nodes into step: three messages in four then reach a node that is sending")
        print("itself, and are sent again. From there on, a delay costs its own length.")
    if folder:
        from smp.perturb.analysis import plots

        folder.mkdir(parents=True, exist_ok=True)
        plots.ladders(linear.ladders()).savefig(folder / "mesh-shared.png")
        plots.ladders(erratic.ladders()).savefig(folder / "mesh-messages.png")
        figure = plots.response(GRAINS, {"in shared memory": exact, "by messages": times}, "grain")
        figure.savefig(folder / "mesh-grain.png")


def rounds(proc, state, grain):
    relax_mesh(proc, state, rounds=50, grain=grain)


def slowest(run):
    return max(seconds for seconds, _ in run.results)


def host(folder):
    """Climb with two nodes and larger states, so that a round takes longer than its barriers."""
    with smp.host(2) as machine:
        state = machine.array(new_state(2, 20_000))
        found = climb(
            rounds,
            ("10us", "20us", "50us", "100us", "200us"),
            factors="main_loop, receive",
            arguments=(state, 5),
            machine=machine,
            replicates=6,
        )
        grains = GRAINS[:7]
        times = [[slowest(machine.run(timed, rounds, state, grain)) for grain in grains] for _ in range(7)]
    print(found.table())
    for factor, one in found.ladders().items():
        print(f"\n{factor}\n{one}")
    print(f"\nResponse against grain, in ms: median, least and most of {len(times)} runs")
    for grain, runs in zip(grains, 1e3 * np.transpose(times), strict=True):
        print(f"{grain:5}   {np.median(runs):7.3f}   {runs.min():7.3f}   {runs.max():7.3f}")
    if folder:
        from smp.perturb.analysis import plots

        folder.mkdir(parents=True, exist_ok=True)
        plots.ladders(found.ladders()).savefig(folder / "mesh-host.png")
        plots.response(grains, {"on the host": times}, "grain").savefig(folder / "mesh-host-grain.png")


if __name__ == "__main__":
    line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("--plots", type=Path, metavar="DIR")
    line.add_argument("--host", action="store_true")
    options = line.parse_args()
    (host if options.host else emulated)(options.plots)
