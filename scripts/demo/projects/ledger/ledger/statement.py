"""Read the lines of a bank statement."""

import re

LINE = re.compile(r"(\d\d\.\d\d\.) (.+) (-?\d+,\d\d)")


def parse(line: str) -> tuple[str, str, float]:
    match = LINE.match(line)
    if not match:
        raise ValueError(f"not a line of a statement: {line!r}")
    day, text, amount = match.groups()
    return day, text.strip(), float(amount.replace(",", "."))
