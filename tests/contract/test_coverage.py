"""Every method of the interface has a test that every store must pass."""

from tests.contract.coverage import INTERFACE, said


def test_every_method_has_a_contract_test() -> None:
    assert len(INTERFACE) > 50
    assert INTERFACE - set(said()) == set()


def test_no_test_is_about_a_method_that_is_gone() -> None:
    assert set(said()) - INTERFACE == set()
