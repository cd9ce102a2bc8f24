"""How often advice is given when it is called for, and how often when it is not, on labelled questions."""

from __future__ import annotations

from services.preflight.lane import PreflightLane
from tests.preflight.conftest import answer, kinds
from tests.preflight.labelled import ADVISED, CLEAR


async def test_clear_questions_are_left_alone(lane: PreflightLane) -> None:
    disturbed = [query for query in CLEAR if (await answer(lane, query)).preflight.should_trigger]
    assert len(disturbed) <= len(CLEAR) // 50, disturbed


async def test_questions_that_call_for_advice_get_the_right_kind(lane: PreflightLane) -> None:
    wrong = [
        (query, kind, given)
        for query, kind in ADVISED
        if (given := kinds((await answer(lane, query)).preflight))[:1] != [kind]
    ]
    assert len(wrong) <= len(ADVISED) // 20, wrong


async def test_precision_and_recall(lane: PreflightLane) -> None:
    labelled = [(query, False) for query in CLEAR] + [(query, True) for query, _ in ADVISED]
    given = [((await answer(lane, query)).preflight.should_trigger, wanted) for query, wanted in labelled]
    right = sum(triggered and wanted for triggered, wanted in given)
    assert len(labelled) >= 180
    assert right / sum(triggered for triggered, _ in given) >= 0.97
    assert right / sum(wanted for _, wanted in given) >= 0.95
