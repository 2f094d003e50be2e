"""Code with its colours. What is unknown, long or odd stays plain: colours are never worth a wait."""

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from html import escape
from typing import Any, Final, NamedTuple

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class, get_all_lexers
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, Token

from backscroll.render.html.element import NOTHING, Html, el, join, trusted
from backscroll.render.html.time_limit import TimeLimitReached, current_time_limit
from backscroll.render.terminal import clean

Line = list[tuple[str, str]]
"""One line in pieces: of each its kind (a class in code.css, or nothing) and its text."""


def code(text: str, language: str = "", file: str = "", first_line: int | None = None) -> Html:
    """A block of code, by the name of its language or of its file; with line numbers if the first one is given."""
    lines, note = coloured(text, language, file)
    said = el("p", note, class_="code-note muted") if note else NOTHING
    if first_line is None:
        return join([el("pre", el("code", join(map(markup, lines), "\n")), class_="code", tabindex="0"), said])
    # The numbers are drawn by the style sheet, so that they are not copied along.
    numbered = (
        el("span", markup(line), class_="line", data_line=number) for number, line in enumerate(lines, first_line)
    )
    shown = el("pre", el("code", join(numbered, "\n")), class_="code numbered", tabindex="0")
    return join([shown, said])


def highlight(text: str, language: str = "", file: str = "") -> Html:
    """The same, without the block around it."""
    return join(map(markup, pieces(text, language, file)), "\n")


def pieces(text: str, language: str = "", file: str = "") -> list[Line]:
    """The lines of a text, cut where the colour changes. The newline at the end begins no line."""
    return coloured(text, language, file)[0]


def coloured(text: str, language: str = "", file: str = "") -> tuple[list[Line], str]:
    """The same, and what a reader should know of the colours: that there are none, where they took too long."""
    text = plain(text)
    longest = LONGEST if current_time_limit() else LONGEST_UNTIMED
    lexer = lexer_of(language, file) if len(text) <= longest else None
    if lexer is None or is_odd(text, lexer.name):
        return uncoloured(text), ""
    try:
        lines = (cut_short if len(text) <= SHORT else cut_long)(text, lexer)
    except TimeLimitReached:
        return uncoloured(text), TOO_MUCH
    return (lines, "") if lines is not None else (uncoloured(text), TOO_SLOW)


def markup(line: Line) -> Html:
    """A line as HTML."""
    # Not by `el`: there are very many of these, and the kinds are ours.
    return trusted(
        "".join(
            f'<span class="{kind}">{escape(piece)}</span>' if kind else escape(piece)  #
            for kind, piece in line
        )
    )


def plain(text: str) -> str:
    """What is shown of a text: only its characters, and newlines that are newlines."""
    text = text.replace("\r\n", "\n")
    return clean(text.replace("\r", "\n")).removesuffix("\n")


def is_odd(text: str, language: str) -> bool:
    """Whether it is nothing that people write: very long lines, a great void, words or comments without end.

    Some lexers take the square or the cube of such lengths. With delicate ones we are stricter.
    """
    longest = max(map(len, text.split("\n")))
    if longest > LONGEST_LINE or VOID.search(text):
        return True
    if any(text.count(start) > text.count(end) + 20 for start, end in PAIRS):
        return True
    if language not in DELICATE:
        return False
    return len(text) > LONGEST / 2 or longest > 300 or any(len(run.split()) > 40 for run in SIGNS.split(text))


def language_of(name: str) -> str:
    """The language that a file, or the first line of a fence, names: a word that can be shown, or nothing."""
    word = name.strip().split(maxsplit=1)[0].strip("{}.").lower() if name.strip() else ""
    return word if len(word) <= 30 and word.isprintable() else ""


def cut(text: str, lexer: Lexer) -> list[Line] | None:
    """Ask the lexer, and put neighbours of one colour together; None where that takes too long."""
    current = current_time_limit()
    if current is None:
        return cut_within(text, lexer, lambda: False)
    with current.block() as is_over:
        return cut_within(text, lexer, is_over)


