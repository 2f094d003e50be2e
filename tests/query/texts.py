"""Texts for properties: pieces that mean something to the parser, in any order."""

from hypothesis import strategies as st

PIECES = [
    *'()"/\\-|*: \t',
    *(
        "OR",
        "AND",
        "NOT",
        " OR ",
        " AND ",
        " NOT ",
        " -",
        " (",
        ") ",
        '"a b"',
        '\\"',
        "/a+/",
        "/usr/lib",
        "/x y/",
        "\\/",
    ),
    *(
        "project:",
        "is:",
        "is:error",
        "role:user",
        "has:(image|diff)",
        "since:7d",
        "before:today",
        "cost:>1",
        "tokens:<2k",
    ),
    *(
        "proejct:x",
        "std::vector",
        "file:///x",
        "foo(",
        "foo()",
        "word",
        "pre*",
        "--flag",
        "日本語",
        "e\u0301",
        "\u200b",
        "\x1b[1m",
    ),
]


def query_texts() -> st.SearchStrategy[str]:
    """Texts that are nearly queries, and often are."""
    return st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def queries() -> st.SearchStrategy[str]:
    """Texts that nearly always are queries: whole terms, grouped and joined."""
    terms = st.sampled_from(
        [
            *(
                "word",
                "pre*",
                "--flag",
                "-",
                "/usr/lib",
                "/compact",
                "/",
                "/*",
                "\\-rf",
                "\\/tmp/",
                "\\(x",
                '\\"x',
                "f(x)",
                "f(",
            ),
            *('"a b"', '"a\\"\\\\"', '"/ b"', "C:\\x", "src/", "|", "std::x", '"a\\/ b"', "a\\", "日本語"),
            *("project:shop", 'project:"a b|c"', "is:error|agent", "is:(error -agent)", "file:a/|b", "project:-x"),
            *("since:7d", "before:2026-01-05", "cost:>1", "tokens:<=1.5k", "role:user", 'title:"\\\\"', "title:f("),
        ]
    )
    top = st.one_of(terms, st.sampled_from(["/a+ b/", "/a\\/b/", "-/x y/"]))

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.tuples(st.lists(inner, min_size=1, max_size=3), st.sampled_from([" ", " OR ", " AND "]))
        return st.one_of(
            joined.map(lambda pair: "(" + pair[1].join(pair[0]) + " )"),
            joined.map(lambda pair: pair[1].join(pair[0])),
            inner.map(lambda text: f"NOT {text}"),
            inner.map(lambda text: f"-({text} )"),
        )

    return st.lists(st.one_of(top, st.recursive(terms, grown, max_leaves=8)), max_size=4).map(" ".join)
