"""The service: long alignments keep their deadline and leave the loop to others."""

from __future__ import annotations

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.fusion_pb2 import AlignRequest

from fusion_service.align import align
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import DeadlinePassed


class Steps:
    """A clock that moves with every look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_an_alignment_stops_when_its_deadline_has_passed() -> None:
    request = AlignRequest(text="One retry. Two retries.", documents=[Document(id="a", content="One retry is made.")])
    with ambient(Deadline(100.0, Steps())):
        assert len(align(request).sentences) == 2
    with ambient(Deadline(2.0, Steps())), pytest.raises(DeadlinePassed):
        align(request)
