"""Which passages mean the same, by the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def alike(vectors: Mapping[str, Sequence[float]], least: float) -> Mapping[str, list[str]]:
    """By name the names of the others whose vector has a cosine of `least` or more, in the order given."""
    names = list(vectors)
    if len(names) < 2:
        return {}
    rows = np.asarray([vectors[name] for name in names], dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1)
    near = np.argwhere(np.triu(rows @ rows.T >= least, 1))
    same: dict[str, list[str]] = {}
    for one, other in near.tolist():
        same.setdefault(names[one], []).append(names[other])
        same.setdefault(names[other], []).append(names[one])
    return same
