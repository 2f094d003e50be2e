"""A cart and what it costs. All amounts are integer cents."""

from dataclasses import dataclass, field

PRICES = {"mug": 1450, "tea": 690, "strainer": 820, "gift box": 2500}
SHIPPING = 490
FREE_SHIPPING_FROM = 5000


@dataclass
class Cart:
    items: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int = 1) -> None:
        if name not in PRICES:
            raise KeyError(f"we do not sell {name}")
        self.items[name] = self.items.get(name, 0) + count

    def subtotal(self) -> int:
        return sum(PRICES[name] * count for name, count in self.items.items())

    def shipping(self) -> int:
        return 0 if self.subtotal() > FREE_SHIPPING_FROM else SHIPPING

    def total(self) -> int:
        return self.subtotal() + self.shipping()
