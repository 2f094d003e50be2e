"""What a query finds, and in which order, in every store."""

import unicodedata
from typing import Final, Literal

import pytest

from backscroll.conversation.passages import Role
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.errors import UsageError
from backscroll.query.parse import parse
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING, Correction, Scope
from tests.contract.conftest import NewStore
from tests.contract.coverage import covers
from tests.contract.support import NOW, Desk
from tests.conversation.support import records_of
from tests.support.drawings import session_uuid

WORLD: Final = {
    "S1": """
        @ cwd=/home/ada/shop branch=main
        a <- - user: fix the parser
        b <- a thinking(m1): the lexer stands before it
        c <- b call(m1) t1 Read {"file_path": "/home/ada/shop/lexer.py"}
        d <- c error t1: no such parser
        e <- d assistant(m2): getUserName is fixed
        custom-title: Monday
        """,
    "S2": """
        @ cwd=/home/ada/blog branch=feature/x time=2026-02-05T10:00 model=claude-opus-4-1-20250805
        f <- - user: write about parsers
        g <- f call(m3) t2 Edit {"file_path": "/home/ada/blog/post.md", "old_string": "x", "new_string": "y"}
        h <- g result t2: the parser is in
        i <- h assistant(m4): wrote about the fixed parser
        tag: writing
        custom-title: Tuesday
        """,
    "S2/x1": """
        @ cwd=/home/ada/blog time=2026-02-05T10:01
        x <- - user: look for 漢字変換 in the grün files
        y <- x assistant(m5): nothing there
        """,
    "S3": """
        @ time=2026-02-20T10:00
        j <- - user: [{"type": "text", "text": "what is this"}, {"type": "image", "source": {"data": "x"}}]
        k <- j assistant(m6): a zebra crossing
        l <- k user: no, really
        m <- k user: and that
        n <- m assistant(m7): a crossing zebra
        custom-title: Friday
        """,
}  # fmt: skip


@pytest.fixture(scope="module")
def world(new_store: NewStore) -> Desk:
    return Desk(new_store()).draw(WORLD, archived=["S1"], abandoned="l")


WORDS: Final = {
    # one word, and its form
    "zebra": "S3: k n",
    "ZEBRA": "S3: k n",
    "nowhere": "",
    "gruen": "S2: x",  # one letter away
    "grun": "S2: x",
    "grün": "S2: x",
    # parts of names, and scripts without spaces
    "username": "",
    "user": "S1: e",
    "getusername": "S1: e",
    "漢字": "S2: x",
    "変換": "S2: x",
    "漢換": "",
    # prefixes
    "pars*": "S1: a d | S2: f h i",
    "getu*": "S1: e",
    # several words: any will do
    "zebra lexer": "S1: b c | S3: k n",
    # phrases
    '"a zebra"': "S3: k",
    '"zebra crossing"': "S3: k",
    '"crossing zebra"': "S3: n",
    '"fix the parser"': "S1: a",
    '"parser the fix"': "",
    # required words: in the chat, not in the same message
    "parser AND lexer": "S1: a b c d",
    "+parser +lexer": "S1: a b c d",
    "(parser) (lexer)": "S1: a b c d",
    "+lexer parser": "S1: a b c d",
    "parser AND nowhere": "",
    '"fix the parser" zebra': "S1: a",
    # misspelt words
    "zebr": "S3: k n",
    "crosssing": "S3: k n",
    '"zebr"': "",
    # signs
    "fixed AND --parser": "S1: a d e | S2: h i",
    # OR, NOT, parentheses
    "zebra OR lexer": "S1: b c | S3: k n",
    "parser -such": "S1: a | S2: h i",
    "parser NOT such": "S1: a | S2: h i",
    "(zebra OR parser) role:answer": "S2: i | S3: k n",
    "(parser -such) OR lexer": "S1: a b c | S2: h i",
    '-"crossing zebra" zebra': "S3: k",
}

