"""How many requests each address or key may send in a minute."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from regard.server.errors import RateExceeded

_MAX_SUBJECTS = 20_000  # beyond that, those that asked least recently are forgotten


class RateLimiter:
    """Counts requests by address or key. After a pause, a minute's requests may come at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests used up, and when

    def check(self, subject: str, per_minute: int, *, counts: bool = True) -> None:
        """Raise `RateExceeded` if a request is one too many; else count it, if it `counts`."""
        now = self._clock()
        used, then = self._used.get(subject, (0.0, now))
        used = max(0.0, used - (now - then) * per_minute / 60)
        if used + 1 > per_minute:
            raise RateExceeded(
                f"more than {per_minute:,} requests per minute",
                retry_after=max(1, math.ceil((used + 1 - per_minute) * 60 / per_minute)),
            )
        if not counts:
            return
        self._used[subject] = used + 1, now
        self._used.move_to_end(subject)
        while len(self._used) > _MAX_SUBJECTS:
            self._used.popitem(last=False)
