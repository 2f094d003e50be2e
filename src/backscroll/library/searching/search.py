"""Answer a query with texts: each matching passage with a snippet that shows why."""

import re
import time
from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple

from backscroll.conversation.passages import Role
from backscroll.errors import UsageError
from backscroll.library.indexing.texts import Texts
from backscroll.library.searching.cursors import cursor_of, position_of
from backscroll.query.signs import signed_word
from backscroll.query.snippets import Highlighter, Snippet
from backscroll.query.tree import All, Not, Query, Regex, Word
from backscroll.records.tools import AGENT_TOOLS
from backscroll.store.reader import (
    ChatHits,
    Correction,
    Hit,
    PagePosition,
    SearchPage,
    StoredChat,
    StoreReader,
    chat_digest,
)

REGEX_SECONDS: Final = 5.0
"""How long to search texts for a regular expression."""
COUNT_SECONDS: Final = 1.0
"""How much of this may be spent on counting what is not on the page."""
LONGEST_SEARCHED: Final = 2_000_000
OF_TOOLS: Final = (Role.INPUT, Role.OUTPUT)
"""What tools are given and return is shown as it is; everything else, and what agents answer, is prose."""
LONGEST_TITLE: Final = 200
"""A title that is taken from a prompt is searched as so many of its characters."""
UNREADABLE: Final = "(this text can no longer be read: run backscroll archive verify)"
"""Shown instead of a matching text that cannot be read."""
EMPTY: Final = "(no text)"
"""Shown for a match that says nothing, such as a command without output."""


class FoundPassage(NamedTuple):
    """A passage with its snippet."""

    hit: Hit
    snippet: Snippet


class FoundChat(NamedTuple):
    """A chat with its best passages."""

    chat: StoredChat
    found: int
    """Number of passages."""
    score: float
    passages: list[FoundPassage]


class SearchResults(NamedTuple):
    """One page of results."""

    query: Query
    chats: list[FoundChat]
    total_chats: int
    total: int
    pending: int
    """Number of passages that are not searchable yet."""
    pending_roles: tuple[str, ...]
    is_whole: bool
    """False if a search for a regular expression ran out of time."""
    left: int
    """Number of chats after this page."""
    corrections: tuple[Correction, ...]
    """The words that were taken for misspelt, with what was searched for as well."""
    sort: str
    before: PagePosition
    """Where this page begins."""

    @property
    def marked(self) -> Query:
        """The query with the words that were searched for as well, to show where they are."""
        return with_corrections(self.query, self.corrections)

    @property
    def notes(self) -> list[str]:
        """How the query was read where it could have meant something else, as sentences for the user."""
        missing = [correction.typed.rstrip(",.:;") for correction in self.corrections if not correction.also]
        notes = [*self.query.notes, *(_correction_note(found) for found in self.corrections if found.also)]
        if missing:
            notes.append(f"no chat contains {' or '.join(missing)}; searching for the other words")
        return notes

    def cursor(self, shown: int | None = None) -> str | None:
        """The cursor after this page, or after its first `shown` chats; None at the end."""
        names = [chat.chat.overview.id for chat in self.chats[:shown]]
        if not self.left and len(names) == len(self.chats) and self.is_whole:
            return None
        seen = self.before.seen.union(map(chat_digest, names))
        return cursor_of(self.before._replace(seen=seen), self.query, self.sort)


def _correction_note(correction: Correction) -> str:
    if signed_word(correction.typed):
        return f"{correction.typed} is nowhere; searching for {' '.join(correction.also)}"
    also = ", ".join(correction.also)
    return f'searching also for {also}; to search only for {correction.typed}, write "{correction.typed}"'


class FoundPage(NamedTuple):
    """What a query found, before its texts are read."""

    results: SearchResults
    """Without chats."""
    chats: list[ChatHits]
    highlighter: Highlighter

    def shown(self, texts: Texts, chat: ChatHits, width: int) -> FoundChat:
        """A chat with the texts of its passages."""
        passages = [_passage(texts, self.highlighter, hit, width) for hit in chat.hits]
        return FoundChat(chat.chat, chat.found, chat.score, passages)


def search(
    reader: StoreReader, texts: Texts, query: Query, *, sort: str, limit: int, offset: int, hits: int, width: int,
    cursor: str = "", project: str = "", seconds: float = REGEX_SECONDS,
) -> SearchResults:  # fmt: skip
    """One page of the results of a query: after `offset` chats, or where a cursor points."""
    found = find_page(
        reader, texts, query,
        sort=sort, limit=limit, offset=offset, hits=hits, cursor=cursor, project=project, seconds=seconds,
    )  # fmt: skip
    return found.results._replace(chats=[found.shown(texts, chat, width) for chat in found.chats])


