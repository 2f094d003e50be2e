"""`backscroll recalls`: saved answers, with their sources."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from backscroll.cli.options import Request, current_request, global_options
from backscroll.cli.output import open_library, write, write_json, write_note
from backscroll.errors import NothingFound, UsageError
from backscroll.render.recall import citation, recalled_text, source_as_json
from backscroll.render.terminal import clean, clean_line, moment, plural

if TYPE_CHECKING:
    from backscroll.library.memory.saved_recalls import SavedRecall

CURRENT_PROJECT: Final = "CLAUDE_PROJECT_DIR"
LONGEST_PIPED: Final = 400_000


@click.command("recalls")
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@click.option("--show", metavar="NAME", help="Show one; the start of its name is enough.")
@click.option(
    "--save",
    metavar="QUESTION",
    help="Save an answer to this question: standard input if piped, else what recall finds.",
)
@click.option("--source", "sources", metavar="CHAT/MESSAGE", multiple=True, help="With --save: a source of the answer.")
@click.option("--remove", metavar="NAME", help="Delete the saved answer of this name.")
@global_options()
def command(
    words: tuple[str, ...], show: str | None, save: str | None, sources: tuple[str, ...], remove: str | None
) -> None:
    """List the answers that you or Claude Code saved: all, or those that contain these words.

    They are Markdown files in the folder `recalls` of the library; you may edit them. When one answers a question,
    `backscroll recall` and the tools for Claude Code show it first. Sources are checked when an answer is saved.

    \b
    Examples:
      backscroll recalls
      backscroll recalls retry budget
      backscroll recalls --show 2026-01-05-retry
      backscroll recalls --save 'what is the retry budget?' --source 4f8c1d2e/91ab03cd <answer.md
      backscroll recalls --save 'how was ENOSPC solved?'
      backscroll recalls --remove 2026-01-05-retry-budget
    """
    if sum((bool(words), show is not None, save is not None, remove is not None)) > 1:
        raise UsageError("words, --show, --save and --remove cannot be combined", "use only one of them")
    if sources and save is None:
        raise UsageError("--source needs --save", "add --save QUESTION")
    request = current_request()
    if save is not None:
        _save(request, save, sources)
    elif show is not None:
        _show(request, show)
    elif remove is not None:
        _remove(request, remove)
    else:
        _list(request, words)


def _save(request: Request, question: str, names: tuple[str, ...]) -> None:
    from backscroll.library.memory.recall import recall
    from backscroll.library.memory.saved_recalls import save_recall, source_named

    text = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read(LONGEST_PIPED)
    library = open_library(request, with_text=not text.strip())
    sources = [source_named(library, name) for name in dict.fromkeys(names)]
    project = os.environ.get(CURRENT_PROJECT) or str(Path.cwd())
    if not text.strip():
        answer = recall(library, question, project=project)
        if not answer.passages:
            raise NothingFound(f"found nothing about {clean_line(question)[:200]}", answer.hint)
        text = recalled_text(answer)
        sources = sources or [passage.source for passage in answer.passages if passage.source.message]
    saved = save_recall(library.settings.library, question, text, sources, project=project)
    if request.json:
        write_json({"saved": _as_json(saved)})
        return
    write(f"saved: {clean_line(saved.name)}")
    if not sources and not request.quiet:
        write_note("it has no sources; add them with --source CHAT/MESSAGE")


def _list(request: Request, words: tuple[str, ...]) -> None:
    from backscroll.library.memory.saved_recalls import recalls_with, saved_recalls

    recalls = saved_recalls(request.settings().library)
    if not recalls:
        raise NothingFound("there are no saved recalls", "backscroll recalls --save QUESTION")
    matching = recalls_with(recalls, words)
    if not matching:
        raise NothingFound(f"no saved recall has {clean_line(' '.join(words))}", "see backscroll recalls")
    if request.json:
        write_json({"recalls": [_as_json(saved) for saved in matching]})
        return
    for saved in matching:
        about = click.style(f"  ({plural(len(saved.sources), 'source')})", dim=True)
        write(f"{click.style(clean_line(saved.name), fg='cyan')}  {clean_line(saved.question)}{about}")


def _show(request: Request, name: str) -> None:
    from backscroll.library.memory.saved_recalls import find_recall

    saved = find_recall(request.settings().library, name)
    if request.json:
        write_json({"recall": {**_as_json(saved), "text": saved.text}})
        return
    write(f"{click.style(clean_line(saved.question), bold=True)}\n\n{clean(saved.text)}")
    if saved.sources:
        write("\nSources:")
    for source in saved.sources:
        write(f"  {citation(source)}")


def _remove(request: Request, name: str) -> None:
    from backscroll.library.memory.saved_recalls import remove_recall

    gone = remove_recall(request.settings().library, name)
    if request.json:
        write_json({"removed": _as_json(gone)})
    else:
        write(f"deleted {clean_line(gone.name)}: {clean_line(gone.question)}")


def _as_json(one: "SavedRecall") -> dict[str, Any]:
    return {
        "name": one.name,
        "question": one.question,
        "saved": moment(one.saved) if one.saved else None,
        "project": one.project,
        "sources": [source_as_json(source) for source in one.sources],
    }