FIELDS: Final = {
    "parser project:blog": "S2: h i",
    "parser project:nowhere": "",
    "parser -project:blog": "S1: a d",
    "parser branch:feature": "S2: h i",
    "parser title:mon": "S1: a d",
    "parser file:post.md": "S2: h i",
    "parser file:lexer": "",
    "parser model:opus": "S2: h i",
    "parser owner:me": "S1: a d | S2: h i",
    "parser owner:ada": "",
    "parser tag:writing": "S2: h i",
    "parser tag:WRITING": "S2: h i",
    "parser tag:writ": "",
    "role:title monday": "S1: title",
    "role:prompt parser": "S1: a",
    "role:user parser": "S1: a",
    "role:thinking lexer": "S1: b",
    "role:input lexer": "S1: c",
    "role:output parser": "S1: d | S2: h",
    "tool:edit": "S2: g h",
    "tool:rea": "S1: c d",
    "-tool:rea lexer": "S1: b",
    "is:error": "S1: d",
    "is:agent": "S2: x y",
    "is:abandoned": "S3: l",
    "is:archived parser": "S1: a d",
    "has:image": "S3: j",
    "has:image zebra": "",
    "has:image what": "S3: j",
    "has:image parser": "",
    "-has:image crossing": "S3: k n",
    "has:diff parser": "S2: h i",
    "has:thinking parser": "S1: a d",
    "parser after:2026-02-01": "S2: h i",
    "parser since:30d": "S2: h i",
    "parser before:2026-02-01": "S1: a d",
    "parser after:2026-01-05T10:00:03Z before:2026-02-05T10:00:03Z": "S1: d | S2: h",
    "parser tokens:>1000": "",
    "parser tokens:>=30": "S1: a d | S2: h i",
    f"parser session:{session_uuid('S2')[:8]}": "S2: h i",
    f"parser chat:{session_uuid('S1')[:8]}": "S1: a d",
    f"parser session:{session_uuid('S1').upper()}": "S1: a d",
}


@pytest.mark.parametrize(("query", "expected"), [*WORDS.items(), *FIELDS.items()])
@covers("search")
def test_a_query_finds(world: Desk, query: str, expected: str) -> None:
    assert world.finds(query) == expected


PICTURES: Final = """
    a <- - user: [{"type": "text", "text": "<system-reminder>be brief</system-reminder>"},
                  {"type": "image", "source": {"data": "x"}}, {"type": "text", "text": "what is this"}]
    b <- a assistant(m1): a zebra
    c <- b call(m2) t1 Read {"file_path": "/zoo.png"}
    d <- c result t1: [{"type": "image", "source": {"data": "x"}}]
    e <- d user: [{"type": "image", "source": {"data": "x"}}, {"type": "image", "source": {"data": "y"}}]
    f <- e assistant(m3): another zebra
    """


@covers("search", "facets", "chats")
def test_a_picture_is_found_where_it_was_shown(new_store: NewStore) -> None:
    desk = Desk(new_store()).draw({"S1": PICTURES.replace("},\n ", "},"), "S2": "g <- - user: no picture"})
    assert desk.finds("has:image") == "S1: a d e"
    assert desk.finds("has:image role:prompt") == "S1: a e"
    assert desk.finds("has:image zebra") == ""
    assert desk.finds("has:image reminder") == ""
    assert desk.lists("has:image") == "S1"
    assert desk.reader.facets(parse("has:image", NOW), {}).roles == {"prompt": 2, "output": 1}


LISTED: Final = {
    "": "S3 S2 S1",
    "mon": "S1",
    "-mon": "S3 S2",
    "project:shop": "S3 S1",
    "is:archived": "S1",
    "is:error": "S1",
    "is:agent": "S2",
    "is:abandoned": "S3",
    "has:diff OR has:image": "S3 S2",
    "after:2026-02-10": "S3",
    "before:2026-02-10": "S2 S1",
    "tag:writing": "S2",
    "100%": "",
    "_": "",
}


@pytest.mark.parametrize(("query", "expected"), LISTED.items())
@covers("chats", "count_chats")
def test_a_list_shows(world: Desk, query: str, expected: str) -> None:
    assert world.lists(query) == expected
    assert world.within(None).count_chats(parse(query, NOW)) == len(expected.split())


def test_a_list_goes_by_age_or_by_title(world: Desk) -> None:
    assert world.lists("", sort="oldest") == "S1 S2 S3"
    assert world.lists("", sort="title") == "S3 S1 S2"


