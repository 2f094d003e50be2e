import re


def test_an_order_has_an_id(book):
    order = book.place("grace", 1450)
    assert re.fullmatch(r"[0-9a-f]{8}", order.id)


def test_the_history_is_empty_for_a_stranger(book):
    assert book.history("nobody") == []


def test_the_latest_order_comes_first(book):
    first = book.place("linus", 1450)
    second = book.place("linus", 690)
    assert [order.id for order in book.history("linus")] == [second.id, first.id]
