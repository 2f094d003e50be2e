"""The prompts that the user saved, as MCP prompts: listed beside our own, and filled in when they are fetched."""

from contextlib import suppress
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.library.prompts.prompt import PromptCollection, SavedPrompt
from backscroll.mcp.prompts import PROMPTS
from backscroll.mcp.quoting import one_line

PREFIX: Final = "saved:"
"""Begins the name of a saved prompt whose own name is that of one of ours."""
LONGEST_DESCRIPTION: Final = 200


def listed_name(prompt: SavedPrompt) -> str:
    """What a client calls a prompt."""
    return f"{PREFIX}{prompt.key}" if prompt.key in PROMPTS else prompt.key


def description_of(prompt: SavedPrompt) -> str:
    """What a client shows of a prompt, and whose it is."""
    told = one_line(prompt.description or prompt.text, LONGEST_DESCRIPTION)
    return f"{told} (shared by {prompt.owner})" if prompt.owner else told


def saved_prompt_text(prompts: PromptCollection, name: str, given: dict[str, str]) -> tuple[SavedPrompt, str]:
    """A prompt and its text with these values, counted as a use; an error if there is none or a value is missing."""
    key = name.removeprefix(PREFIX) if name.removeprefix(PREFIX) in PROMPTS else name
    prompt = prompts.find(key)
    text = prompt.filled(given)
    with suppress(BackscrollError, OSError):  # the file may be locked, or on a read-only disk: the text matters more
        prompts.count_use(key)
    return prompt, text