@covers("chats")
def test_a_chat_without_a_time_is_the_last_of_a_list(new_store: NewStore) -> None:
    drawings = {
        "S1": "a <- - user -timestamp: no clock here\nb <- a assistant(m1) -timestamp: nor here",
        "S2": "@ time=2026-01-05T10:00:00.000Z\nc <- - user: early\nd <- c assistant(m2): yes",
        "S3": "@ time=2026-01-06T10:00:00.000Z\ne <- - user: late\nf <- e assistant(m3): yes",
    }
    desk = Desk(new_store()).draw(drawings)
    assert desk.lists("", sort="newest") == "S3 S2 S1"
    assert desk.lists("", sort="oldest") == "S2 S3 S1"


def test_what_only_the_moment_knows(world: Desk) -> None:
    one, other = session_uuid("S1"), session_uuid("S2")
    now = Scope(None, live=frozenset({one}), pinned=frozenset({other}), tagged={"later": frozenset({one})})
    assert world.finds("is:live parser", now) == world.finds("tag:Later parser", now) == "S1: a d"
    assert world.finds("is:pinned parser", now) == "S2: h i"
    assert (world.lists("is:live", now), world.lists("is:pinned", now)) == ("S1", "S2")
    assert world.finds("is:live parser") == ""


def test_only_the_homes_that_are_asked_about(world: Desk) -> None:
    assert world.finds("zebra", Scope(frozenset({("ada", "/home/ada/.claude")}))) == "S3: k n"
    for other in (("ada", "/home/bob/.claude"), ("bob", "/home/ada/.claude")):
        assert world.finds("zebra", Scope(frozenset({other}))) == ""
        assert world.lists("", Scope(frozenset({other}))) == ""


# The order.


def test_a_chat_with_more_of_the_words_comes_first_wherever_they_are(desk: Desk) -> None:
    desk.draw({
        "S1": "a <- - user: we want apples\nb <- a assistant: here are apples",
        "S2": "c <- - user: we want apples\nd <- c assistant: here are pears",
        "S3": "e <- - user: we want pears\nf <- e assistant: here are pears",
    })  # fmt: skip
    assert desk.ranks("apples pears").startswith("S2: ")


def test_a_rare_word_decides_and_frequent_words_do_not(desk: Desk) -> None:
    desk.draw(
        {f"S{n}": f"a{n} <- - user: it is not found after that\nb{n} <- a{n} assistant: the command" for n in range(60)}
        | {"S99": "x <- - user: opencode does nothing\ny <- x assistant: install the command again"}
    )
    assert desk.ranks("opencode command not found after install").startswith("S99: ")


def test_little_words_do_not_decide_where_tools_said_most_of_it(desk: Desk) -> None:
    """What tools return has few of them, so that by their number alone they would be rare."""
    returned = "\n".join(
        f'c{n} <- x call(m{n}) t{n} Read {{"file_path": "/x/{n}.go"}}\nd{n} <- c{n} result t{n}: func f{n}()'
        for n in range(40)
    )
    desk.draw({
        "S1": "a <- - user: what was it that we did about it\nb <- a assistant: it was what we did about it, and that",
        "S2": f"x <- - user: run the linter\n{returned}\ny <- x assistant: gofmt broke the line, lint is fine",
    })  # fmt: skip
    assert desk.ranks("what was it that we did about gofmt and the lint").startswith("S2: ")
    assert desk.ranks("what was it that we did").startswith("S1: ")


def test_words_side_by_side_come_before_words_far_apart(desk: Desk) -> None:
    apart = "the reset of the page, and after much else in between, and more of it, a good connection"
    desk.draw({
        "S1": f"a <- - user: {apart}",
        "S2": f"b <- - user: {apart.replace('reset', 'end').replace('good connection', 'connection reset')}",
        "S3": f"c <- - user: {apart}",
    })  # fmt: skip
    assert desk.ranks("connection reset").startswith("S2: ")


