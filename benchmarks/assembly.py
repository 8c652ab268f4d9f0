"""Loops in a listing of machine code, and their time by a table of instructions, for `bounds.py`.

    listing      what Numba prints of a compiled function: labels, directives and instructions of x86
    blocks       the code between labels and jumps
    loops        a jump back to a block that every way to the jump passes (the head), and all blocks on the ways
    hot cycle    the way through an innermost loop that has most of the marks: instructions that do the loop's work
    analysed     what LLVM's machine-code analyser finds if this cycle runs round and round

The analyser takes a cycle as it is: every load hits the nearest cache, every jump is predicted, and a load never waits
for an earlier store unless it is asked to look at that.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Blocks = dict[str, "Block"]
Score = tuple[float, float, float]
ANALYSERS = ("llvm-mca", *(f"llvm-mca-{version}" for version in range(14, 31)))
ROUNDS = 300
"""Times that the analyser goes round a cycle."""
NEAR = 0.9
"""Share of the time for which a resource must be busy to count as the bound."""
UNITS = {
    "ALU": "integer",
    "AGU": "addresses",
    "BRU": "jumps",
    "FP": "vectors",
    "FPSt": "vector stores",
    "LSU": "loads and stores",
    "Load": "loads",
    "Store": "stores",
}
"""Kinds of execution units in LLVM's tables of AMD's CPUs."""
_LABEL = re.compile(r"([\w.$]+):")
_ENDS = re.compile(r"(?:ret|ud2|hlt|jmp\b)")
_WRAPPERS = ("_ZN7cpython", "cfunc.")


class Block(NamedTuple):
    """Code without a jump into or out of its middle, and the blocks that can follow."""

    code: tuple[str, ...]
    following: tuple[str, ...]


class Hot(NamedTuple):
    """The hot cycle of a loop."""

    code: tuple[str, ...]
    marks: tuple[str, ...]


class Analysis(NamedTuple):
    """The time of a cycle by the table: clocks of a round, and the resources by the clocks for which they are busy."""

    clocks: float
    width: int
    operations: float
    busy: dict[str, float]

    def bound(self) -> str:
        """Return the name of the resource that bounds the cycle; a chain of results, if all are idle at times."""
        most, dispatched = max(self.busy.values(), default=0.0), self.operations / self.width
        if max(most, dispatched) < NEAR * self.clocks:
            return "chain of results"
        if dispatched > most:
            return f"dispatch of {self.width} operations a clock"
        return units_of(name for name, clocks in self.busy.items() if clocks >= NEAR * most)


def units_of(resources: Iterable[str]) -> str:
    """Return what some units of the CPU do, with their names, which are those of the table without the CPU's."""
    kinds: dict[str, list[str]] = {}
    for resource in resources:
        name = re.sub(r"^(?:Zn\d|SK[LX]|ICX|SPR|ADLP|HW|BW)|\..*$", "", resource, flags=re.DOTALL)
        names = kinds.setdefault(UNITS.get(re.sub(r"\d+$", "", name), ""), [])
        names += [name] * (name not in names)
    return "; ".join(f"{kind} ({', '.join(names)})" if kind else ", ".join(names) for kind, names in kinds.items())