def cut_within(text: str, lexer: Lexer, is_over: Callable[[], bool]) -> list[Line] | None:
    """The same, for as long as that is not over."""
    lines: list[Line] = [[]]
    errors = 0
    for count, (_, token, value) in enumerate(lexer.get_tokens_unprocessed(text)):
        if count % 32 == 0 and is_over():
            return None
        errors += token is Token.Error
        if errors > MOST_ERRORS:  # it is in another language, and each of these may have cost a look at all of it
            return uncoloured(text)
        kind = kind_of(token)
        for number, piece in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if not piece:
                continue
            line = lines[-1]
            if line and (line[-1][0] == kind or piece.isspace()):
                line[-1] = (line[-1][0], line[-1][1] + piece)
            else:
                line.append((kind, piece))
    # Some lexers drop or move what they do not expect. The text is what counts.
    is_whole = "\n".join("".join(piece for _, piece in line) for line in lines) == text
    return lines if is_whole else uncoloured(text)


def uncoloured(text: str) -> list[Line]:
    """The lines, each in one piece."""
    return [[("", line)] for line in text.split("\n")]


# What was cut is kept: a page that is asked for again, or whose chat grows, is coloured once. Two shelves bound the
# bytes (about a million characters each) as well as the count.
cut_short: Final = lru_cache(1_000)(cut)
cut_long: Final = lru_cache(24)(cut)


@cache
def kind_of(token: Any) -> str:  # noqa: ANN401 (the tokens of pygments have no type)
    """The class of a token, by the nearest of its parents that has one."""
    while token is not Token:
        if token in KINDS:
            return KINDS[token]
        token = token.parent
    return ""


def lexer_of(language: str, file: str) -> Lexer | None:
    """The lexer for it, if it is one of those we know to behave."""
    names = known()
    basename = file.replace("\\", "/").rsplit("/", 1)[-1].lower()
    suffix = basename.rpartition(".")[2]
    name = (
        names.aliases.get(language_of(language))
        or names.files.get(basename)
        or (names.suffixes.get(suffix) if suffix != basename else None)
    )
    return made(name) if name else None


@cache
def made(name: str) -> Lexer | None:
    """The lexer of that name. They keep nothing between two texts, so one is enough."""
    found = find_lexer_class(name)
    return found(stripnl=False, ensurenl=False) if found else None


class Names(NamedTuple):
    """What languages are called, and how their files end."""

    aliases: dict[str, str]
    files: dict[str, str]
    suffixes: dict[str, str]


@cache
def known() -> Names:
    """The names of our languages. Plugins are left out: they would be looked for on the disk."""
    names = Names({}, {}, {})
    for name, aliases, patterns, _ in get_all_lexers(plugins=False):
        if name not in LANGUAGES:
            continue
        for alias in (name, *aliases):
            names.aliases.setdefault(alias.lower(), name)
        for pattern in patterns:
            if pattern.startswith("*.") and not set("*?[") & set(pattern[2:]):
                names.suffixes.setdefault(pattern[2:].lower(), name)
            elif not set("*?[") & set(pattern):
                names.files.setdefault(pattern.lower(), name)
    names.suffixes.update(SUFFIXES)
    names.aliases.update(SUFFIXES)
    return names


def languages(names: Iterable[str]) -> frozenset[str]:
    """The names, without the line breaks between them."""
    return frozenset(name.strip() for line in names for name in line.split(",") if name.strip())


