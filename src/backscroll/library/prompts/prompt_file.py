"""The saved prompts of one machine: a JSON file in the library's folder, next to the marks.

It cannot be derived from anything, so it is in every backup, and an index that is rebuilt leaves it alone. The only
module that knows the file.
"""

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from backscroll.disk import FileLock, private_folder, write_private
from backscroll.errors import BackscrollError, UsageError
from backscroll.library.prompts.prompt import (
    Audience,
    PromptChange,
    PromptSource,
    SavedPrompt,
    by_name,
    changed_prompt,
    no_such_prompt,
    time_text,
)

FILE: Final = "prompts.json"
LOCK_SECONDS: Final = 2.0


class _Content(Struct):
    prompts: list[SavedPrompt] = field(default_factory=list)


class PromptFile:
    """The prompts in a library's folder."""

    audiences: Sequence[Audience] = ()

    def __init__(self, library: Path) -> None:
        self._library = library
        self._path = library / FILE

    def all(self) -> list[SavedPrompt]:
        """All of them, by name."""
        return by_name(self._read()[0].prompts)

    def find(self, key: str) -> SavedPrompt:
        """The one with this name."""
        return _named(self._read()[0].prompts, key)

    def add(self, prompt: SavedPrompt) -> SavedPrompt:
        """Save a new one."""

        def add(prompts: list[SavedPrompt]) -> SavedPrompt:
            _expect_free(prompts, prompt.name)
            prompts.append(prompt)
            return prompt

        return self._change(add)

    def change(self, key: str, change: PromptChange) -> SavedPrompt:
        """Change one."""

        def put(prompts: list[SavedPrompt]) -> SavedPrompt:
            old = _named(prompts, key)
            new = changed_prompt(old, change)
            if new.name != old.name:
                _expect_free(prompts, new.name)
            prompts[prompts.index(old)] = new
            return new

        return self._change(put)

    def remove(self, key: str) -> SavedPrompt:
        """Delete one."""

        def take(prompts: list[SavedPrompt]) -> SavedPrompt:
            return prompts.pop(prompts.index(_named(prompts, key)))

        return self._change(take)

    def count_use(self, key: str) -> SavedPrompt:
        """Count that one was used."""

        def count(prompts: list[SavedPrompt]) -> SavedPrompt:
            prompt = _named(prompts, key)
            prompt.uses += 1
            prompt.used = time_text()
            return prompt

        return self._change(count)

    def share(self, key: str, audience: str) -> None:  # noqa: ARG002
        """There is no one else here."""
        raise UsageError("prompts of one machine cannot be shared", "save them on a team server")

    def unshare(self, key: str, audience: str) -> None:
        """There is no one else here."""
        self.share(key, audience)

    def _change(self, change: Callable[[list[SavedPrompt]], SavedPrompt]) -> SavedPrompt:
        """Change them atomically: readers see the old or the new state."""
        private_folder(self._library)
        busy = "another process is changing your saved prompts"
        with FileLock(self._library / "prompts.lock", busy, "try again in a moment", wait=LOCK_SECONDS):
            content, written = self._read()
            if unknown := _unknown(written):
                hint = "a later version wrote it: update backscroll, and nothing is lost"
                raise BackscrollError(f"{self._path} has “{unknown}” in it, which this version does not know", hint)
            changed = change(content.prompts)
            write_private(self._path, prompts_as_json(by_name(content.prompts)))
        return changed

    def _read(self) -> tuple[_Content, Any]:
        """The content of the file, and the same as plain JSON; an error if it cannot be read: there is no other."""
        try:
            data = self._path.read_bytes()
            return msgspec.json.decode(data, type=_Content), msgspec.json.decode(data)
        except (FileNotFoundError, NotADirectoryError):
            return _Content(), {}
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            hint = "repair the file, or move it away to start again"
            raise BackscrollError(f"cannot read your saved prompts in {self._path}: {error}", hint) from error


def prompts_as_json(prompts: Sequence[SavedPrompt]) -> bytes:
    """The content of a file with these prompts. With whom a server shares them is not part of it."""
    content = _Content([msgspec.structs.replace(one, shared_with=[]) for one in prompts])
    text = json.dumps(msgspec.to_builtins(content), ensure_ascii=False, indent=2)
    return (text + "\n").encode("utf-8", "replace")


def prompts_from(library: Path, chats: Collection[str]) -> list[str]:
    """The names of the prompts that were saved from one of these chats or sessions, given in lower case."""
    return [one.name for one in PromptFile(library).all() if one.source and one.source.chat.lower() in chats]


def _named(prompts: Sequence[SavedPrompt], name: str) -> SavedPrompt:
    found = next((one for one in prompts if one.name == name), None)
    if found is None:
        raise no_such_prompt(name)
    return found


def _expect_free(prompts: Sequence[SavedPrompt], name: str) -> None:
    if any(one.name == name for one in prompts):
        raise UsageError(f"there is a saved prompt {name} already", "choose another name, or change that prompt")


def _unknown(written: dict[str, Any]) -> str | None:
    """A key that we would lose if we wrote the file."""
    prompts = written.get("prompts", [])
    found = [*written.keys() - {"prompts"}, *(key for one in prompts for key in one.keys() - KEYS)]
    found += [key for one in prompts for key in (one.get("source") or {}).keys() - SOURCE_KEYS]
    return min(found, default=None)


KEYS: Final = frozenset(SavedPrompt.__struct_fields__)
SOURCE_KEYS: Final = frozenset(PromptSource.__struct_fields__)