def functions_of(listing: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of each function, but not of those that only convert Python's arguments."""
    names = set(re.findall(r"\.type\s+(\S+),@function", listing))
    name, lines = "", list[str]()
    for line in listing.splitlines():
        text = line.split("#")[0].strip()
        label = _LABEL.fullmatch(text)
        if label and label[1] in names:
            name, lines = label[1], []
        elif label and label[1].startswith(".Lfunc_end"):
            if name and not name.startswith(_WRAPPERS):
                yield name, lines
            name = ""
        elif label or (text and not text.startswith(".")):
            lines.append(text)


def blocks_of(lines: Iterable[str]) -> Blocks:
    """Return the blocks of a function in their order; the first one, with an empty name, is where it begins."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        label = _LABEL.fullmatch(line)
        if label:
            parts.append((label[1], []))
        else:
            name, code = parts[-1]
            code.append(line)
            if line.startswith("j") or _ENDS.match(line):
                parts.append((f"{name}+", []))
    parts = [part for k, part in enumerate(parts) if part[1] or not part[0].endswith("+") or k == 0]
    known = {name for name, _ in parts}
    blocks: Blocks = {}
    for k, (name, code) in enumerate(parts):
        last = code[-1] if code else ""
        targets = [last.split()[-1]] if last.startswith("j") else []
        if not _ENDS.match(last) and k + 1 < len(parts):
            targets.append(parts[k + 1][0])
        blocks[name] = Block(tuple(code), tuple(target for target in targets if target in known))
    return blocks


def _dominators(blocks: Blocks, before: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the blocks that every way from the first block to a block passes, for each block that can be reached."""
    first = next(iter(blocks))
    reached, todo = {first}, [first]
    while todo:
        fresh = set(blocks[todo.pop()].following) - reached
        reached |= fresh
        todo += fresh
    passed = {name: {first} if name == first else set(reached) for name in blocks if name in reached}
    changed = True
    while changed:
        changed = False
        for name in passed:
            if name != first:
                found = set.intersection(*(passed[one] for one in before[name] if one in reached)) | {name}
                changed |= found != passed[name]
                passed[name] = found
    return passed


def loops_of(blocks: Blocks) -> dict[str, set[str]]:
    """Return the blocks of each loop by the name of its head."""
    before: dict[str, set[str]] = {name: set() for name in blocks}
    for name, block in blocks.items():
        for following in block.following:
            before[following].add(name)
    passed = _dominators(blocks, before)
    loops: dict[str, set[str]] = {}
    for name in passed:
        for head in set(blocks[name].following) & passed[name]:
            body = loops.setdefault(head, {head})
            todo = [name]
            while todo:
                one = todo.pop()
                if one not in body and one in passed:
                    body.add(one)
                    todo += before[one]
    return loops


def _best_way(
    blocks: Blocks, head: str, body: set[str], score: Callable[[Block], Score]
) -> tuple[Score, tuple[str, ...]] | None:
    """Return the score and the code of the best way round a loop, or through a function; None if there is no end.

    No block is passed twice.  A way ends where it jumps back to the head, or where the function ends.
    """
    best: dict[str, tuple[Score, list[str]] | None] = {}

    def best_from(name: str, passed: frozenset[str]) -> tuple[Score, list[str]] | None:
        if name not in best:
            found = []
            for following in blocks[name].following or (head,):
                if following == head:
                    found.append(((0.0, 0.0, 0.0), list[str]()))
                elif following in body and following not in passed:
                    rest = best_from(following, passed | {following})
                    found += [rest] if rest else []
            (a, b, c), way = max(found, key=lambda each: each[0], default=((0.0, 0.0, 0.0), None))
            x, y, z = score(blocks[name])
            best[name] = None if way is None else ((a + x, b + y, c + z), [name, *way])
        return best[name]

    made = best_from(head, frozenset({head}))
    return made and (made[0], tuple(line for name in made[1] for line in blocks[name].code))


def _way(
    blocks: Blocks, head: str, body: set[str], score: Callable[[Block], Score]
) -> tuple[float, tuple[str, ...]] | None:
    """Return the number of marks and the code of the best way; None if it has no mark, or passes seldom ways."""
    best = _best_way(blocks, head, body, score)
    return (best[0][1], best[1]) if best and best[0][0] == 0 and best[0][1] > 0 else None


def hot_cycle(listing: str, mark: str, without: str = r"call") -> Hot | None:
    """Return the hot cycle of a listing, or None if nothing has a mark.

    Parameters
    ----------
    listing : str
    mark : str
        Regular expression of the instructions that do the loop's work.
    without : str
        Regular expression of the instructions of seldom ways, which the cycle does not pass.

    Notes
    -----
    Of the ways round a loop it is the one with most marks, then the shortest.  A loop around another one that has such
    a cycle does not count.  A function without such a loop counts as a cycle of its own, since a loop may call it.  Of
    all that are left, the one with most marks is taken, which is the unrolled loop and not the one for the rest; of
    equal ones, the first in the listing.
    """

    def score(block: Block) -> Score:
        return (
            -float(sum(bool(re.match(without, line)) for line in block.code)),
            float(sum(bool(re.match(mark, line)) for line in block.code)),
            -float(len(block.code)),
        )

    found: list[tuple[float, tuple[str, ...]]] = []
    for _, lines in functions_of(listing):
        blocks = blocks_of(lines)
        loops, here = loops_of(blocks), dict[str, tuple[float, tuple[str, ...]]]()
        for head in sorted(loops, key=lambda head: len(loops[head])):
            best = None if any(loops[inner] < loops[head] for inner in here) else _way(blocks, head, loops[head], score)
            if best:
                here[head] = best
        if not here:
            best = _way(blocks, "", set(blocks), score)
            found += [best] if best else []
        found += [here[name] for name in blocks if name in here]  # in the order of the listing
    if not found:
        return None
    code = max(found, key=lambda each: each[0])[1]
    return Hot(code, tuple(line for line in code if re.match(mark, line)))


def straight(code: Iterable[str]) -> str:
    """Return code for the analyser: what is decided by a jump is decided, so a jump goes on to the next line."""
    lines = []
    for k, line in enumerate(code):
        if line.startswith("j"):
            lines += [f"{line.split()[0]} .Lnext{k}", f".Lnext{k}:"]
        else:
            lines.append(line)
    return "\n".join([*lines, ""])


def analyser_of(given: str | None) -> str | None:
    """Return the path of the analyser, the newest one if none is given; None if there is none."""
    names = [given] if given else list(reversed(ANALYSERS))
    return next((path for path in map(shutil.which, names) if path), None)


def analysed(analyser: str, cpu: str, code: Iterable[str], through_memory: bool = False) -> Analysis:
    """Return what the analyser says of a cycle.

    Parameters
    ----------
    analyser, cpu : str
        Path of the analyser, and name of the CPU, which it must know.
    code : iterable of str
        Instructions of the cycle.
    through_memory : bool
        Whether each load waits for the stores before it.

    Raises
    ------
    RuntimeError
        The analyser does not know the CPU or an instruction.
    """
    options = [f"-mcpu={cpu}", f"-iterations={ROUNDS}", "-json", *(["-noalias=false"] if through_memory else [])]
    done = subprocess.run([analyser, *options], input=straight(code), capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(
            f"{analyser} cannot analyse the loop for the CPU {cpu}: {done.stderr.strip() or 'it printed nothing'}. "
            "A newer version may know the CPU and its instructions; --cpu names another CPU"
        )
    return analysis_of(json.loads(done.stdout))


def analysis_of(document: dict[str, Any]) -> Analysis:
    """Return what a JSON document of the analyser says of its only region."""
    region, names = document["CodeRegions"][0], document["TargetInfo"]["Resources"]
    summary, every = region["SummaryView"], len(region["Instructions"])
    busy = {
        names[each["ResourceIndex"]]: float(each["ResourceUsage"])
        for each in region["ResourcePressureView"]["ResourcePressureInfo"]
        if each["InstructionIndex"] == every  # the sums come after the last instruction
    }
    rounds = summary["Iterations"]
    return Analysis(summary["TotalCycles"] / rounds, summary["DispatchWidth"], summary["TotaluOps"] / rounds, busy)
