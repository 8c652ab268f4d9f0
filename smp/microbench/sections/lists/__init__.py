"""List ranking, compared with its predicted times."""

from smp.microbench.method.section import Section

SECTION = Section(
    __name__, title="list ranking by programs", seconds=(6, 30, 120), record="Lists", predicted=True, scaled=False
)
