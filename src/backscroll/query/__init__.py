"""The query language. Pure: text in, values out."""

from backscroll.query.completion import Completion, complete, completions
from backscroll.query.errors import QueryError
from backscroll.query.fields import BY_NAME, FIELDS, FieldChoice, FieldInfo, distance, help_lines
from backscroll.query.parse import parse
from backscroll.query.snippets import Highlighter, Snippet, fold
from backscroll.query.times import parse_moment
from backscroll.query.tree import All, Either, Field, Not, Part, Phrase, Query, Regex, Word, leaves
from backscroll.query.words import LONGEST_WORD, Preparation, normal, pairs_of, split_scripts
from backscroll.query.write import field_text, with_field, write

__all__ = [
    "BY_NAME",
    "FIELDS",
    "LONGEST_WORD",
    "All",
    "Completion",
    "Either",
    "Field",
    "FieldChoice",
    "FieldInfo",
    "Highlighter",
    "Not",
    "Part",
    "Phrase",
    "Preparation",
    "Query",
    "QueryError",
    "Regex",
    "Snippet",
    "Word",
    "complete",
    "completions",
    "distance",
    "field_text",
    "fold",
    "help_lines",
    "leaves",
    "normal",
    "pairs_of",
    "parse",
    "parse_moment",
    "split_scripts",
    "with_field",
    "write",
]
