"""How many requests a key, a person and an organisation may make: so that one program cannot hold up everyone."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

PER_MINUTE: Final = 120
BURST: Final = 60
"""So many requests at once, and so many a minute in the long run."""
MAX_REMEMBERED: Final = 10_000


PERSON_PER_MINUTE: Final = 300
ORG_PER_MINUTE: Final = 3000
"""With all keys of a person, and of everyone in an organisation."""


class KeyRates:
    """The rates of requests with keys: by key, by person, by organisation."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._rates = {
            "this key": RequestRate(clock=clock),
            "all your keys together": RequestRate(PERSON_PER_MINUTE, PERSON_PER_MINUTE / 2, clock),
            "your organisation": RequestRate(ORG_PER_MINUTE, ORG_PER_MINUTE / 2, clock),
        }

    def take(self, key: str, person: str, org: int) -> tuple[int, str]:
        """Count a request; how many seconds to wait, 0 if it may be answered, and who asks too often."""
        for (whose, rate), name in zip(self._rates.items(), (key, person, str(org)), strict=True):
            wait = rate.take(name)
            if wait:
                return wait, whose
        return 0, ""


class RequestRate:
    """Credit by key: each request takes one, and it grows back."""

    def __init__(
        self, per_minute: float = PER_MINUTE, burst: float = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second, self._burst, self._clock = per_minute / 60, burst, clock
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What was used, and when, by key."""
        self._lock = threading.Lock()

    def take(self, key: str) -> int:
        """Count a request; how many seconds to wait, 0 if it may be answered."""
        now = self._clock()
        with self._lock:
            used, at = self._used.get(key, (0.0, now))
            used = max(0.0, used - (now - at) * self._per_second)
            if used + 1 > self._burst:
                return max(1, round((used + 1 - self._burst) / self._per_second))
            self._used[key] = (used + 1, now)
            self._used.move_to_end(key)
            while len(self._used) > MAX_REMEMBERED:
                self._used.popitem(last=False)
        return 0
