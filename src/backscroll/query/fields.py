"""The fields of a query: one table for the parser, the help, completion, filters on a page, and tools."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["text", "choice", "time", "number", "id"]
About: TypeAlias = Literal["chat", "message"]


class FieldChoice(NamedTuple):
    """A value that a field can have. `about` is set where it differs from the field's."""

    name: str
    help: str
    about: About | None = None
    aliases: tuple[str, ...] = ()


class FieldInfo(NamedTuple):
    """A field of the query language. A field that is the `same_as` another has the other's name in the tree."""

    name: str
    kind: Kind
    about: About
    help: str
    example: str
    choices: tuple[FieldChoice, ...] = ()
    same_as: str = ""

    def choice(self, value: str) -> FieldChoice | None:
        """Return the choice with this name or alias, in any case."""
        wanted = value.lower()
        return next((choice for choice in self.choices if wanted in (choice.name, *choice.aliases)), None)

    def about_of(self, value: str) -> About:
        """Return the subject of the field with this value: `is:live` is about a chat, `is:error` about a message."""
        choice = self.choice(value)
        return (choice and choice.about) or self.about


ROLES: Final = (
    FieldChoice("title", "the title of the chat, or how its first prompt begins"),
    FieldChoice("prompt", "what you typed", aliases=("user", "human")),
    FieldChoice("answer", "what Claude answered", aliases=("assistant",)),
    FieldChoice("thinking", "what Claude thought"),
    FieldChoice("input", "what a tool was called with"),
    FieldChoice("output", "what a tool returned"),
    FieldChoice("other", "what Claude Code itself wrote"),
)
STATES: Final = (
    FieldChoice("error", "a tool failed"),
    FieldChoice("agent", "said by or to a sub-agent"),
    FieldChoice("abandoned", "on an abandoned branch"),
    FieldChoice("archived", "deleted by Claude Code; kept in the archive", about="chat"),
    FieldChoice("live", "being written right now", about="chat"),
    FieldChoice("pinned", "pinned by you", about="chat"),
)
CONTENTS: Final = (
    FieldChoice("image", "a picture", about="message"),
    FieldChoice("diff", "a file edit"),
    FieldChoice("thinking", "thinking"),
)

FIELDS: Final = (
    FieldInfo("project", "text", "chat", "the project path contains this", "project:shop"),
    FieldInfo("branch", "text", "chat", "the git branch name contains this", "branch:feature/login"),
    FieldInfo("title", "text", "chat", "the title contains this", 'title:"the parser"'),
    FieldInfo("file", "text", "chat", "the path of a changed file contains this", "file:src/app.py"),
    FieldInfo("model", "text", "chat", "the name of a model that answered contains this", "model:opus"),
    FieldInfo("machine", "text", "chat", "the name of a machine it was on contains this", "machine:laptop"),
    FieldInfo("owner", "text", "chat", "whose it is on a team server: me, team, org, a handle", "owner:me"),
    FieldInfo("tag", "text", "chat", "you gave the chat this tag", "tag:review"),
    FieldInfo("role", "choice", "message", "which part of a conversation it is", "role:prompt", ROLES),
    FieldInfo("tool", "text", "message", "the tool name contains this", "tool:mcp__github"),
    FieldInfo("is", "choice", "message", "what it is", "is:error", STATES),
    FieldInfo("has", "choice", "chat", "what is in the chat", "has:diff", CONTENTS),
    FieldInfo("after", "time", "message", "at or after this time", "after:2026-01-05"),
    FieldInfo("since", "time", "message", "the same as after", "since:7d", same_as="after"),
    FieldInfo("before", "time", "message", "before this time", "before:yesterday"),
    FieldInfo("cost", "number", "chat", "what the chat cost, in US dollars", "cost:>1.50"),
    FieldInfo("tokens", "number", "chat", "the number of tokens the chat used", "tokens:>=10k"),
    FieldInfo("session", "id", "chat", "a session id starts with this", "session:4f8c2a10"),
    FieldInfo("chat", "id", "chat", "the chat id starts with this", "chat:4f8c2a10"),
)
BY_NAME: Final = {info.name: info for info in FIELDS}


def help_lines() -> Iterator[str]:
    """Yield the help for a terminal: every field with an example, and below it each choice with its meaning."""
    width = max(len(info.example) for info in FIELDS)
    for info in FIELDS:
        yield f"{info.example:<{width}}  {info.help}"
        for choice in info.choices:
            yield f"  {choice.name:<{width - 2}}  {choice.help}"


def nearest(word: str, names: Iterable[str], limit: int = 2) -> str | None:
    """Return the name that was probably meant, at most `limit` slips away."""
    slips, name = min(((distance(word, name), name) for name in names), default=(limit + 1, ""))
    return name if slips <= limit else None


def meant_field(word: str) -> str | None:
    """Return the field that a word before a colon was probably meant to be: `proejct` is `project`.

    Short names allow one slip, and none in the first letter: `host:8080` and `node:fs` are ordinary words.
    """
    word = word.lower()
    for name in BY_NAME:
        if word == name + "s":
            return name
    likely = [name for name in BY_NAME if name[0] == word[0] and len(name) >= 4]
    meant = nearest(word, likely)
    return meant if meant and (len(meant) >= 6 or distance(word, meant) == 1) else None


def distance(one: str, other: str) -> int:
    """Count the slips between two words: a letter too many, missing, wrong, or swapped with its neighbour."""
    if abs(len(one) - len(other)) > 3:
        return 4  # far enough; a word of ten thousand letters must cost nothing
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]
