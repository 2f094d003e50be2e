from shop import mail


def test_the_confirmation_names_the_order():
    assert "1f3a" in mail.write("en", "confirmed", name="Grace", order="1f3a")
