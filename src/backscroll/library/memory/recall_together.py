"""Recall from several libraries at once: the user's own, and those shared by others."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from backscroll.library.library import Library
from backscroll.library.memory.citations import DEFAULT_TOKENS, FEWEST_TOKENS, HEADING, RecalledPassage, cost_of
from backscroll.library.memory.recall import Recall, recall


def recall_together(
    libraries: Sequence[Library],
    question: str,
    *,
    max_tokens: int = DEFAULT_TOKENS,
    project: str | None = None,
    without: Collection[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> Recall:
    """Return the best passages of all libraries, within one token budget. The first library is the user's own."""
    answers = [
        recall(library, question, max_tokens=max_tokens, project=project, without=without, since=since, until=until)
        for library in libraries
    ]
    own = answers[0]
    if not any(item.passages for item in answers[1:]):
        return own
    passages = list({(item.source.message, item.text): item for answer in answers for item in answer.passages}.values())
    passages.sort(key=lambda item: -item.score)
    chosen, spent = _fitting(passages, max(max_tokens, FEWEST_TOKENS))
    is_cut = len(chosen) < len(passages) or any(answer.is_cut for answer in answers)
    return replace(
        own,
        passages=chosen,
        chats=sum(answer.chats for answer in answers),
        found=sum(answer.found for answer in answers),
        tokens=spent,
        is_cut=is_cut,
        hint="read one with its chat and message id, or ask for more tokens" if is_cut else "",
    )


def _fitting(passages: Sequence[RecalledPassage], tokens: int) -> tuple[list[RecalledPassage], int]:
    chosen: list[RecalledPassage] = []
    spent = HEADING
    for passage in passages:
        cost = cost_of(passage)
        if spent + cost <= tokens:
            chosen.append(passage)
            spent += cost
    return chosen, spent
