"""A quantile of the latest values, exact over a bounded number of them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from math import ceil


class Recent:
    """The last `size` values, kept in order of arrival and in order of size."""

    def __init__(self, size: int) -> None:
        self._arrived: deque[float] = deque(maxlen=size)
        self._sorted: list[float] = []

    def __len__(self) -> int:
        return len(self._sorted)

    def add(self, value: float) -> None:
        """Takes in a value and drops the oldest when there are too many."""
        if len(self._arrived) == self._arrived.maxlen:
            del self._sorted[bisect_left(self._sorted, self._arrived[0])]
        self._arrived.append(value)
        insort(self._sorted, value)

    def quantile(self, share: float) -> float:
        """The least value that at least `share` of them do not exceed. There must be a value."""
        count = len(self._sorted)
        return self._sorted[max(0, ceil(share * count) - 1)]
