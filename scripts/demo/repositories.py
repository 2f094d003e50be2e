"""Ada's projects as they are before the first session, with what was committed until then."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "projects"

# Not a key of anything. It is put together here, so that no scanner takes this file for a leak.
FAKE_KEY = "sk_live_" + "51Qa7" + "Xr2VbT9mLwE4dKcN8uYp3Gh"


@dataclass(frozen=True)
class Commit:
    day: str
    message: str
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Project:
    """A project in `projects/`. `earlier` is how it was before: commits, each with what it replaced."""

    name: str
    earlier: Sequence[tuple[str, str, str, str, str]] = ()
    """Day, message, path, the text after the commit and the text before it; the newest last."""
    first: tuple[str, str] = ("2026-05-11T08:30", "First version")
    extra: Mapping[str, bytes] = field(default_factory=dict)
    """Files that are not in the repository."""

    def commits(self) -> Iterator[Commit]:
        files = {
            str(path.relative_to(FOLDER / self.name)): path.read_bytes()
            for path in sorted((FOLDER / self.name).rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        states = [files]
        for _, _, path, after, before in reversed(self.earlier):
            old = states[0][path].decode()
            assert after in old, (path, after)
            states.insert(0, states[0] | {path: old.replace(after, before).encode()})
        yield Commit(*self.first, states[0])
        for (day, message, path, _, _), state in zip(self.earlier, states[1:], strict=True):
            yield Commit(day, message, {path: state[path]})


PROJECTS = (
    Project(
        "shop",
        earlier=(
            (
                "2026-07-02T14:10",
                "Free shipping from 50 euros",
                "shop/cart.py",
                "return 0 if self.subtotal() > FREE_SHIPPING_FROM else SHIPPING",
                "return SHIPPING",
            ),
            (
                "2026-07-20T10:05",
                "Order ids are random, so that they do not tell how much we sell",
                "shop/orders.py",
                'return f"{random.getrandbits(32):08x}"',
                'return f"{next(COUNTER):08x}"',
            ),
        ),
        extra={
            ".env": "\n".join(
                (
                    "PAYMENT_URL=https://payments.example.com/v2",
                    f"PAYMENT_KEY={FAKE_KEY}",
                    "MAIL_FROM=hello@shop.example",
                    "",
                )
            ).encode()
        },
    ),
    Project(
        "ledger",
        earlier=(
            (
                "2026-06-15T09:20",
                "Show amounts with a sign of the currency",
                "ledger/book.py",
                '{amount:,.2f} €"',
                '{amount:,.2f}"',
            ),
        ),
    ),
    Project("trailmap"),
)
