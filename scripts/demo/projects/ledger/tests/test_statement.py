from ledger.statement import parse


def test_a_plain_line():
    assert parse("03.09. RENT SEPTEMBER -840,00") == ("03.09.", "RENT SEPTEMBER", -840.0)
