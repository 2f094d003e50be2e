"""The names of models: many spellings, one name.

Claude Code writes the name from the API's answer, which depends on the seller of the model: `claude-opus-4-5-20251101`,
`us.anthropic.claude-opus-4-5-20251101-v1:0`, `claude-opus-4-5@20251101`, `anthropic/claude-opus-4.5`.
"""

import re
from typing import Final


def plain_name(model: str) -> str:
    """Return the name of a model without its date, seller and variants; other names than of Claude models unchanged.

    Versions are not guessed: `claude-opus-4-5` and `claude-opus-4-9` stay two models.
    """
    written = model.strip().lower()
    if len(written) > MAX_NAME_LENGTH:
        return written
    name = _AROUND.sub("", _VARIANT.sub("", written))
    match = _CLAUDE.fullmatch(_ISSUE.sub("", name, count=1).replace(".", "-"))
    if match is None:
        return written
    family = match["family"] or match["family_last"]
    major = int(match["major"] or match["major_first"])
    minor = int(match["minor"] or match["minor_first"] or 0)
    version = f"{major}-{minor}" if minor else str(major)
    # As Anthropic spells them: the family came last up to version 3.
    return f"claude-{version}-{family}" if major < FAMILY_FIRST else f"claude-{family}-{version}"


FAMILY_FIRST: Final = 4
MAX_NAME_LENGTH: Final = 300
"""Longest name, ARNs included; a longer text would only keep the patterns busy."""
_VARIANT: Final = re.compile(r"\[[^\]]*\]$")
"""A variant such as `[1m]`, the long context, which has the price of the model."""
_AROUND: Final = re.compile(r"^(?:.*/)?(?:(?:[a-z-]+\.)?anthropic\.)?")
"""`anthropic/`, `us.anthropic.`, and all of an ARN."""
_ISSUE: Final = re.compile(
    r"(?:-v\d+)?(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest|default))?(?:-v\d+)?(?::[\w.]+)*$",
)
"""`-20251101`; `-v2@20241022` of Vertex, `-20241022-v2:0` of Bedrock, `:thinking` of OpenRouter."""
_CLAUDE: Final = re.compile(
    r"claude-(?:(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:-(?P<minor>\d{1,2}))?"
    r"|(?P<major_first>\d{1,2})(?:-(?P<minor_first>\d{1,2}))?-(?P<family_last>[a-z]+))"
)
