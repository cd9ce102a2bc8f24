"""The metrics against pytrec_eval, over whatever rankings and judgements hypothesis thinks of."""

from __future__ import annotations

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from client import metrics

DOCUMENTS = st.text("abcde", min_size=1, max_size=4)
JUDGEMENTS = st.dictionaries(DOCUMENTS, st.integers(0, 4), min_size=1, max_size=60)
# Few different scores, so that ties are the rule; trec_eval keeps scores in single precision.
RUNS = st.dictionaries(DOCUMENTS, st.integers(0, 6).map(lambda score: score / 4), max_size=150)
NAMES = {"ndcg@10": "ndcg_cut_10", "recall@100": "recall_100", "mrr@10": "recip_rank"}


def as_ranked_there(run: dict[str, float]) -> list[str]:
    """The order that trec_eval gives to scores: highest first, of equals the last identity."""
    return sorted(run, key=lambda identity: (run[identity], identity), reverse=True)


def theirs(run: dict[str, float], judgements: dict[str, int]) -> dict[str, float]:
    def evaluated(measured: dict[str, float]) -> dict[str, float]:
        found = pytrec_eval.RelevanceEvaluator({"q": judgements}, {"ndcg_cut.10", "recall.100", "recip_rank"})
        return found.evaluate({"q": measured}).get("q", dict.fromkeys(NAMES.values(), 0.0))

    # Their reciprocal rank has no cut: it is given the first ten only.
    ten = {identity: run[identity] for identity in as_ranked_there(run)[: metrics.MRR_CUT]}
    return evaluated(run) | {"recip_rank": evaluated(ten)["recip_rank"]}


@given(RUNS, JUDGEMENTS)
def test_each_query_scores_as_in_trec_eval(run, judgements):
    ours = metrics.quality({"q": as_ranked_there(run)}, {"q": judgements})
    expected = theirs(run, judgements)
    assert ours == {name: pytest.approx(expected[other]) for name, other in NAMES.items()}


@given(
    st.dictionaries(st.sampled_from("pqrstu"), st.tuples(RUNS, JUDGEMENTS), min_size=1), st.sets(st.sampled_from("pqr"))
)
def test_means_are_over_every_judged_query_also_those_without_a_ranking(queries, missing):
    """As `trec_eval -c`: a query that was never answered counts as nothing found."""
    answered = {query: run for query, (run, _) in queries.items() if query not in missing}
    judged = {query: judgements for query, (_, judgements) in queries.items()}
    ours = metrics.quality({query: as_ranked_there(run) for query, run in answered.items()}, judged)
    each = [theirs(run, judged[query]) for query, run in answered.items()]
    for name, other in NAMES.items():
        assert ours[name] == pytest.approx(sum(scores[other] for scores in each) / len(judged))


def test_the_grade_is_the_gain():
    assert metrics.ndcg(["b", "a"], {"a": 4, "b": 1}) == pytest.approx(
        (1 + 4 / 1.584962500721156) / (4 + 1 / 1.584962500721156)
    )


def test_judgements_without_a_relevant_document_score_nothing():
    assert metrics.quality({"q": ["a"]}, {"q": {"a": 0, "b": -1}}) == {"ndcg@10": 0, "recall@100": 0, "mrr@10": 0}
    assert metrics.quality({}, {}) == {"ndcg@10": 0, "recall@100": 0, "mrr@10": 0}


def test_a_relevant_document_below_the_cut_does_not_count():
    ranking = [f"x{number}" for number in range(100)]
    assert metrics.reciprocal_rank([*ranking[:9], "a"], {"a": 1}) == 0.1
    assert metrics.reciprocal_rank([*ranking[:10], "a"], {"a": 1}) == 0
    assert metrics.recall([*ranking[:99], "a"], {"a": 1}) == 1
    assert metrics.recall([*ranking, "a"], {"a": 1}) == 0


def test_plain_fusion_sums_reciprocal_ranks_and_breaks_ties_by_rank_then_identity():
    assert metrics.reciprocal_rank_fusion([["a", "b", "c"], ["c", "a"]], 60) == ["a", "c", "b"]
    assert metrics.reciprocal_rank_fusion([["b"], ["a"]], 60) == ["a", "b"]
    assert metrics.reciprocal_rank_fusion([], 60) == []
    # With k = 0 the first place outweighs any agreement further down.
    assert metrics.reciprocal_rank_fusion([["a", "b", "c"], ["d", "e", "c"]], 0)[:2] == ["a", "d"]
    assert metrics.reciprocal_rank_fusion([["a", "b", "c"], ["d", "e", "c"]], 60)[0] == "c"


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2), (0.99, 4), (0.0, 1), (1.0, 4), (0.25, 1), (0.26, 2)])
def test_a_percentile_is_one_of_the_values(share, expected):
    assert metrics.percentile([4, 1, 3, 2], share) == expected


def test_no_values_have_no_percentile():
    assert metrics.percentile([], 0.5) == 0