LONGEST: Final = 40_000
LONGEST_UNTIMED: Final = 4_000
"""Where there is no clock: so short that the square of it is not long."""
MOST_ERRORS: Final = 200
TOO_SLOW: Final = "Shown as plain text: highlighting this block takes too long."
TOO_MUCH: Final = "Shown as plain text: highlighting stopped after the blocks above took too long."
LONGEST_LINE: Final = 1_000
SHORT: Final = 1_000
SIGNS: Final = re.compile(r"[^\w\s$]+")
PAIRS: Final = (("/*", "*/"), ("<!--", "-->"), ("[", "]"))
VOID: Final = re.compile(r"\n(?:[ \t]*\n){20}|[ \t]{500}")

KINDS: Final = {
    Comment: "c-comment",
    Comment.Preproc: "c-keyword",
    Keyword: "c-keyword",
    Keyword.Constant: "c-number",
    Keyword.Type: "c-type",
    Literal: "c-string",
    String: "c-string",
    String.Doc: "c-comment",
    String.Interpol: "",
    Number: "c-number",
    Name: "",
    Name.Attribute: "c-type",
    Name.Builtin: "c-type",
    Name.Class: "c-name",
    Name.Constant: "c-number",
    Name.Decorator: "c-type",
    Name.Exception: "c-type",
    Name.Function: "c-name",
    Name.Namespace: "",
    Name.Tag: "c-name",
    Name.Variable: "",
    Operator.Word: "c-keyword",
    Generic.Heading: "c-name",
    Generic.Subheading: "c-name",
    Generic.Deleted: "c-removed",
    Generic.Inserted: "c-added",
    Generic.Emph: "c-emphasis",
    Generic.Strong: "c-strong",
    Generic.Prompt: "c-keyword",
    Generic.Output: "c-comment",
    Generic.Traceback: "",
    Generic.Error: "c-removed",
}
LANGUAGES: Final = languages(
    (
        "Python, Python Traceback, Cython, JavaScript, TypeScript, TSX, JSX, JSON",
        "JSON5, HTML, XML, CSS, SCSS, Sass, LessCss, Vue, Java, Kotlin, Scala, Clojure, C, C++, F#",
        "Objective-C, Swift, Go, Rust, Zig, Nimrod, D, Dart, Haskell, OCaml, Elm, Elixir, Erlang, Ruby, Perl",
        "PHP, Lua, S, Julia, Matlab, Bash, Bash Session, Fish, PowerShell, Batchfile, Makefile, CMake",
        "Docker, Nix, YAML, TOML, INI, Properties, Diff, SQL, PostgreSQL SQL dialect, GraphQL",
        "Protocol Buffer, HTTP, Markdown, TeX, Solidity, GLSL, WebAssembly, LLVM, NASM, GAS, EmacsLisp",
        "Common Lisp, Scheme, Racket, VimL, AppleScript, Nginx configuration file, Django/Jinja",
        "Handlebars, Prolog, VB.net",
    )
)
DELICATE: Final = languages(
    ("C, C++, Objective-C, Java, Kotlin, Makefile, Markdown, Matlab, LessCss, HTML, INI, Haskell, Handlebars",)
)
# Also for languages whose own lexer takes the cube of some lengths, or looks through all of a text before it gives the
# first token, so that no clock can stop it; a cousin's colours will do.
SUFFIXES: Final = {
    "c#": "Java",
    "cs": "Java",
    "csharp": "Java",
    "gradle": "Java",
    "groovy": "Java",
    "h": "C",
    "hpp": "C++",
    "html+django": "HTML",
    "html+jinja": "HTML",
    "htmldjango": "HTML",
    "inc": "PHP",
    "js": "JavaScript",
    "jsonl": "JSON",
    "jsx": "JSX",
    "m": "Objective-C",
    "mdc": "Markdown",
    "mts": "TypeScript",
    "cts": "TypeScript",
    "pl": "Perl",
    "plist": "XML",
    "pycon": "Python",
    "python-console": "Python",
    "r": "S",
    "s": "GAS",
    "sql": "SQL",
    "svg": "XML",
    "svelte": "Vue",
    "jsonc": "JSON5",
}
