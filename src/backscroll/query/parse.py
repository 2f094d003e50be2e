"""Parse the text of a query into its tree.

    query  = { either }                               side by side: words are optional, all else is required
    either = both { "OR" both }                       closer than side by side: `a b OR c` is a, and b or c
    both   = term { "AND" term }                      closer still: `a AND b OR c` is a and b, or c
    term   = { "+" | "-" | "NOT" } ( "(" query ")" | "phrase" | /pattern/ | name:value | word )
    value  = one { "|" one },  one = "quoted" | bare | "(" query of values ")"

Signs have a meaning only at the beginning of a term: `foo()`, `5"` and `a/b` are words. There, a backslash before `-`,
`+`, `/`, `"` or `(` takes its meaning away. A `-` does not exclude where it rather begins an option of a command
(`flags`): the query has a note then. Only QueryError is ever raised.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from backscroll.query.errors import QueryError
from backscroll.query.fields import BY_NAME, FieldInfo, meant_field
from backscroll.query.flags import flag_at
from backscroll.query.patterns import find_fault, pattern_end, unescape_slashes
from backscroll.query.tree import (
    All,
    Field,
    Not,
    Part,
    Phrase,
    Query,
    Regex,
    Word,
    all_of,
    either_of,
    leaves,
    not_,
    plain,
    required,
)
from backscroll.query.values import InvalidValue, meaning

MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 50


def parse(text: str, now: datetime) -> Query:
    """Return the parsed query. Relative times are counted back from `now`, in its time zone."""
    if len(text) > MAX_LENGTH:
        raise QueryError("this query is too long", text, MAX_LENGTH, f"use at most {MAX_LENGTH:,} characters")
    if broken := SURROGATE.search(text):
        raise QueryError("this is not text", text, broken.start(), "write the query in UTF-8")
    text = INVISIBLE.sub("", text)
    parser = _Parser(text, now)
    root = all_of(parser.everything())
    parts = root.parts if isinstance(root, All) else (root,)
    top = All(tuple(part if isinstance(part, Word) else plain(part) for part in parts))
    query = Query(text, top, (*parser.notes, *_signs_only(top)))
    _check_patterns(query)
    return query


def _signs_only(root: All) -> Iterator[str]:
    """Yield notes about words that cannot match anything. Punctuation between words is ignored."""
    words = [part for part in leaves(root) if isinstance(part, (Word, Phrase))]
    is_all = not any(map(str.isalnum, "".join(word.text for word in words)))
    for word in words:
        is_meant = is_all or isinstance(word, Phrase) or word.is_required or not word.text.isascii()
        if is_meant and not any(map(str.isalnum, word.text)):
            yield about_signs(word.text)


def about_signs(text: str) -> str:
    """Return the advice for a text of signs, such as `->`."""
    pattern = SPECIAL.sub(r"\\\g<0>", text)
    return f"{text} has no letters or digits, so no word is like it; search for /{pattern}/"


class _Parser:
    def __init__(self, text: str, now: datetime) -> None:
        self.text = text
        self.now = now
        self.position = 0
        self.depth = 0
        self.notes: list[str] = []

    def everything(self) -> list[Part]:
        parts = self.side_by_side(None)
        if self.position < len(self.text):
            raise self.error("this parenthesis was never opened", self.position, QUOTE_HINT)
        return parts

    def side_by_side(self, info: FieldInfo | None) -> list[Part]:
        """Parse up to a closing parenthesis or the end. With `info`, the words are values of that field."""
        parts = []
        while self.skip_space() and self.text[self.position] != ")":
            parts.append(self.either(info))
        return parts

    def either(self, info: FieldInfo | None) -> Part:
        parts = [self.both(info)]
        while (operator := self.take("OR")) or (info and (operator := self.take("|"))):
            parts.append(self.both(info, operator))
        return either_of(parts)

    def both(self, info: FieldInfo | None, operator: re.Match[str] | None = None) -> Part:
        parts = [self.term(info, operator)]
        while operator := self.take("AND"):
            parts.append(self.term(info, operator))
        return required(all_of(parts)) if len(parts) > 1 else parts[0]

    def term(self, info: FieldInfo | None, operator: re.Match[str] | None) -> Part:
        """Parse the term after `operator`; raise if there is none."""
        negated = must = False
        # A loop, so that a thousand NOTs do not nest.
        while sign := self.take("NOT") or self.take("+") or self.take_minus():
            must = must or sign["operator"] == "+"
            negated, operator = negated != (sign["operator"] != "+"), sign
        more = self.skip_space() and self.text[self.position] != ")"
        if operator and not more:
            name = operator["operator"]
            hint = f'remove it, or put it in quotation marks to search for it as text: "{name}"'
            raise self.error(f"there is nothing after {name}", operator.start("operator"), hint)
        if stray := KEYWORD.match(self.text, self.position):
            name = stray["operator"]
            hint = f'remove it, or put it in quotation marks to search for it as text: "{name}"'
            raise self.error(f"there is nothing before {name}", stray.start("operator"), hint)
        part = self.leaf(info)
        if negated:
            return not_(part)
        return required(part) if must else part

    def leaf(self, info: FieldInfo | None) -> Part:
        start = self.position
        mark = self.text[start]
        if mark == "(":
            return self.group(info)
        if info:
            return self.value(info, start)
        if mark == '"':
            return self.phrase()
        if typed := TYPOGRAPHIC.match(self.text, start):
            self.position = typed.end()
            return Phrase(typed[1], start, self.position)
        if mark == "/" and (end := pattern_end(self.text, start)):
            return self.regex(end)
        if name := FIELD.match(self.text, start):
            if known := BY_NAME.get(name[1].lower()):
                return self.field(known, name)
            self.check_name(name)
        return self.word()

    def group(self, info: FieldInfo | None) -> Part:
        opening = self.position
        if self.depth == MAX_DEPTH:
            raise self.error("the parentheses are nested too deep", opening, f"use at most {MAX_DEPTH} levels")
        self.depth += 1
        self.position += 1
        parts = self.side_by_side(info)
        if self.position == len(self.text):
            raise self.error("this parenthesis is never closed", opening, f"add a ), or {QUOTE_HINT}")
        if not parts:
            raise self.error("there is nothing in these parentheses", opening, QUOTE_HINT)
        self.position += 1
        self.depth -= 1
        return required(all_of(parts))

    def phrase(self) -> Phrase:
        start = self.position
        text = self.quoted()
        if not text.strip():
            raise self.error("there is nothing between these quotation marks", start, "write some words between them")
        if self.text.startswith("*", self.position):
            raise self.error("only a word can end in *", self.position, 'put it on a word by itself: "read the" fil*')
        return Phrase(text, start, self.position)

    def quoted(self) -> str:
        """Return the text between this quotation mark and the next; a backslash escapes either."""
        match = QUOTED.match(self.text, self.position)
        if match is None:
            hint = 'add a " at the end; inside of a phrase write \\" for a quotation mark, and \\\\ for a backslash'
            raise self.error("this quotation mark is never closed", self.position, hint)
        self.position = match.end()
        return ESCAPED.sub(r"\1", match[1])

    def regex(self, end: int) -> Regex:
        start, self.position = self.position, end
        pattern = self.text[start + 1 : end - 1]
        if fault := find_fault(pattern):
            raise self.error(fault.problem, min(start + 1 + fault.position, end - 1), fault.hint)
        return Regex(unescape_slashes(pattern), start, end)

    def check_name(self, name: re.Match[str]) -> None:
        """Raise for a misspelt field name; any other word with a colon is a plain word."""
        meant = meant_field(name[1]) if NOT_BLANK.match(self.text, name.end()) else None
        if meant:
            hint = f'did you mean {meant}:? To search for it as text, put it in quotation marks: "{name[0]}…"'
            raise self.error(f"there is no field {name[1]}:", name.start(), hint)

    def field(self, info: FieldInfo, name: re.Match[str]) -> Part:
        self.position = name.end()
        parts: list[Part] = []
        while not parts or self.text.startswith("|", self.position):
            self.position += bool(parts)
            start = self.position if parts else name.start()
            parts.append(self.group(info) if self.text.startswith("(", self.position) else self.value(info, start))
        return either_of(parts)

    def value(self, info: FieldInfo, start: int) -> Field:
        where = self.position
        if self.text.startswith('"', where):
            typed = self.quoted()
        else:
            self.position = self.end_of_word(VALUE_END)
            typed = self.text[where : self.position]
        try:
            comparison, value = meaning(info, typed, self.now)
        except InvalidValue as refused:
            # A missing value has no position: point at its field.
            raise self.error(refused.problem, where if typed else min(start, where - 1), refused.hint) from None
        return Field(info.same_as or info.name, comparison, value, start, self.position, typed)

    def word(self) -> Word:
        start = self.position
        if LITERAL.match(self.text, start):
            self.position += 1
        begin = self.position
        self.position = self.end_of_word(WORD_END)
        text = self.text[begin : self.position]
        if prefix := len(text) > 1 and text.endswith("*"):
            text = text[:-1]
        return Word(text, prefix, start, self.position)

    def end_of_word(self, ends: re.Pattern[str]) -> int:
        """Return the end of the word here. A parenthesis that was opened in it belongs to it: `main(args)`."""
        opened = 0
        for match in ends.finditer(self.text, self.position):
            if match[0] == "(":
                opened += 1
            elif match[0] == ")" and opened:
                opened -= 1
            else:
                return match.start()
        return len(self.text)

    def skip_space(self) -> bool:
        """Go to the next term; return whether there is one."""
        match = NOT_SPACE.search(self.text, self.position)
        self.position = match.start() if match else len(self.text)
        return match is not None

    def take(self, operator: str) -> re.Match[str] | None:
        """Skip this operator, if it is next."""
        match = OPERATORS[operator].match(self.text, self.position)
        if match:
            self.position = match.end()
        return match

    def take_minus(self) -> re.Match[str] | None:
        """Skip a minus that excludes the next term."""
        minus = OPERATORS["-"].match(self.text, self.position)
        if minus is None:
            return None
        if name := flag_at(self.text, minus.start("operator")):
            self.notes.append(f"searching for -{name} as text; write NOT {name} to leave it out")
            return None
        self.position = minus.end()
        return minus

    def error(self, problem: str, spot: int, hint: str) -> QueryError:
        return QueryError(problem, self.text, spot, hint)


def _check_patterns(query: Query) -> None:
    """Raise for an expression in an alternative: it reads every text that the rest of the query matches."""
    for part in query.root.parts:
        inner = part.part if isinstance(part, Not) else part
        if isinstance(inner, Regex):
            continue
        for leaf in leaves(inner, negated=True):
            if isinstance(leaf, Regex):
                problem = "a regular expression cannot be used in an OR, or in parentheses after NOT"
                hint = 'write /one|other/, or put a path in quotation marks: "/tmp/"'
                raise QueryError(problem, query.text, leaf.start, hint)


SURROGATE: Final = re.compile("[\ud800-\udfff]")
NOT_SPACE: Final = re.compile(r"\S")
NOT_BLANK: Final = re.compile(r"[^\s)]")
KEYWORD: Final = re.compile(r"(?P<operator>OR|AND|NOT)(?=[\s()]|\Z)")
OPERATORS: Final = {
    **{name: re.compile(rf"\s*(?P<operator>{name})(?=[\s()]|\Z)") for name in ("OR", "AND", "NOT")},
    "|": re.compile(r"\s*(?P<operator>\|)"),
    "+": re.compile(r"\s*(?P<operator>\+)(?=[^\s)+0-9])"),
    # `--color` is a word to search for, and so is a dash by itself.
    "-": re.compile(r"\s*(?P<operator>-)(?=[^\s)-])"),
}
FIELD: Final = re.compile(r"([A-Za-z]{1,20}):(?!:|//)")
"""A name that may be a field's. `std::vector` and `file:///x` never are."""
QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
ESCAPED: Final = re.compile(r'\\(["\\])')
TYPOGRAPHIC: Final = re.compile(r'[“”„«»]((?=\s*[^\s“”„«»"])[^“”„«»"]+)[“”„«»"]')
"""A phrase between the quotation marks that phones and word processors make of plain ones."""
INVISIBLE: Final = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Characters pasted with a word that only say where it may be broken."""
SPECIAL: Final = re.compile(r"[][\\.+*?(){}|^$/]")
LITERAL: Final = re.compile(r'\\[-+/"(]')
WORD_END: Final = re.compile(r"[\s()]")
VALUE_END: Final = re.compile(r"[\s()|]")
QUOTE_HINT: Final = 'to search for a parenthesis as text, put it in quotation marks: "f(x)"'
