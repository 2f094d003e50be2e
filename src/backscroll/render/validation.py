"""Validation errors of msgspec, in plain words."""

LONGEST_NAME = 80


def validation_message(problem: str, *, missing: str, unknown: str) -> str:
    """A problem as msgspec tells it, with the name of what is wrong first.

    `missing` and `unknown` are the messages for what is left out, and for what is not known.
    """
    what, _, where = problem.partition(" - at `$.")
    for start, words in (("Object missing required field ", missing), ("Object contains unknown field ", unknown)):
        if what.startswith(start):
            return f"{what.removeprefix(start).strip('`')[:LONGEST_NAME]} {words}"
    return f"{where.strip('`')}: {what[:1].lower()}{what[1:]}" if where else what
