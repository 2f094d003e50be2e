"""Every page, light and dark, wide and narrow: axe finds nothing serious, and what it looks like can be kept.

By default a third of the pages are seen, light and wide; `scripts/test --all` sees each of them in all four ways.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

from tests.journeys.house import House
from tests.journeys.visitor import NARROW, WIDE, Visitor, keep_picture
from tests.support.samples import TRY_ALL, mostly_in_all

GRAVE = ("serious", "critical")


LOOKS = [("light", "wide"), ("dark", "narrow"), *([("light", "narrow"), ("dark", "wide")] if TRY_ALL else [])]
SEEN_IN = 1 if TRY_ALL else 3


@pytest.mark.parametrize(("scheme", "width"), mostly_in_all(LOOKS, each=len(LOOKS)))
def test_nothing_serious_is_wrong_with_any_page(visitor: Visitor, house: House, scheme: str, width: str) -> None:
    rooms = [*enumerate(house.rooms)][LOOKS.index((scheme, width)) % SEEN_IN :: SEEN_IN]
    # Only so that the checker can be put into the page: what our own policy allows is checked elsewhere.
    context = visitor.context(
        house.site, viewport=WIDE if width == "wide" else NARROW, color_scheme=scheme, bypass_csp=True,
        reduced_motion="reduce",
    )  # fmt: skip
    page, wrong = context.new_page(), []
    for number, path in rooms:
        page.goto(house.site + path)
        page.evaluate("""document.querySelectorAll('.tool > details').forEach((one, at) => { one.open = at < 5; })""")
        keep_picture(page, f"{number:02}{path.partition('?')[0].replace('/', '-')[:24].rstrip('-')}-{width}-{scheme}")
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        wrong += [
            f"{path}: {one['id']} {one['help']}: {[node['html'][:150] for node in one['nodes'][:3]]}"
            for one in found
            if one["impact"] in GRAVE
        ]
    assert wrong == []
