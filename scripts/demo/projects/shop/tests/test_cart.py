import pytest

from shop.cart import Cart


def test_a_small_order_pays_shipping():
    cart = Cart()
    cart.add("tea", 2)
    assert cart.total() == 2 * 690 + 490


def test_a_large_order_ships_for_free():
    cart = Cart()
    cart.add("gift box", 3)
    assert cart.shipping() == 0


def test_what_we_do_not_sell():
    with pytest.raises(KeyError):
        Cart().add("coffee")
