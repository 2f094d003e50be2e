"""What fills the context: parts that always add up to the counted tokens."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll.library.analytics.context import ContextCut
from backscroll.library.analytics.context_fill import SizedPassage, context_fill, fill, part_name
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.library import Library
from backscroll.store.report_rows import ContextAnswer, TypedPrompt

PARTS = ("prompt", "answer", "thinking", "input", "output:Read", "agents", "other")


def answer(time: int, context: int) -> ContextAnswer:
    return ContextAnswer("chat", time, "claude-opus-4-5", context, 0, 0, 10)


def prompt(time: int) -> TypedPrompt:
    return TypedPrompt("file", time, time, f"p{time}", "do it", in_agent=False)


def test_the_first_answer_has_the_prompt_and_for_the_rest_the_system() -> None:
    (turn,) = fill([answer(10, 20_000)], [SizedPassage(1, "prompt", 4_000)], [], [prompt(1)]).turns
    assert turn.parts == {"system": 19_000, "prompt": 1_000}


def test_what_is_new_is_divided_by_length() -> None:
    passages = [
        SizedPassage(1, "prompt", 4_000), SizedPassage(10, "answer", 100), SizedPassage(10, "input", 100),
        SizedPassage(11, "output:Read", 800),
    ]  # fmt: skip
    (turn,) = fill([answer(10, 20_000), answer(20, 21_000)], passages, [], [prompt(1)]).turns
    assert turn.parts == {"system": 19_000, "prompt": 1_000, "answer": 100, "input": 100, "output:Read": 800}
    (turn,) = fill([answer(10, 20_000), answer(20, 21_000)], passages[:1], [], [prompt(1)]).turns
    assert turn.parts["unknown"] == 1_000


def test_a_compaction_leaves_the_system_and_a_summary_and_says_what_was_lost() -> None:
    passages = [SizedPassage(1, "prompt", 4_000), SizedPassage(11, "output:Read", 1)]
    answers = [answer(10, 20_000), answer(20, 160_000), answer(40, 30_000)]
    found = fill(answers, passages, [ContextCut(30, 165_000, 30_000, measured=False)], [prompt(1), prompt(35)])
    assert [turn.parts for turn in found.turns] == [
        {"system": 19_000, "prompt": 1_000, "output:Read": 140_000}, {"system": 19_000, "summary": 11_000},
    ]  # fmt: skip
    (cut,) = found.compacted
    assert (cut.before["output:Read"], sum(cut.after.values()), cut.stated.before) == (140_000, 30_000, 165_000)


def test_without_a_compaction_everything_shrinks_alike() -> None:
    passages = [SizedPassage(1, "prompt", 4_000), SizedPassage(11, "output:Read", 1)]
    found = fill([answer(10, 20_000), answer(20, 40_000), answer(30, 29_500)], passages, [], [prompt(1)])
    assert found.turns[0].parts == {"system": 19_000, "prompt": 500, "output:Read": 10_000}
    assert found.shrunk == 1


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(1, 10**6)), max_size=20),
    st.lists(st.tuples(st.integers(0, 100), st.sampled_from(PARTS), st.integers(0, 10**5)), max_size=30),
    st.lists(st.integers(0, 100), max_size=3),
    st.lists(st.integers(0, 100), max_size=5, unique=True),
)
def test_the_parts_always_add_up_to_what_was_counted(
    answers: list[tuple[int, int]], passages: list[tuple[int, str, int]], cuts: list[int], prompts: list[int]
) -> None:
    found = fill(
        [answer(*one) for one in sorted(answers)],
        [SizedPassage(*one) for one in passages],
        [ContextCut(time, None, None, measured=False) for time in cuts],
        [prompt(time) for time in sorted(prompts)],
    )
    for turn in found.turns:
        assert sum(turn.parts.values()) == turn.tokens
        assert all(tokens >= 0 for tokens in turn.parts.values())


def test_outputs_of_agents_are_their_answers() -> None:
    assert [part_name("output", tool) for tool in ("Task", "Agent", "Read", None)] == [
        "agents", "agents", "output:Read", "output:-",
    ]  # fmt: skip
    assert part_name("summary of something", None) == "other"


def test_real_chats_add_up(corpus_library: Library) -> None:
    rows = usage(corpus_library, ReportRequest(), "chat").as_dicts()[:10]
    filled = [context_fill(corpus_library, row["chat"]) for row in rows if row["chat"] != "-"]
    assert any(found.compacted for found in filled)
    for found in filled:
        assert found.turns
        assert all(sum(turn.parts.values()) == turn.tokens for turn in found.turns)
