"""The saved prompts of one machine: a JSON file in the library's folder, next to the marks.

Prompts cannot be derived from anything, so the file is in every backup, and rebuilding the index leaves it alone. The
only module that knows the file.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from backscroll.errors import UsageError
from backscroll.library.own_file import OwnFile, readable_json
from backscroll.library.prompts.prompt import (
    Audience,
    PromptChange,
    SavedPrompt,
    by_name,
    changed_prompt,
    no_such_prompt,
    time_text,
)

FILE: Final = "prompts.json"


class _Content(Struct):
    prompts: list[SavedPrompt] = field(default_factory=list)


class PromptFile:
    """The prompts in a library's folder."""

    audiences: Sequence[Audience] = ()

    def __init__(self, library: Path) -> None:
        self._file = OwnFile(library / FILE, _Content, "your saved prompts")

    def all(self) -> list[SavedPrompt]:
        """Return all prompts, by name."""
        return by_name(self._file.read().prompts)

    def find(self, key: str) -> SavedPrompt:
        """Return the prompt with this name."""
        return _named(self._file.read().prompts, key)

    def add(self, prompt: SavedPrompt) -> SavedPrompt:
        """Save a new prompt."""

        def add(prompts: list[SavedPrompt]) -> SavedPrompt:
            _expect_free(prompts, prompt.name)
            prompts.append(prompt)
            return prompt

        return self._change(add)

    def change(self, key: str, change: PromptChange) -> SavedPrompt:
        """Change a prompt, and return its new state."""

        def put(prompts: list[SavedPrompt]) -> SavedPrompt:
            old = _named(prompts, key)
            new = changed_prompt(old, change)
            if new.name != old.name:
                _expect_free(prompts, new.name)
            prompts[prompts.index(old)] = new
            return new

        return self._change(put)

    def remove(self, key: str) -> SavedPrompt:
        """Delete a prompt, and return it."""

        def take(prompts: list[SavedPrompt]) -> SavedPrompt:
            return prompts.pop(prompts.index(_named(prompts, key)))

        return self._change(take)

    def count_use(self, key: str) -> SavedPrompt:
        """Count a use of a prompt."""

        def count(prompts: list[SavedPrompt]) -> SavedPrompt:
            prompt = _named(prompts, key)
            prompt.uses += 1
            prompt.used = time_text()
            return prompt

        return self._change(count)

    def share(self, key: str, audience: str) -> None:  # noqa: ARG002
        """Raise UsageError: there is no one to share with on one machine."""
        raise UsageError("prompts of one machine cannot be shared", "save them on a team server")

    def unshare(self, key: str, audience: str) -> None:
        """Raise UsageError: there is no one to share with on one machine."""
        self.share(key, audience)

    def _change(self, change: Callable[[list[SavedPrompt]], SavedPrompt]) -> SavedPrompt:
        return self._file.change(
            lambda content: change(content.prompts), lambda content: prompts_as_json(by_name(content.prompts))
        )


def prompts_as_json(prompts: Sequence[SavedPrompt]) -> bytes:
    """Return the content of a file with these prompts, without the audiences that a server shares them with."""
    return readable_json(_Content([msgspec.structs.replace(prompt, shared_with=[]) for prompt in prompts]))


def prompts_from(library: Path, chats: Collection[str]) -> list[str]:
    """Return the names of the prompts that were saved from one of these chats or sessions, given in lower case."""
    return [item.name for item in PromptFile(library).all() if item.source and item.source.chat.lower() in chats]


def _named(prompts: Sequence[SavedPrompt], name: str) -> SavedPrompt:
    match = next((prompt for prompt in prompts if prompt.name == name), None)
    if match is None:
        raise no_such_prompt(name)
    return match


def _expect_free(prompts: Sequence[SavedPrompt], name: str) -> None:
    if any(prompt.name == name for prompt in prompts):
        raise UsageError(f"there is a saved prompt {name} already", "choose another name, or change that prompt")
