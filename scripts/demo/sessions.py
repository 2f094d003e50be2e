"""All sessions, in the order in which they happened."""

from demo.shop_flaky import FLAKY

from demo import ledger, shop, trailmap

SESSIONS = tuple(
    sorted((*shop.SESSIONS, FLAKY, *ledger.SESSIONS, *trailmap.SESSIONS), key=lambda session: session.began)
)