def test_other_forms_of_a_word_count_for_the_order_but_are_no_match(desk: Desk) -> None:
    desk.draw({
        "S1": "a <- - user: about the logs of a session\nb <- a assistant: nothing to see",
        "S2": "c <- - user: about the logs of a session\nd <- c assistant: something leaks",
        "S3": "e <- - user: it leaks",
        "S4": "f <- - user: a leak\ng <- f assistant: no leak\nh <- g user: really no leak",
    })  # fmt: skip
    found = desk.ranks("leak logs")
    assert found.startswith("S2: title c | S1: title a")
    assert "S3" not in found


def test_a_query_that_was_said_word_for_word_comes_first(desk: Desk) -> None:
    price = "price list of apples"
    desk.draw({
        "S1": f"a <- - user: {price}\nb <- a assistant: the {price}, follow it\nc <- b user: {price}, {price}",
        "S2": "d <- - user: a\ne <- d assistant: to see more, we follow the price list of what grows, all day long",
    })  # fmt: skip
    assert desk.ranks("follow the price list").startswith("S2: ")


def test_every_chat_on_a_page_shows_a_match_however_many_the_others_have(new_store: NewStore) -> None:
    """Chats whose passages are not among the best of all are asked for theirs."""

    def chat(number: int, text: str, messages: int) -> str:
        lines = [f"m{number}x{at} <- {f'm{number}x{at - 1}' if at else '-'} user: {text}" for at in range(messages)]
        return "\n".join([*lines, "custom-title: T"])

    padding = "and what else there is to be said about it " * 5
    drawings = {f"S{number}": chat(number, "zebra", 90) for number in range(6)}
    drawings |= {f"S{number}": chat(number, f"zebra {padding}", 40) for number in (6, 7)}
    desk = Desk(new_store()).draw(drawings | {"S8": chat(8, f"zebra {padding * 3}", 2)})
    for hits in (1, 3, 5):
        found = desk.ask("zebra", hits=hits).chats
        assert [len(chat.hits) for chat in found] == [min(hits, chat.found) for chat in found]
        assert len(found) == len(drawings) + 1


