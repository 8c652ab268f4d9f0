"""The only list of the microbenchmarks, in the order in which they are measured; each has its own folder."""

from . import (
    access,
    bandwidth,
    chain,
    fine,
    instruction,
    latency,
    lists,
    messages,
    node_programs,
    nodes,
    outstanding,
    placement,
    polling,
    retries,
    sorting,
    stencil,
    synchronisation,
    threads,
    waking,
)

SECTIONS = {
    section.name: section
    for section in (
        placement.SECTION,
        latency.SECTION,
        bandwidth.SECTION,
        synchronisation.SECTION,
        access.SECTION,
        lists.SECTION,
        sorting.SECTION,
        stencil.SECTION,
        instruction.SECTION,
        retries.SECTION,
        waking.SECTION,
        chain.SECTION,
        threads.SECTION,
        outstanding.SECTION,
        polling.SECTION,
        fine.SECTION,
        messages.SECTION,
        nodes.SECTION,
        node_programs.SECTION,
    )
}
"""Sections by name."""

IMPORTANCE = (
    *("placement", "access", "synchronisation", "latency", "bandwidth", "lists", "sorting", "stencil", "instruction"),
    *("messages", "threads", "outstanding", "waking", "chain", "retries", "polling", "fine"),
    *("nodes", "node_programs"),
)
"""Order in which a short budget is spent: the cost functions, the costs of programs, then single mechanisms.

A section that is not named here comes last."""
