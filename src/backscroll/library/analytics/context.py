"""The content of contexts: characters by kind, and the actual tokens of answers."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from backscroll.errors import UsageError
from backscroll.library.analytics.file_calls import local_text, of_chat
from backscroll.library.analytics.reports import Report, ReportRequest, reports_about, share, top
from backscroll.library.analytics.wording import count
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.records.kinds import System
from backscroll.store.report_rows import ContextAnswer

PARTS: Final = ("prompt", "answer", "thinking", "input", "output", "other")
SHARES: Final = ("prompts_share", "answers_share", "thinking_share", "calls_share", "outputs_share", "other_share")
DIMENSIONS: Final = ("chat", "tool", "turn")


class ContextCut(NamedTuple):
    """A compaction: its time and the tokens before and after. Those after are stated, or those of the next answer."""

    time: int | None
    before: int | None
    after: int | None
    measured: bool

    @property
    def lost(self) -> int:
        """Tokens removed from the context."""
        return max(0, self.before - self.after) if self.before is not None and self.after is not None else 0


class ContextSizes:
    """The context sizes of a chat's answers, in order of time."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.context: list[int] = []

    def add(self, answer: ContextAnswer) -> None:
        """Add the context of an answer."""
        self.times.append(answer.time or 0)
        self.context.append(answer.context)

    @property
    def largest(self) -> int | None:
        """The largest context of an answer."""
        return max(self.context, default=None)

    def after(self, time: int | None) -> int | None:
        """Return the context of the next answer."""
        at = bisect_right(self.times, time or 0)
        return self.context[at] if at < len(self.context) else None


def context(library: Library, asked: ReportRequest, by: str = "chat") -> Report:
    """Return the content of contexts by chat, by tool, or by the turns of one chat."""
    if by == "turn":
        return _by_turn(library, asked)
    parts: dict[str, Counter[str]] = defaultdict(Counter)
    tools: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    in_agents = 0
    for part in reports_about(library, asked).context_parts():
        if part.is_agent:
            in_agents += part.size
            continue
        parts[part.chat or "-"][part.role] += part.size
        if part.role == "output":
            tools[part.tool or "-"] += part.size
            calls[part.tool or "-"] += part.passages
    if by == "tool":
        return _by_tool(parts, tools, calls, in_agents)
    return _by_chat(library, asked, parts, in_agents)


