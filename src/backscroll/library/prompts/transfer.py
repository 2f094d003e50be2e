"""Import and export of prompts: a file with prompts is read, checked, and added to a collection."""

from typing import Any, Final, NamedTuple

import msgspec

from backscroll.errors import UsageError
from backscroll.library.prompts.prompt import PromptCollection, PromptSource, SavedPrompt, new_prompt, time_text

MAX_IMPORTED: Final = 1000


class ImportedPrompts(NamedTuple):
    """The result of an import, by name."""

    added: list[str]
    kept: list[str]
    """Prompts whose name is taken here: the existing prompt stays as it is."""


def read_prompts(data: bytes) -> list[SavedPrompt]:
    """Return the prompts of a file in the format of `prompts.json`. All of them are checked like typed prompts."""
    try:
        entries = msgspec.json.decode(data, type=dict[str, Any]).get("prompts")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"this is not a file with prompts: {error}", "give a prompts.json") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError("this is not a file with prompts: it has no list “prompts”", "give a prompts.json")
    if len(entries) > MAX_IMPORTED:
        raise UsageError(f"the file has {len(entries):,} prompts", f"import at most {MAX_IMPORTED:,} at once")
    return [_prompt(entry) for entry in entries]


def import_prompts(prompts: PromptCollection, found: list[SavedPrompt]) -> ImportedPrompts:
    """Add prompts to a collection. A prompt whose name is taken is left out."""
    taken = {prompt.name for prompt in prompts.all() if not prompt.owner}
    imported = ImportedPrompts([], [])
    for prompt in found:
        if prompt.name in taken:
            imported.kept.append(prompt.name)
            continue
        prompts.add(prompt)
        taken.add(prompt.name)
        imported.added.append(prompt.name)
    return imported


def _prompt(given: dict[str, Any]) -> SavedPrompt:
    def text(name: str) -> str:
        value = given.get(name, "")
        return value if isinstance(value, str) else ""

    tags, source, uses = given.get("tags"), given.get("source"), given.get("uses")
    made = new_prompt(
        text("name"),
        text("text"),
        description=text("description"),
        tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else (),
        source=_source(source) if isinstance(source, dict) else None,
    )
    made.created = text("created")[:40] or time_text()
    made.uses = uses if isinstance(uses, int) and 0 <= uses < 10**9 else 0
    made.used = text("used")[:40] if made.uses else ""
    return made


def _source(given: dict[str, Any]) -> PromptSource | None:
    try:
        return msgspec.convert(given, PromptSource)
    except msgspec.ValidationError:
        return None
