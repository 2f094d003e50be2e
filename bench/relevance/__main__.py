"""How well half-remembered chats are found and questions answered: written by hand, over real sessions.

    python -m bench.relevance [--corpus FOLDER] [--half tune|report|unseen|all] [--peers fast-resume,…] [--cache DIR]
                              [--show-misses 0] [--json]

The queries name the right chat, and the questions the fact that a right answer has, or none where no chat answers
(`queries.toml`, `questions.toml`). Chats are split into two halves by their id: choose weights with `tune`, and report
`report`. The queries and questions of `unseen.toml` were written last, and are reported apart. Search is asked for
as many chats as the command shows, `recall` within its default budget.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.decode import find_corpus
from bench.peers import DEFAULT_CACHE, PEERS, Peer, install_peers
from bench.relevance.asked import PARTS, UNSEEN, AskedQuery, AskedQuestion, queries, questions
from bench.relevance.engines import OURS, Search, our_answer, our_library, our_search, peer_search
from bench.relevance.home import build_home
from bench.relevance.scores import DEPTH, Answered, Ranks, Score, answered_of, rank_of, scores_of


class Measured:
    """The results of every query, and the answers to every question."""

    def __init__(self, sessions: Mapping[str, set[str]], half: str) -> None:
        self._sessions = sessions
        wanted = PARTS if half == "all" else (half,)
        self._queries = [query for query in queries() if query.half in wanted]
        self._questions = [question for question in questions() if question.half in wanted]
        self.ranks: dict[str, dict[AskedQuery, int | None]] = {}
        self.answers: dict[AskedQuestion, tuple[bool, bool]] = {}

    def search(self, engine: str, search: Search) -> None:
        """Ask an engine every query."""
        self.ranks[engine] = {
            query: rank_of((name for chat in query.chats for name in self._sessions[chat]), search(query.text))
            for query in self._queries
        }

    def ours(self, home: Path, folder: Path) -> None:
        """Ask backscroll every query and every question."""
        with our_library(home, folder) as library:
            self.search(OURS, our_search(library, self._sessions))
            self.answers = {question: our_answer(library, question) for question in self._questions}

    def peer(self, peer: Peer, home: Path, folder: Path) -> None:
        """Ask a peer every query, through each of its doors."""
        peer.prepare(home, folder)
        peer.sync()
        with peer.open() as doors:
            for door, search in doors.items():
                self.search(f"{door} {peer.version}", peer_search(search))

    def right(self) -> dict[AskedQuestion, bool]:
        """Which answers were right."""
        return {
            question: has_fact if question.facts else not is_answered
            for question, (is_answered, has_fact) in self.answers.items()
        }


def measure(corpus: Path, half: str, peers: Sequence[Peer]) -> Measured:
    """Build the home, and ask every program."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="backscroll-bench-")))
        home = folder / "home"
        measured = Measured(build_home(corpus, home), half)
        measured.ours(home, folder / "library")
        for peer in peers:
            measured.peer(peer, home, folder / peer.name)
        return measured


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 2 where there are no sessions to ask about."""
    parser = argparse.ArgumentParser(prog="python -m bench.relevance", description="How well the right chat is found.")
    parser.add_argument("--corpus", type=Path, help="the folder of real sessions (default: $BACKSCROLL_CORPUS)")
    parser.add_argument("--half", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--peers", default="", help=f"which to ask too: {','.join(kind.name for kind in PEERS)}")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder of the peers' venvs")
    parser.add_argument("--show-misses", type=int, default=0, metavar="N", help="print N misses of each engine")
    parser.add_argument("--json", action="store_true", help="print the figures and every query as JSON")
    options = parser.parse_args(arguments)
    corpus = options.corpus or find_corpus()
    if corpus is None or not corpus.is_dir():
        print("no real sessions to ask about: set BACKSCROLL_CORPUS, or name a folder with --corpus", file=sys.stderr)
        return 2
    peers, left_out = install_peers(options.cache, [name for name in options.peers.split(",") if name])
    for name, reason in left_out.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    measured = measure(corpus, options.half, peers)
    scores = [score for engine, ranks in measured.ranks.items() for score in scores_of(engine, ranks) if score.queries]
    answered = [found for found in answered_of(measured.right()) if found.questions]
    if options.json:
        print(json.dumps(_as_json(measured, scores, answered), ensure_ascii=False, indent=2))
        return 0
    for line in _lines(scores, answered):
        print(line)
    for line in _misses(measured, options.show_misses):
        print(line)
    return 0


def _as_json(measured: Measured, scores: Sequence[Score], answered: Sequence[Answered]) -> dict[str, Any]:
    asked = next(iter(measured.ranks.values()))
    return {
        "scores": [asdict(score) for score in scores],
        "recall": [asdict(found) for found in answered],
        "queries": [
            asdict(query)
            | {"half": query.half, "ranks": {engine: ranks[query] for engine, ranks in measured.ranks.items()}}
            for query in asked
        ],
        "questions": [
            asdict(question) | {"half": question.half, "is_answered": is_answered, "has_fact": has_fact}
            for question, (is_answered, has_fact) in measured.answers.items()
        ],
    }


def _lines(scores: Sequence[Score], answered: Sequence[Answered]) -> Iterator[str]:
    for half in PARTS:
        title = half if half == UNSEEN else f"the half to {half}"
        if found := [score for score in scores if score.half == half]:
            yield f"\n{title:34}{'':12}{'asked':>6}{'R@1':>8}{'R@3':>8}{'R@10':>8}{'MRR':>8}"
            for number, score in enumerate(found):
                name = score.engine if not number or found[number - 1].engine != score.engine else ""
                figures = f"{score.r1:8.3f}{score.r3:8.3f}{score.r10:8.3f}{score.mrr:8.3f}"
                yield f"{name:34}{score.kind:12}{score.queries:6}{figures}"
    for part in answered:
        right = "have the fact" if part.kind == "answerable" else "were answered with nothing"
        yield f"\nrecall, {part.half}: {part.right} of {part.questions} {part.kind} questions {right}"


def _misses(measured: Measured, most: int) -> Iterator[str]:
    if not most:
        return
    for engine, ranks in measured.ranks.items():
        yield f"\nnot first: {engine}"
        for query, rank in _worst(ranks)[:most]:
            yield f"  {query.half:7}{rank or f'>{DEPTH}':>4}  {query.kind:11} {query.chats[0][:18]:18}  {query.text}"
    yield "\nnot answered rightly"
    for question in [question for question, is_right in measured.right().items() if not is_right][:most]:
        yield f"  {question.half:7}{question.kind:11} {question.chat[:18]:18}  {question.text}"


def _worst(ranks: Ranks) -> list[tuple[AskedQuery, int | None]]:
    missed = [(query, rank) for query, rank in ranks.items() if rank != 1]
    return sorted(missed, key=lambda item: -(item[1] or DEPTH + 1))


if __name__ == "__main__":
    sys.exit(main())
