"""Every example of docs/reference/query.md finds what the page says it finds."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file

PAGE: Final = (Path(__file__).parents[2] / "docs" / "reference" / "query.md").read_text(encoding="utf-8")
EXAMPLES: Final = re.findall(
    r"^(\S.*?)(?:   .*)?$", "".join(re.findall(r"```query\n(.*?)```", PAGE, re.DOTALL)), re.MULTILINE
)

WORLD: Final = {
    "both": """
        @ cwd=/home/ada/shop
        bo1 <- - user: a timeout
        bo2 <- bo1 assistant: then a retry
        """,
    "timeout": """
        @ cwd=/home/ada/blog
        ti1 <- - user: the timeout of the test
        ti2 <- ti1 assistant: connection refused, in good time
        """,
    "retry": """
        @ cwd=/home/ada/blog
        re1 <- - user: fix the retry
        re2 <- re1 assistant: a deadlock; refused the connection
        """,
    "shop": """
        @ cwd=/home/ada/shop model=claude-opus-4-1-20250805
        sh1 <- - user: fix the parser
        sh2 <- sh1 call(m1) t1 Edit {"file_path": "/home/ada/shop/src/app.py", "old_string": "x", "new_string": "y"}
        sh3 <- sh2 result t1: done
        sh4 <- sh3 assistant(m2): a time-out
        """,
    "signs": """
        @ cwd=/home/ada/other
        si1 <- - user: rm -rf the C++ and C# code, then git commit --no-verify
        si2 <- si1 assistant: see .env, $HOME and __dir__; a checkpoint, the checkpoint, 八字的古籍整理
        """,
    "plain": """
        @ cwd=/home/ada/other
        pl1 <- - user: rm rf c env home dir
        pl2 <- pl1 assistant: no verify
        """,
}  # fmt: skip

FOUND: Final = {
    "timeout": "both timeout",
    "timeout retry": "both retry timeout",
    "timeout AND retry": "both",
    "+timeout retry": "both timeout",
    '"connection refused"': "timeout",
    "time*": "both shop timeout",
    "timeout OR deadlock": "both retry timeout",
    "timeout -test": "both",
    "(timeout OR deadlock) -is:agent": "both retry timeout",
    "/time[- ]?out/": "both shop timeout",
    "project:shop role:prompt fix": "shop",
    "is:error tool:Bash since:7d": "",
    "cost:>1 file:src/app.py": "",
}
ALSO: Final = {
    # in the same words as the page
    "+timeout +retry": "both",
    "(timeout) (retry)": "both",
    "timeout NOT test": "both",
    "cost:>=0 file:src/app.py": "shop",
    # names with signs
    "c++": "signs",
    "C#": "signs",
    ".env": "signs",
    "$HOME": "signs",
    "__dir__": "signs",
    "--no-verify": "signs",
    "+rm -rf": "plain signs",
    "+rm AND \\-rf": "signs",
    ".nothing": "",
    # misspelt
    "chekpoint": "signs",
    '"chekpoint"': "",
    # scripts without spaces
    "八字古籍": "signs",
    '"八字古籍"': "",
    "+八字古籍": "",
    # dashes
    "rm NOT rf": "",
    'rm -"rf"': "",
    "deadlock": "retry",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    for name, drawing in WORLD.items():
        shelf.write(session_file(name, drawing))
    shelf.update()
    return shelf


NAMES: Final = {session_uuid(name): name for name in WORLD}


def test_every_example_of_the_page_is_tried() -> None:
    assert set(EXAMPLES) == set(FOUND)


@pytest.mark.parametrize(("query", "expected"), [*FOUND.items(), *ALSO.items()])
def test_an_example_finds_what_the_page_says(shelf: Shelf, query: str, expected: str) -> None:
    with shelf.open() as library:
        found = library.search(query, limit=100)
    assert " ".join(sorted(NAMES[chat.chat.overview.id] for chat in found.chats)) == expected


def test_the_order_is_that_of_the_page(shelf: Shelf) -> None:
    with shelf.open() as library:
        for query in ("timeout retry", "+timeout retry"):
            assert NAMES[library.search(query).chats[0].chat.overview.id] == "both"


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
@pytest.mark.parametrize("query", ["timeout retry the", "/time/"])
def test_a_cursor_leads_through_all_pages(shelf: Shelf, query: str, sort: str) -> None:
    with shelf.open() as library:
        whole = [chat.chat.overview.id for chat in library.search(query, limit=100, sort=sort).chats]
        for offset in (0, 1):
            found = library.search(query, limit=1, sort=sort, offset=offset)
            seen = [chat.chat.overview.id for chat in found.chats]
            while cursor := found.cursor():
                found = library.search(query, limit=1, sort=sort, cursor=cursor)
                seen += [chat.chat.overview.id for chat in found.chats]
            assert seen == whole[offset:]
