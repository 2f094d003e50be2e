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
"""Time limit of searching texts for a regular expression."""
COUNT_SECONDS: Final = 1.0
"""Part of this time for counting matches beyond the page."""
LONGEST_SEARCHED: Final = 2_000_000
OF_TOOLS: Final = (Role.INPUT, Role.OUTPUT)
"""Inputs and outputs of tools are shown unchanged; everything else, and the answers of agents, is prose."""
LONGEST_TITLE: Final = 200
"""Number of characters of a title that are searched, if it is taken from a prompt."""
UNREADABLE: Final = "(this text can no longer be read: run backscroll archive verify)"
"""Text shown instead of a matching text that cannot be read."""
EMPTY: Final = "(no text)"
"""Text shown for a match without text, such as a command without output."""


class FoundPassage(NamedTuple):
    """A passage with its snippet."""

    hit: Hit
    snippet: Snippet


class FoundChat(NamedTuple):
    """A chat with its best passages."""

    chat: StoredChat
    found: int
    """Number of matching passages."""
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
    """The words that were taken for misspelt, with the words that were searched for as well."""
    sort: str
    before: PagePosition
    """The beginning of this page."""

    @property
    def marked(self) -> Query:
        """The query with the words that were searched for as well, to show their places."""
        return with_corrections(self.query, self.corrections)

    @property
    def notes(self) -> list[str]:
        """Interpretations of the query that could have been different, as sentences for the user."""
        missing = [correction.typed.rstrip(",.:;") for correction in self.corrections if not correction.also]
        notes = [*self.query.notes, *(_correction_note(each) for each in self.corrections if each.also)]
        if missing:
            notes.append(f"no chat contains {' or '.join(missing)}; searching for the other words")
        return notes

    def cursor(self, shown: int | None = None) -> str | None:
        """Return the cursor after this page, or after its first `shown` chats; None at the end."""
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
    """The matches of a query, before their texts are read."""

    results: SearchResults
    """The results, without chats."""
    chats: list[ChatHits]
    highlighter: Highlighter

    def shown(self, texts: Texts, chat: ChatHits, width: int) -> FoundChat:
        """Return a chat with the texts of its passages."""
        passages = [_passage(texts, self.highlighter, hit, width) for hit in chat.hits]
        return FoundChat(chat.chat, chat.found, chat.score, passages)


def search(
    reader: StoreReader, texts: Texts, query: Query, *, sort: str, limit: int, offset: int, hits: int, width: int,
    cursor: str = "", project: str = "", seconds: float = REGEX_SECONDS,
) -> SearchResults:  # fmt: skip
    """Return one page of the results of a query: after `offset` chats, or from a cursor on."""
    page = find_page(
        reader, texts, query,
        sort=sort, limit=limit, offset=offset, hits=hits, cursor=cursor, project=project, seconds=seconds,
    )  # fmt: skip
    return page.results._replace(chats=[page.shown(texts, chat, width) for chat in page.chats])


def find_page(
    reader: StoreReader, texts: Texts, query: Query, *, sort: str, limit: int, offset: int, hits: int,
    cursor: str = "", project: str = "", seconds: float = REGEX_SECONDS,
) -> FoundPage:  # fmt: skip
    """Return one page of results without texts: the caller reads only those that it shows."""
    after = position_of(cursor, query, sort) if cursor else None
    regexes = [part for part in query.root.parts if isinstance(part, Regex)]
    forbidden = [part.part for part in query.root.parts if isinstance(part, Not) and isinstance(part.part, Regex)]
    patterns = [_compile(part) for part in regexes]
    is_whole = True
    with reader.snapshot():  # matches and reports of missing words must not contradict each other
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
    """Return the query with the words that were searched for as well, to highlight them."""
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
    """Return a title without the headings of a prompt, which it has on one line, and not cut inside a word."""
    if len(title) >= LONGEST_TITLE and " " in title:
        title = f"{title[:LONGEST_TITLE].rpartition(' ')[0]}…"
    return HEADINGS.sub(" ", title)


def text_of(texts: Texts, hit: Hit) -> str:
    """Return the whole text of a passage."""
    if hit.role is Role.TITLE:
        return hit.title or ""
    return texts.text(hit.source, hit.start, hit.length, hit.number)


def around(text: str, highlighter: Highlighter, lines: int) -> str:
    """Return the line of the first match, with this many lines before and after it."""
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
    """Search the texts that match the rest of the query, the newest first; beyond the page, only to count."""
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
    digests = {chat: chat_digest(page_hits.overview.id) for chat, page_hits in stored.items()}
    left = [chat for chat in chats if chat in stored and digests[chat] not in seen]
    page = left[offset : offset + limit]
    page_hits = [ChatHits(stored[chat], len(chats[chat]), 0.0, _once(chats[chat])[:hits]) for chat in page]
    skipped = frozenset(digests[chat] for chat in left[:offset])
    return SearchPage(page_hits, len(chats), total, 0, max(0, len(left) - offset - limit), skipped), is_whole


def _once(hits: list[Hit]) -> list[Hit]:
    """Return the hits without the copies of a message in resumed sessions."""
    return list({(hit.uuid or hit.block, hit.number, hit.role): hit for hit in reversed(hits)}.values())[::-1]


def _compile(part: Regex) -> Any:  # noqa: ANN401 - re2 has no types
    """Compile with RE2, whose time grows only with the text."""
    import re2  # costs 10 ms

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 * 1024 * 1024
    try:
        return re2.compile(part.pattern, options)
    except re2.error as error:
        raise UsageError(f"cannot look for /{part.pattern}/: {error}", "see the syntax of RE2") from error
