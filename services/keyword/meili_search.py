"""A question as Meilisearch is asked it: one query of all its words and, where that finds little, one for each."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lanemesh.v1.lane_pb2 import Filters
from meilisearch import Client

from services.keyword.engine import Found, Hit
from services.keyword.meili_documents import PRIMARY_KEY, RETRIEVED, to_document
from services.keyword.meili_filters import any_of, expression_of
from services.keyword.passage import best_passage, matches_in, stems_of
from services.keyword.query import STOP_WORDS, words_of

# Meilisearch reads no more words of a query.
MOST_WORDS = 10
# Documents looked at for one word by itself; only their keys are read.
DEEPEST = 200

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """The words to look for in one index, and how."""

    index: str
    words: Sequence[str]
    parameters: Mapping[str, Any]
    limit: int
    cutoff_ms: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Records with their scores, best first, how many matched at least, and whether Meilisearch ran out of time."""

    records: Sequence[tuple[Record, float]]
    total: int
    cut_short: bool


def words_for(query: str) -> list[str]:
    """The words of a question. No stop word is indexed, and a query of nothing else would match every document."""
    return [word for word in words_of(query) if word not in STOP_WORDS][:MOST_WORDS]


def question_of(
    index: str, words: Sequence[str], filters: Filters, limit: int, matching: str, cutoff_ms: int
) -> Question:
    """What to ask. Plain words hold none of the signs that Meilisearch gives a meaning: quotes and minus."""
    parameters = {
        "filter": expression_of(filters),
        "limit": limit,
        "matchingStrategy": matching,
        "showRankingScore": True,
        "attributesToRetrieve": [PRIMARY_KEY, *RETRIEVED],
    }
    return Question(index, words, parameters, limit, cutoff_ms)


def together(question: Question, client: Client) -> Answer:
    """One query of all words; which of them a document must have is the matching strategy's."""
    reply = client.index(question.index).search(" ".join(question.words), question.parameters)
    records = [(record, record["_rankingScore"]) for record in reply["hits"]]
    return Answer(records, reply["estimatedTotalHits"], _stopped(reply, question))


def widened(first: Answer, question: Question, client: Client) -> Answer:
    """The first answer, and behind it documents that have only some of the words."""
    more = _apart(question, client)
    known = {record[PRIMARY_KEY] for record, _ in first.records}
    least = min((score for _, score in first.records), default=1.0)
    behind = {key: least * score for key, score in more.scores.items() if key not in known}
    chosen = dict(islice(behind.items(), question.limit - len(known)))
    records = _fetched(question, chosen, client)
    scored = [(records[key], score) for key, score in chosen.items() if key in records]
    total = max(first.total, more.total, len(known) + len(behind))
    return Answer([*first.records, *scored], total, first.cut_short or more.cut_short)


@dataclass(frozen=True, slots=True)
class _Union:
    """Primary keys with scores of 0..1, best first."""

    scores: Mapping[str, float]
    total: int
    cut_short: bool


def _apart(question: Question, client: Client) -> _Union:
    """One query for each word: documents by the words they have, rare words counting more than common ones."""
    narrow = {"limit": DEEPEST, "attributesToRetrieve": [PRIMARY_KEY]}
    queries = [{"indexUid": question.index, "q": word, **question.parameters, **narrow} for word in question.words]
    replies = client.multi_search(queries)["results"]
    weights = [1 / math.log2(2 + reply["estimatedTotalHits"]) for reply in replies]
    shares: dict[str, float] = {}
    for reply, weight in zip(replies, weights, strict=True):
        for record in reply["hits"]:
            gained = weight / sum(weights) * record["_rankingScore"]
            shares[record[PRIMARY_KEY]] = shares.get(record[PRIMARY_KEY], 0.0) + gained
    ordered = dict(sorted(shares.items(), key=lambda entry: (-entry[1], entry[0])))
    total = max(reply["estimatedTotalHits"] for reply in replies)
    return _Union(ordered, total, any(_stopped(reply, question) for reply in replies))


def _fetched(question: Question, keys: Collection[str], client: Client) -> dict[str, Record]:
    """The records of these keys, under the same filter as the search itself."""
    if not keys:
        return {}
    wanted = f"{any_of(PRIMARY_KEY, keys)} AND {question.parameters['filter']}"
    parameters = {"filter": wanted, "limit": len(keys), "fields": question.parameters["attributesToRetrieve"]}
    records = [dict(found) for found in client.index(question.index).get_documents(parameters).results]
    return {record[PRIMARY_KEY]: record for record in records}


def found_in(answer: Answer, words: Sequence[str]) -> Found:
    """The answer with documents and passages."""
    stems = stems_of(words)
    hits = [_hit(stems, record, score) for record, score in answer.records]
    return Found(hits, max(answer.total, len(hits)), words, answer.cut_short)


def _hit(stems: list[str], record: Record, score: float) -> Hit:
    document = to_document(record)
    return Hit(document, score, best_passage(document.content, matches_in(document.content, stems)))


def _stopped(reply: Mapping[str, Any], question: Question) -> bool:
    # Meilisearch does not say that it stopped early, only how long it took.
    return bool(reply["processingTimeMs"] >= question.cutoff_ms)
