"""Tables in printed form."""


def below(table: object) -> list[str]:
    """Return the lines below a table's headers."""
    lines = str(table).splitlines()
    return lines[next(i for i, line in enumerate(lines) if line and not line.strip("-")) + 1 :]
