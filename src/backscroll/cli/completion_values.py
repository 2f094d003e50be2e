"""Values that a shell offers while a command is typed. Loaded only for that."""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

if TYPE_CHECKING:
    from backscroll.library.library import Library

VARIABLE: Final = "_BACKSCROLL_COMPLETE"
"""Variable by which the scripts ask us, as click defines it."""
MAX_SUGGESTIONS: Final = 50
LONGEST_TITLE: Final = 60


def script(program: click.Command, shell: str) -> str:
    """Return the script for a shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(shell)
    return kind(program, {}, "backscroll", VARIABLE).source()


class ChatIds(click.types.StringParamType):
    """Ids of the latest chats."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the ids that begin with the typed text."""
        return [
            CompletionItem(about.id[:8] if len(incomplete) <= 8 else about.id, help=_short(about.title))
            for library in _library(ctx)
            for about in (stored.overview for stored in library.chats(limit=None if incomplete else MAX_SUGGESTIONS))
            if about.id.startswith(incomplete)
        ][:MAX_SUGGESTIONS]


class QueryWords(click.types.StringParamType):
    """Fields of the query language and their values."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the completions of the typed word."""
        from backscroll.query.completion import complete

        before, space, typed = incomplete.rpartition(" ")
        name, colon, value = typed.partition(":")
        sign = name[:1] if name[:1] in ("-", "+") else ""
        if colon and (values := VALUES.get(name.removeprefix(sign))):
            matching = [f"{name}:{known}" for known in values(ctx) if known.startswith(value)]
        elif colon or typed:
            start, options = complete(typed, len(typed))
            matching = [typed[:start] + option for option in options]
        else:
            matching = []
        return [CompletionItem(f"{before}{space}{word}") for word in matching[:MAX_SUGGESTIONS]]


class Tags(click.types.StringParamType):
    """Tags that are in use."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the tags that begin with the typed text."""
        return [CompletionItem(tag) for tag in _tags(ctx) if tag.startswith(incomplete)]


class ProjectNames(click.types.StringParamType):
    """Last parts of the paths of projects."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the names that begin with the typed text."""
        return [CompletionItem(name) for name in _projects(ctx) if name.startswith(incomplete)]


def prepare(command: click.Command) -> None:
    """Give the arguments and options of a command their completion, by the names in their help."""
    for parameter in command.params:
        named = (parameter.metavar or "").strip("[].")
        if isinstance(parameter, click.Argument) and named in KINDS:
            parameter.type = KINDS[named]
        elif parameter.name == "project":
            parameter.type = ProjectNames()


def _library(context: click.Context) -> "Iterator[Library]":
    """Yield the library as it is now, without an update; none if it cannot be opened."""
    from backscroll.cli.options import Request
    from backscroll.errors import BackscrollError
    from backscroll.library.homes import open_homes
    from backscroll.library.local import local_library

    request = context.find_root().obj
    if not isinstance(request, Request) or request.demo:
        return
    with contextlib.suppress(BackscrollError, OSError):
        settings = request.settings()
        if (settings.library / "index").is_dir():
            with local_library(settings, open_homes(settings)) as library:
                if library.is_indexed:
                    yield library


def _tags(context: click.Context) -> list[str]:
    return sorted({tag for library in _library(context) for tag in library.marks.tagged()})


def _projects(context: click.Context) -> list[str]:
    names: dict[str, None] = {}
    for library in _library(context):
        for stored in library.chats():
            if name := os.path.basename((stored.overview.project or "").rstrip("/")):  # noqa: PTH119 - of any system
                names[name] = None
    return sorted(names)


def _short(title: str) -> str:
    from backscroll.render.terminal import clean_line

    return clean_line(title)[:LONGEST_TITLE]


class ColonBash(BashComplete):
    """Click's script for bash, which takes `project:` and the text after it for two words."""

    source_template = """\
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} typed stem item IFS=$'\\n'
    typed=${line##*[[:space:]]}
    stem=${typed%%"${typed##*:}"}
    COMPREPLY=()
    for item in $(env COMP_WORDS="$line" %(complete_var)s=bash_complete "$1" 2>/dev/null); do
        case $item in
            dir,*) type compopt >/dev/null 2>&1 && compopt -o dirnames ;;
            file,*) type compopt >/dev/null 2>&1 && compopt -o default ;;
            *) item=${item#*,}
               case $item in *:) type compopt >/dev/null 2>&1 && compopt -o nospace ;; esac
               COMPREPLY+=("${item#"$stem"}") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""

    @staticmethod
    def _check_version() -> None:
        """Accept any version of bash."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the typed word, and that word: from the whole line, since bash cuts at colons."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        if line[-1:].isspace() or not words:
            return words, ""
        return words[:-1], words[-1]


KINDS: Final[dict[str, click.types.StringParamType]] = {
    "ID": ChatIds(),
    "QUERY": QueryWords(),
    "A": QueryWords(),
    "B": QueryWords(),
    "WORD": Tags(),
}
VALUES: Final = {"project": _projects, "tag": _tags}
add_completion_class(ColonBash, "bash")
