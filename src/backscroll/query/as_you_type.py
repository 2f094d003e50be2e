"""A query that is being typed."""

from backscroll.query.tree import All, Query, Word


def while_typing(query: Query) -> Query:
    """Return the query with its last word as a prefix, as it may be half typed."""
    *before, last = query.root.parts or (None,)
    if isinstance(last, Word) and last.end == len(query.text) and len(last.text) > 1 and last.text[-1].isalnum():
        return Query(query.text, All((*before, Word(last.text, True, last.start, last.end))))
    return query