def _by_tool(parts: dict[str, Counter[str]], tools: Counter[str], calls: Counter[str], in_agents: int) -> Report:
    whole = sum(sum(sizes.values()) for sizes in parts.values())
    rows = top([(tool, calls[tool], size, size // max(1, calls[tool]), share(size, whole)) for tool, size in
                tools.items()], 2)  # fmt: skip
    columns = ("tool", "results", "characters", "characters_each", "context_share")
    facts = {"characters": whole, "output_characters": sum(tools.values()), "agent_characters": in_agents}
    return Report(columns, rows, facts, [f"of {whole:,} characters, outputs of tools; {AGENTS}"], bar="characters")


def _by_chat(library: Library, asked: ReportRequest, parts: dict[str, Counter[str]], in_agents: int) -> Report:
    titles = library.titles()
    answers: dict[str, ContextSizes] = defaultdict(ContextSizes)
    reports = reports_about(library, asked)
    for answer in reports.context_answers():
        answers[answer.chat or "-"].add(answer)
    with library.texts() as texts:
        compacted = _compactions(library, texts, asked, answers)
        # The index lacks the size of attachments. All are read, even for a limited table: they decide totals and the
        # order.
        for passage in reports.unsized_passages():
            parts[passage.chat or "-"]["other"] += len(
                texts.text(passage.source, passage.start, passage.length, passage.block)
            )
    rows = []
    for chat in sorted(parts, key=lambda chat: (-sum(parts[chat].values()), chat)):
        size, whole = parts[chat], sum(parts[chat].values())
        lost = compacted.get(chat, [])
        rows.append((
            chat, whole, *(share(size[part], whole) for part in PARTS), answers[chat].largest,
            sum(answers[chat].context), len(lost), sum(cut.lost for cut in lost), titles.get(chat, ""),
        ))  # fmt: skip
    columns = (
        "chat", "characters", *SHARES, "largest_context_tokens", "input_tokens", "compactions", "lost_tokens", "title",
    )  # fmt: skip
    every = [cut for some in compacted.values() for cut in some]
    facts = {
        "characters": sum(sum(sizes_of_chat.values()) for sizes_of_chat in parts.values()),
        "agent_characters": in_agents,
        "compactions": len(every),
        "measured": sum(cut.measured for cut in every),
        "unknown": sum(cut.before is None or cut.after is None for cut in every),
        "lost_tokens": sum(cut.lost for cut in every),
    }
    return Report(columns, rows, facts, [*_notes(facts), f"{AGENTS} ({in_agents:,} characters)"], bar="characters")


def _by_turn(library: Library, asked: ReportRequest) -> Report:
    chats = library.chats(asked.query or "", limit=2)
    if len(chats) != 1:
        raise UsageError("--by turn needs one chat", "name it: backscroll stats context chat:ID --by turn")
    chat = chats[0].overview.id
    asked = of_chat(library, chat, asked)
    reports = reports_about(library, asked)
    prompts = [item for item in reports.typed_prompts() if item.starts_turn and not item.in_agent]
    prompts = list({item.uuid: item for item in reversed(prompts)}.values())[::-1]
    # The time of its first copy counts.
    prompts = sorted((item for item in prompts if item.time is not None), key=lambda item: item.time or 0)
    starts = [item.time or 0 for item in prompts]
    sizes: dict[int, Counter[str]] = defaultdict(Counter)
    tools: dict[int, Counter[str]] = defaultdict(Counter)
    answers: dict[int, ContextSizes] = defaultdict(ContextSizes)
    every = ContextSizes()
    for answer in reports.context_answers():
        answers[bisect_right(starts, answer.time or 0) - 1].add(answer)
        every.add(answer)
    with library.texts() as texts:
        for item in reports.context_passages():
            turn = bisect_right(starts, item.time or 0) - 1
            size = len(texts.text(item.source, item.start, item.length, item.block)) if item.is_unsized else item.size
            sizes[turn][item.role] += size
            if item.role == "output":
                tools[turn][item.tool or "-"] += size
        compacted = _compactions(library, texts, asked, {chat: every}).get(chat, [])
    rows: list[tuple[Any, ...]] = []
    for turn in sorted({*sizes, *answers}):
        whole = sum(sizes[turn].values())
        begin = starts[turn] if turn >= 0 else 0
        end = starts[turn + 1] if turn + 1 < len(starts) else None
        here = [item for item in compacted if begin <= (item.time or 0) and (end is None or (item.time or 0) < end)]
        largest = tools[turn].most_common(1)
        rows.append((
            turn + 1, local_text(asked, starts[turn]) if turn >= 0 else None, whole,
            *(share(sizes[turn][part], whole) for part in PARTS), largest[0][0] if largest else None,
            answers[turn].largest, len(here), sum(cut.lost for cut in here), prompts[turn].text if turn >= 0 else "",
        ))  # fmt: skip
    columns = (
        "turn", "time", "characters", *SHARES, "largest_tool", "largest_context_tokens", "compactions", "lost_tokens",
        "prompt",
    )  # fmt: skip
    facts = {
        "chat": chat,
        "characters": sum(sum(characters.values()) for characters in sizes.values()),
        "compactions": len(compacted),
        "measured": sum(cut.measured for cut in compacted),
        "unknown": sum(cut.before is None or cut.after is None for cut in compacted),
        "lost_tokens": sum(cut.lost for cut in compacted),
    }
    return Report(columns, rows, facts, [*_notes(facts), AGENTS], bar="characters")


def compactions_of(
    library: Library, texts: Texts, asked: ReportRequest, answers: Iterable[ContextAnswer]
) -> list[ContextCut]:
    """Return the compactions of one chat, in order of time."""
    every: dict[str, ContextSizes] = defaultdict(ContextSizes)
    for answer in answers:
        every[answer.chat or "-"].add(answer)
    return [cut for cuts in _compactions(library, texts, asked, every).values() for cut in cuts]


def _compactions(
    library: Library, texts: Texts, asked: ReportRequest, answers: dict[str, ContextSizes]
) -> dict[str, list[ContextCut]]:
    cuts: dict[str, list[ContextCut]] = defaultdict(list)
    for compaction in reports_about(library, asked).compactions():
        record = texts.record(compaction.source, compaction.start, compaction.length)
        metadata = record.compact_metadata if isinstance(record, System) else None
        before, after = (metadata.pre_tokens, metadata.post_tokens) if metadata else (None, None)
        measured = after is None
        if measured and (compaction.chat or "-") in answers:
            after = answers[compaction.chat or "-"].after(compaction.time)
        cuts[compaction.chat or "-"].append(ContextCut(compaction.time, before, after, measured and after is not None))
    return cuts


def _notes(facts: dict[str, Any]) -> list[str]:
    notes = [
        (
            f"shares of {facts['characters']:,} characters in the transcripts, which do not contain the system prompt, "
            "tool definitions and pictures"
        ),
        "tokens are the real size of the context: input, cache reads and cache writes of an answer",
    ]
    if facts["compactions"]:
        removed = f"{count(facts['compactions'], 'compaction')} removed {facts['lost_tokens']:,} tokens from contexts"
        how = [
            (facts["measured"], "the size afterwards is that of the next answer"),
            (facts["unknown"], "it is unknown"),
        ]
        notes.append("; ".join([removed, *(f"for {number:,} of them {text}" for number, text in how if number)]))
    return notes


AGENTS: Final = "agents have their own contexts, which are not included"
