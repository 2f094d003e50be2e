"""The prompts that the user saved, as MCP prompts: listed beside our own, and filled in when they are fetched."""

from contextlib import suppress
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library.prompts.prompt import PromptCollection, SavedPrompt
from backscroll.mcp.prompts import PROMPTS
from backscroll.mcp.quoting import one_line

PREFIX: Final = "saved:"
"""Prefix of a saved prompt whose own name is that of one of ours."""
LONGEST_DESCRIPTION: Final = 200


def listed_name(prompt: SavedPrompt) -> str:
    """Return the name of a prompt that clients list."""
    return f"{PREFIX}{prompt.key}" if prompt.key in PROMPTS else prompt.key


def description_of(prompt: SavedPrompt) -> str:
    """Return the description of a prompt that clients show, with its owner."""
    summary = one_line(prompt.description or prompt.text, LONGEST_DESCRIPTION)
    return f"{summary} (shared by {prompt.owner})" if prompt.owner else summary


def saved_prompt_text(prompts: PromptCollection, name: str, given: dict[str, str]) -> tuple[SavedPrompt, str]:
    """Return a prompt and its text with these values, and count a use; raise an error if there is none or a value is
    missing."""
    key = name.removeprefix(PREFIX) if name.removeprefix(PREFIX) in PROMPTS else name
    prompt = prompts.find(key)
    text = prompt.filled(given)
    with suppress(BackscrollError, OSError):  # the file may be locked, or on a read-only disk: the text matters more
        prompts.count_use(key)
    return prompt, text
