"""Parts of pages that are kept for the next visit: only while nothing changes, and not for long."""

from backscroll.render.html.element import Html
from backscroll.web.counted_parts import MAX_PARTS, MAX_SECONDS, CountedParts


class Counting:
    """Parts with a clock of our own, and a count that says how often it was made."""

    def __init__(self) -> None:
        self.now = 100.0
        self.times = 0
        self.parts = CountedParts(lambda: self.now)

    def count(self) -> Html:
        self.times += 1
        return Html(f"count {self.times}")

    def get(self, asked: object = "spend") -> str:
        return self.parts.get(asked, self.count)


def test_nothing_is_kept_unless_changes_are_reported() -> None:
    counting = Counting()
    assert [counting.get(), counting.get()] == ["count 1", "count 2"]
    counting.parts.keep()
    assert [counting.get(), counting.get(), counting.get("stats")] == ["count 3", "count 3", "count 4"]
    counting.parts.stop()
    assert [counting.get(), counting.get()] == ["count 5", "count 6"]


def test_a_change_and_the_clock_end_it() -> None:
    counting = Counting()
    counting.parts.keep()
    assert counting.get() == "count 1"
    counting.parts.changed()
    assert [counting.get(), counting.get()] == ["count 2", "count 2"]
    counting.now += MAX_SECONDS
    assert counting.get() == "count 3"
    assert counting.get(None) == "count 4"
    assert counting.get(None) == "count 5"


def test_what_changed_while_it_was_counted_is_counted_again() -> None:
    counting = Counting()
    counting.parts.keep()

    def slow() -> Html:
        counting.parts.changed()
        return counting.count()

    assert counting.parts.get("spend", slow) == "count 1"
    assert counting.get() == "count 2"


def test_only_some_are_kept() -> None:
    counting = Counting()
    counting.parts.keep()
    for number in range(MAX_PARTS + 1):
        counting.get(number)
    assert counting.get(MAX_PARTS) == f"count {MAX_PARTS + 1}"
    assert counting.get(0) == f"count {MAX_PARTS + 2}"
