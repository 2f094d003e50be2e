"""A saved prompt, and the interface of a collection of prompts.

On one machine prompts are in a file of the library, on a team server in its database. Everything that is true of both
is here: rules for names, the length of texts, how prompts are found.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol

import msgspec
from msgspec import Struct, field

from backscroll.errors import NothingFound, UsageError
from backscroll.library.prompts.template import fill, variables_of
from backscroll.query.snippets import fold

LONGEST_NAME: Final = 64
LONGEST_TEXT: Final = 100_000
LONGEST_DESCRIPTION: Final = 300
LONGEST_TAG: Final = 50
MAX_TAGS: Final = 20


class PromptSource(Struct, kw_only=True, frozen=True):
    """The message that a prompt was saved from."""

    chat: str
    message: str


class Audience(Struct, frozen=True):
    """A group of people with whom a prompt is shared, or can be."""

    key: str
    name: str


class SavedPrompt(Struct, kw_only=True, omit_defaults=True):
    """A prompt. Times are in ISO format."""

    name: str
    text: str
    description: str = ""
    tags: list[str] = field(default_factory=list)
    source: PromptSource | None = None
    created: str = ""
    changed: str = ""
    uses: int = 0
    """Number of times that it was filled in and copied, or fetched by an agent."""
    used: str = ""
    """When it was last used."""
    owner: str = ""
    """The owner on a team server; empty for the user's own prompts."""
    shared_with: list[Audience] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The key among the user's own prompts and those of others: `name`, or `owner:name`."""
        return f"{self.owner}:{self.name}" if self.owner else self.name

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables in its text."""
        return variables_of(self.text)

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with a value for each variable; UsageError if one is missing or unknown."""
        return fill(self.text, values)


class PromptChange(Struct, kw_only=True, frozen=True):
    """Changes to a prompt; None leaves a field as it is."""

    name: str | None = None
    text: str | None = None
    description: str | None = None
    tags: list[str] | None = None


class PromptCollection(Protocol):
    """The prompts that a user may use. `key` is that of a prompt; only the user's own can be changed."""

    @property
    def audiences(self) -> Sequence[Audience]:
        """The audiences that prompts can be shared with; none on one machine."""

    def all(self) -> list[SavedPrompt]:
        """Return all prompts by name, the user's own first."""

    def find(self, key: str) -> SavedPrompt:
        """Return a prompt; NothingFound if there is none."""

    def add(self, prompt: SavedPrompt) -> SavedPrompt:
        """Save a new prompt; UsageError if its name is taken."""

    def change(self, key: str, change: PromptChange) -> SavedPrompt:
        """Change a prompt, and return its new state."""

    def remove(self, key: str) -> SavedPrompt:
        """Delete a prompt, and return it."""

    def count_use(self, key: str) -> SavedPrompt:
        """Count a use of a prompt."""

    def share(self, key: str, audience: str) -> None:
        """Share a prompt with an audience."""

    def unshare(self, key: str, audience: str) -> None:
        """Stop sharing a prompt with an audience."""


def new_prompt(
    name: str,
    text: str,
    *,
    description: str = "",
    tags: Iterable[str] = (),
    source: PromptSource | None = None,
    now: datetime | None = None,
) -> SavedPrompt:
    """Return a new prompt; UsageError if its fields are invalid."""
    return SavedPrompt(
        name=checked_name(name),
        text=checked_text(text),
        description=checked_description(description),
        tags=checked_tags(tags),
        source=source,
        created=time_text(now),
    )


def changed_prompt(prompt: SavedPrompt, change: PromptChange, now: datetime | None = None) -> SavedPrompt:
    """Return a prompt after a change."""
    return msgspec.structs.replace(
        prompt,
        name=prompt.name if change.name is None else checked_name(change.name),
        text=prompt.text if change.text is None else checked_text(change.text),
        description=prompt.description if change.description is None else checked_description(change.description),
        tags=prompt.tags if change.tags is None else checked_tags(change.tags),
        changed=time_text(now),
    )


def checked_name(name: str) -> str:
    """Return the name, if it can be the name of a file, of a slash command and of an MCP prompt."""
    name = name.strip()
    if not NAME.fullmatch(name):
        slug = _slug(name)[:LONGEST_NAME]
        better = f": {slug}" if slug else ""
        quoted = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
        rule = f"use at most {LONGEST_NAME} lower-case letters, digits, - and _{better}"
        raise UsageError(f"“{quoted}” cannot be the name of a prompt", rule)
    return name


def suggested_name(text: str) -> str:
    """Return a name for a prompt, from its first words; empty if they have no letters that a name may have."""
    return _slug(" ".join(text.split()[:SUGGESTED_WORDS]))[:SUGGESTED].strip("-_")


def checked_text(text: str) -> str:
    """Return the text without control characters and empty lines around it."""
    text = _plain(text).strip("\n")
    if not text.strip():
        raise UsageError("a prompt cannot be empty", "give its text")
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"the prompt has {len(text):,} characters", f"save at most {LONGEST_TEXT:,}")
    return text


def checked_description(description: str) -> str:
    """Return the description, on one line."""
    return " ".join(_plain(description).split())[:LONGEST_DESCRIPTION]


def checked_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags, each once, ignoring case."""
    by_lower_case: dict[str, str] = {}
    for tag in (" ".join(_plain(tag).replace(",", " ").split())[:LONGEST_TAG] for tag in tags):
        if tag:
            by_lower_case.setdefault(tag.lower(), tag)
    if len(by_lower_case) > MAX_TAGS:
        raise UsageError(f"{len(by_lower_case)} tags are too many", f"give at most {MAX_TAGS}")
    return list(by_lower_case.values())


def secrets_in(text: str) -> list[str]:
    """Return the kinds of secrets that seem to be in a text, each once: variables should replace them."""
    from backscroll.redaction.redactor import redact
    from backscroll.redaction.rules import RULES

    kinds = {rule.name: rule.what for rule in RULES}
    return [kinds.get(name, name) for name in redact(text)[1]]


def matching_prompts(prompts: Iterable[SavedPrompt], words: Sequence[str], tag: str = "") -> list[SavedPrompt]:
    """Return the prompts that contain all of these words and have this tag, in any case."""
    wanted = [fold(word) for word in words]
    return [
        prompt
        for prompt in prompts
        if all(word in _searchable(prompt) for word in wanted)
        and (not tag or tag.lower() in (name.lower() for name in prompt.tags))
    ]


def by_name(prompts: Iterable[SavedPrompt]) -> list[SavedPrompt]:
    """Return the user's own prompts first, then those of others."""
    return sorted(prompts, key=lambda one: (bool(one.owner), one.name, one.owner))


def no_such_prompt(key: str) -> NothingFound:
    """Return the error for an unknown key."""
    return NothingFound(f"there is no saved prompt {key}", "see your saved prompts")


def time_text(now: datetime | None = None) -> str:
    """Format a time for prompts; by default, now."""
    return (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_]+", "-", plain).strip("-_")


def _searchable(one: SavedPrompt) -> str:
    return fold("\n".join((one.name, one.description, *one.tags, one.owner, one.text)))


def _plain(text: str) -> str:
    """Return the text without invalid bytes and control characters; line ends as on Unix."""
    text = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return CONTROL.sub("", text)


SUGGESTED_WORDS: Final = 4
SUGGESTED: Final = 30
NAME: Final = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_NAME - 1}}}")
CONTROL: Final = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f]")