def test_a_name_with_signs_that_is_nowhere_is_searched_by_its_letters_and_the_answer_says_so(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: list the dir", "S2": "b <- - user: c is no c++"})
    assert desk.ask("c++").corrections == ()
    assert desk.finds("c++") == "S2: b title"
    assert desk.ask("__dir__").corrections == (Correction("__dir__", ("dir",)),)
    assert desk.finds("__dir__") == "S1: a title"


def test_a_misspelt_word_of_another_alphabet_is_corrected(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: почему сервер падает", "S2": "b <- - user: η βάση δεν ξεκινά"})
    assert desk.ask("сервр").corrections == (Correction("сервр", ("сервер",)),)
    assert desk.finds("сервр") == "S1: a title"
    assert desk.finds("ξεκινα") == "S2: b title"


def test_a_word_that_is_in_no_chat_and_like_none_is_named_if_others_are_found(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: install the parser", "S2": "b <- - user: parsers"})
    found = desk.ask("xyzzyq install")
    assert (found.total_chats, found.corrections) == (1, (Correction("xyzzyq", ()),))
    assert desk.ask("install").corrections == ()
    assert desk.ask("installing parser").corrections == (Correction("installing", ("install",)),)
    assert desk.ask("xyzzyq").corrections == ()  # that nothing was found says it all
    assert desk.ask("+xyzzyq install").total_chats == 0


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_are_found_whatever_the_case_and_form_of_their_letters(desk: Desk, form: Literal["NFC", "NFD"]) -> None:
    written = unicodedata.normalize(form, "@ cwd=/srv/Größe branch=Übung\na <- - user: hi\ncustom-title: Mehr ÄRGER")
    desk.draw({"S1": written, "S2": "b <- - user: hi\ncustom-title: arg"})
    name = session_uuid("S1").upper()
    decomposed = unicodedata.normalize("NFD", "title:ärger")
    named = f"chat:{name}", f"session:{name}"
    for query in ("title:ärger", "title:ÄRGER", decomposed, "project:GRÖSSE", "branch:übung", *named):
        assert desk.lists(query) == "S1", query
    assert desk.lists("title:ärgern") == ""


def test_a_title_from_the_first_prompt_is_found_by_how_the_prompt_begins(desk: Desk) -> None:
    desk.draw({
        "S1": "a <- - user: Do this plan: # Plan: Tidy the shelf ## Context The mangoes are old.",
        "S2": "b <- - user: Where are the mangoes?\ncustom-title: Fruit",
    })  # fmt: skip
    assert desk.lists("shelf") == "S1"
    assert desk.lists("mangoes") == ""
    found = desk.ask("role:title mangoes").chats
    assert [(chat.chat.overview.title, *(hit.title for hit in chat.hits)) for chat in found] == [
        ("Tidy the shelf", "Do this plan: # Plan: Tidy the shelf ## Context The mangoes are old.")
    ]


def test_what_the_client_wrote_counts_least(desk: Desk) -> None:
    desk.draw({
        "S1": "a <- - user: hello\nb <- a meta: skill deploy, which can deploy everything",
        "S2": "c <- - user: how do we deploy the shop, and what do we do before and after it?",
    })  # fmt: skip
    assert desk.ranks("deploy").startswith("S2: ")


def test_abandoned_messages_rank_below_the_others(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: hi\nb <- a assistant: apples\nc <- a assistant: apples"}, abandoned="b")
    assert desk.ranks("apples") == "S1: c b"
    (chat,) = desk.ask("apples").chats
    assert [hit.is_abandoned for hit in chat.hits] == [False, True]


BEGUN: Final = "a <- - user: hi\nb <- a assistant(m1): apples\n"


def test_a_copy_is_shown_once(desk: Desk) -> None:
    desk.draw({"S1": BEGUN, "S2": BEGUN + "c <- b assistant(m2): more apples"})
    assert desk.finds("apples") == "S1: b c"


def test_a_copy_with_a_new_id_is_shown_once(desk: Desk) -> None:
    """As 1.0.3 wrote them: the same answer in rows with other names."""
    desk.draw({"S1": BEGUN, "S2": "A <- - user: hi\nB <- A assistant(m1): apples\nC <- B user: go on"})
    (chat,) = desk.ask("apples").chats
    assert len(chat.hits) == 1


def test_many_copies_do_not_crowd_out_the_rest(desk: Desk) -> None:
    resumed = {f"S{number}": BEGUN for number in range(2, 20)}
    desk.draw({"S1": BEGUN, **resumed, "S20": BEGUN + "c <- b assistant: one more basket of many green apples"})
    assert desk.ranks("apples", hits=2) == "S1: b c"


def test_by_time(world: Desk) -> None:
    assert world.ranks("parser", sort="newest") == "S2: i h | S1: d a"
    assert world.ranks("parser", sort="oldest") == "S1: a d | S2: h i"


UNDATED: Final = {
    "S1": "@ time=2026-01-01T10:00\na <- - user: apples\ncustom-title: old pears",
    "S2": "@ time=2026-01-02T10:00\nb <- - user: pears",
    "S3": "@ time=2026-01-03T10:00\nc <- - user: pears\ncustom-title: more pears",
}


def test_what_has_no_time_is_neither_old_nor_new(desk: Desk) -> None:
    desk.draw(UNDATED)

    assert desk.ranks("pears role:prompt|other", sort="oldest") == "S2: b | S3: c other | S1: other"
    assert desk.ranks("pears role:prompt|other", sort="newest") == "S3: c other | S2: b | S1: other"
    found = desk.reader.passages(parse("pears role:prompt|other", NOW), oldest_first=True)
    assert [hit.uuid or hit.role for hit in found] == ["b", "c", "other", "other"]
    assert desk.ask("role:other before:2030-01-01").total == 0
    assert desk.ask("role:other after:1980-01-01").total == 0
    assert desk.ask("role:other -before:2030-01-01").total == 2


# How much.


def test_counts(world: Desk) -> None:
    found = world.ask("parser", hits=1)
    assert (found.total_chats, found.total) == (2, 4)
    assert sorted(chat.found for chat in found.chats) == [2, 2]
    assert [len(chat.hits) for chat in found.chats] == [1, 1]


MANY: Final = 330


@pytest.fixture(scope="module")
def many(new_store: NewStore) -> Desk:
    drawings = {f"S{n}": f"u{n} <- - user: apples {'and pears ' * (n % 3)}\ncustom-title: T" for n in range(MANY)}
    return Desk(new_store()).draw(drawings)


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
@pytest.mark.parametrize("query", ["apples", "apples pears"])
def test_pages_follow_one_another_without_doubles_or_gaps(many: Desk, sort: str, query: str) -> None:
    pages = [many.ask(query, sort=sort, limit=50, offset=offset).chats for offset in range(0, MANY + 50, 50)]
    seen = [chat.chat.overview.id for page in pages for chat in page]
    assert len(seen) == len(set(seen)) == MANY


@pytest.mark.parametrize("sort", ["relevance", "newest"])
def test_all_chats_are_counted_however_many(many: Desk, sort: str) -> None:
    found = many.ask("apples", sort=sort, limit=5)
    assert (found.total_chats, found.total) == (MANY, MANY)


# Passages one by one, words that are alike, names.


@covers("passages")
def test_passages_come_one_by_one_by_time(world: Desk) -> None:
    def asked(query: str, *, oldest_first: bool) -> str:
        found = world.reader.passages(parse(query, NOW), oldest_first=oldest_first)
        return " ".join(hit.uuid or hit.role for hit in found)

    assert asked("parser", oldest_first=True) == "a d h i"
    assert asked("parser", oldest_first=False) == "i h d a"
    assert asked("/zebra cro/", oldest_first=True) == "k n"


@covers("passages")
def test_a_regular_expression_is_also_looked_for_where_a_text_has_no_words(new_store: NewStore) -> None:
    blob = "QUJD+x/9" * 60
    desk = Desk(new_store()).draw(
        {
            "S1": f"""
        a <- - user: here is zebra{blob}giraffe{blob}
        b <- a user: giraffe by itself
        c <- b user: {"giraffe".join(["0" * 300] * 4)}
        d <- c user: nothing
        e <- d user: <command-name>/exit</command-name>
        """
        }
    )

    def asked(query: str) -> list[str | None]:
        return [hit.uuid for hit in desk.reader.passages(parse(query, NOW), oldest_first=True) if hit.role == "prompt"]

    # What may match: the texts are looked at afterwards.
    assert {"a", "b", "c"} <= set(asked("/giraffe/"))
    assert "d" not in asked("/giraffe/")
    assert "e" in asked("/command-name/")


@covers("similar")
def test_a_word_that_is_not_there_leads_to_those_that_are(world: Desk) -> None:
    assert world.reader.similar("zerba") == ["zebra"]
    assert world.reader.similar("zebra") == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [(session_uuid("S1")[:8], "S1"), (session_uuid("S2"), "S2"), ("x1", "S2"), ("m6", "S3"), ("zz", "")],
)
@covers("find")
def test_a_chat_is_found_by_the_beginning_of_any_id_in_it(world: Desk, name: str, expected: str) -> None:
    assert " ".join(world.name(chat.overview.id) for chat in world.reader.find(name)) == expected


@covers("files_of")
def test_the_files_of_a_chat(world: Desk) -> None:
    (chat,) = world.reader.find(session_uuid("S2"))
    assert sorted(file.source for file in world.reader.files_of(chat.key)) == ["S2", "S2/x1"]
    (archived,) = world.reader.find(session_uuid("S1"))
    assert [file.source for file in world.reader.files_of(archived.key)] == ["S1"]


@covers("named", "sources_of")
def test_chats_by_their_whole_ids_and_all_their_files(world: Desk) -> None:
    wanted = [session_uuid("S1"), session_uuid("S2")]
    found = world.reader.named(wanted)
    assert sorted(world.name(chat.overview.id) for chat in found) == ["S1", "S2"]
    assert world.reader.sources_of(chat.key for chat in found) == {"S1", "S2", "S2/x1"}
    assert world.reader.named([wanted[0][:8], "x1", "m6", "zz"]) == []
    assert world.reader.named([]) == []
    assert world.reader.sources_of([]) == set()


# What is not findable yet.


@covers("pending", "next_passages", "index", "flush")
def test_the_most_useful_passages_are_indexed_first(desk: Desk) -> None:
    desk.draw({"S9": "z <- - user: before"})
    world = {place_of(name): records_of(text, session=name) for name, text in WORLD.items() if "/" not in name}
    desk.write(world)
    pending = desk.reader.pending()
    assert pending.passages > 10
    assert set(pending.roles) == {"title", "prompt", "answer", "thinking", "input", "output", "other"}
    useful = {"prompt", "answer", "title", "thinking"}
    order = [spot.role in useful for spot in desk.store.next_passages(1000)]
    assert order == sorted(order, reverse=True)
    assert len(order) == pending.passages
    count = sum(order)
    assert [spot.role in useful for spot in desk.store.next_passages(count + 1)] == [True] * count + [False]
    desk.index()
    assert desk.reader.pending() == (0, ())
    assert desk.store.next_passages(10) == []


def place_of(name: str) -> TranscriptPlace:
    return TranscriptPlace(name, session_uuid(name))


@covers("sql")
def test_a_statement_only_reads(world: Desk) -> None:
    store: Store = world.store
    before = sorted(store.indexed_files())
    for statement in (
        "delete from files",
        "drop table files",
        "pragma query_only = off",
        "delete from files; select 1",
    ):
        try:
            store.within(EVERYTHING).sql(statement, 10, 1.0)
        except UsageError:
            continue
    assert sorted(store.indexed_files()) == before
    with pytest.raises(UsageError):
        store.within(EVERYTHING).sql("select nonsense", 10, 1.0)


# What the matches have in common.


@covers("facets")
def test_facets_count_every_match(world: Desk, many: Desk) -> None:
    found = world.reader.facets(parse("parser", NOW), {"february": 1_769_904_000_000_000, "ever": 0})
    assert found.total == world.ask("parser").total == 4
    assert found.roles == {"prompt": 1, "output": 2, "answer": 1}
    assert found.tools == {"Read": 1, "Edit": 1}
    assert found.since == {"february": 2, "ever": 4}
    assert found.projects == {"/home/ada/shop": 2, "/home/ada/blog": 2}
    assert sum(found.machines.values()) == 4
    assert many.reader.facets(parse("apples", NOW), {}).roles == {"prompt": MANY}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tool:Re", "S1: c d"),
        ("tool:=Re", ""),
        ("tool:=read", "S1: c d"),
        ("project:=/home/ada", ""),
        ("project:=/home/ada/shop parser role:prompt", "S1: a"),
        ("model:=claude-opus-4-1 wrote", ""),
        ("model:=claude-opus-4-1-20250805 wrote role:answer", "S2: i"),
        ("title:=Mon parser", ""),
        ("title:=Monday role:prompt", "S1: a"),
    ],
)
def test_a_value_after_an_equals_sign_is_the_whole_value(world: Desk, query: str, expected: str) -> None:
    assert world.finds(query) == expected


@covers("facets")
def test_facets_leave_out_what_no_search_shows(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: the zebra", "S2/x1": "b <- - user: Warmup\nc <- b assistant: a zebra"})
    page, facets = desk.ask("zebra"), desk.reader.facets(parse("zebra", NOW), {"ever": 0})
    assert page.total == facets.total == sum(facets.roles.values()) == facets.since["ever"] == 2


@covers("facets")
@pytest.mark.parametrize(
    "query", ["+parser +lexer", "parser AND zebra", "(parser) the", "+parser lexer", "parser lexer"]
)
def test_a_facet_counts_what_a_search_narrowed_to_it_finds(world: Desk, query: str) -> None:
    february = "2026-02-01T00:00:00Z"
    found = world.reader.facets(parse(query, NOW), {february: 1_769_904_000_000_000})
    for name, counted in (("role:", found.roles), ("tool:=", found.tools), ("after:", found.since)):
        for value, count in counted.items():
            assert world.ask(f"{name}{value} {query}").total == count, f"{name}{value}"
    for role in Role:
        assert found.roles.get(role, 0) == world.ask(f"role:{role} {query}").total


@covers("facets")
def test_facets_count_only_chats_with_every_required_word(world: Desk) -> None:
    found = world.reader.facets(parse("+parser +lexer", NOW), {})
    assert (found.total, found.projects) == (world.ask("+parser +lexer").total, {"/home/ada/shop": 4})
    blog = world.reader.facets(parse("parser project:blog", NOW), {})
    assert (blog.total, blog.roles) == (2, {"output": 1, "answer": 1})