def find_page(
    reader: StoreReader, texts: Texts, query: Query, *, sort: str, limit: int, offset: int, hits: int,
    cursor: str = "", project: str = "", seconds: float = REGEX_SECONDS,
) -> FoundPage:  # fmt: skip
    """The same without texts: they are read for what is shown, which may be less."""
    after = position_of(cursor, query, sort) if cursor else None
    regexes = [part for part in query.root.parts if isinstance(part, Regex)]
    forbidden = [part.part for part in query.root.parts if isinstance(part, Not) and isinstance(part.part, Regex)]
    patterns = [_compile(part) for part in regexes]
    is_whole = True
    with reader.snapshot():  # what is found, and what is said to be missing, must not contradict each other
        if patterns or forbidden:
            answer, is_whole = _by_regex(
                reader, texts, query, patterns, [_compile(part) for part in forbidden],
                sort=sort, limit=limit, offset=0 if after else offset, hits=hits, seconds=seconds,
                seen=after.seen if after else frozenset(),
            )  # fmt: skip
        else:
            answer = reader.search(
                query, sort=sort, limit=limit, offset=offset, hits=hits, after=after, project=project
            )
        pending = reader.pending()
    highlighter = Highlighter(with_corrections(query, answer.corrections), patterns)
    before = after or PagePosition(answer.newest, answer.skipped)
    results = SearchResults(
        query, [], answer.total_chats, answer.total, pending.passages, pending.roles, is_whole, answer.left,
        answer.corrections, sort, before,
    )  # fmt: skip
    return FoundPage(results, answer.chats, highlighter)


def with_corrections(query: Query, corrections: Iterable[Correction]) -> Query:
    """The query with the words that were searched for as well, to highlight them."""
    also = (Word(word) for correction in corrections for word in correction.also)
    return Query(query.text, All((*query.root.parts, *also)))


def _passage(texts: Texts, highlighter: Highlighter, hit: Hit, width: int) -> FoundPassage:
    text = text_of(texts, hit)
    if not text:
        is_read = hit.path.endswith(".jsonl") and texts.record(hit.source, hit.start, hit.length) is not None
        text = EMPTY if is_read else UNREADABLE
    if hit.role is Role.TITLE:
        text = _title_in_words(text)
    is_said = hit.role not in OF_TOOLS or (hit.role is Role.OUTPUT and hit.tool in AGENT_TOOLS)
    return FoundPassage(hit, highlighter.snippet(text, width, is_said=is_said))


def _title_in_words(title: str) -> str:
    """A title without the headings of a prompt, which it has on one line, and not cut inside a word."""
    if len(title) >= LONGEST_TITLE and " " in title:
        title = f"{title[:LONGEST_TITLE].rpartition(' ')[0]}…"
    return HEADINGS.sub(" ", title)


def text_of(texts: Texts, hit: Hit) -> str:
    """The whole text of a passage."""
    if hit.role is Role.TITLE:
        return hit.title or ""
    return texts.text(hit.source, hit.start, hit.length, hit.number)


def around(text: str, highlighter: Highlighter, lines: int) -> str:
    """The line of the first match, with this many lines before and after it."""
    spans = highlighter.spans(text)
    at = spans[0][0] if spans else 0
    parts = text.splitlines()
    number = text.count("\n", 0, at)
    return "\n".join(parts[max(0, number - lines) : number + lines + 1])


HEADINGS: Final = re.compile(r"(?:^|\s)#{1,6}(?=\s)\s*")


def _by_regex(
    reader: StoreReader, texts: Texts, query: Query, wanted: list[Any], forbidden: list[Any], *,
    sort: str, limit: int, offset: int, hits: int, seconds: float, seen: Collection[int],
) -> tuple[SearchPage, bool]:  # fmt: skip
    """Search the texts that match the rest of the query, the newest first; beyond the page, to count a while longer."""
    started = time.monotonic()
    until = started + seconds
    chats: dict[int, list[Hit]] = {}
    total = 0
    is_whole = True
    for hit in reader.passages(query, oldest_first=sort == "oldest"):
        if time.monotonic() > until:
            is_whole = False
            break
        text = text_of(texts, hit)[:LONGEST_SEARCHED]
        if all(pattern.search(text) for pattern in wanted) and not any(pattern.search(text) for pattern in forbidden):
            total += 1
            chats.setdefault(hit.chat, []).append(hit)
            if len(chats) > len(seen) + offset + limit:
                until = min(until, started + COUNT_SECONDS)
    stored = reader.chats_by_key(list(chats))
    digests = {chat: chat_digest(found.overview.id) for chat, found in stored.items()}
    left = [chat for chat in chats if chat in stored and digests[chat] not in seen]
    page = left[offset : offset + limit]
    found = [ChatHits(stored[chat], len(chats[chat]), 0.0, _once(chats[chat])[:hits]) for chat in page]
    skipped = frozenset(digests[chat] for chat in left[:offset])
    return SearchPage(found, len(chats), total, 0, max(0, len(left) - offset - limit), skipped), is_whole


def _once(hits: list[Hit]) -> list[Hit]:
    """Without the copies of a message in resumed sessions."""
    return list({(hit.uuid or hit.block, hit.number, hit.role): hit for hit in reversed(hits)}.values())[::-1]


def _compile(part: Regex) -> Any:  # noqa: ANN401 - re2 has no types
    """With RE2, whose time grows with the text and nothing else."""
    import re2  # costs 10 ms

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 * 1024 * 1024
    try:
        return re2.compile(part.pattern, options)
    except re2.error as error:
        raise UsageError(f"cannot look for /{part.pattern}/: {error}", "see the syntax of RE2") from error
