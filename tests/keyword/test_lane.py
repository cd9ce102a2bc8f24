"""The lane through its front door: what goes in comes back, best first, and nothing else."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest

from services.keyword.lane import KeywordLane
from services.runtime.lane import IndexLane
from tests.keyword.engines import EMBEDDED

# What Meilisearch does differently: no stems, no stop words, typos beside the word itself, ten words of a query.
embedded_only = pytest.mark.parametrize("engine", [EMBEDDED], indirect=True)

WHOLE = Document(
    id="whole",
    title="Ångström",
    content="Die Wellenlänge misst man in Ångström. 🙂 Sie ist sehr klein.\r\n\tEnde",
    summary="Längen",
    url="https://example.org/a?b=c",
    source="academic",
    project="optics",
    author="A. Author",
    published_at=Timestamp(seconds=0, nanos=5),
    language="de-AT",
    tags=["b", "a", "b"],
    access_labels=["team-b", "team-a"],
    attributes={"k": "v", "ключ": "значение"},
    licence="CC BY 4.0",
)
INJECTIONS = [
    '" OR 1=1',
    "NEAR(",
    "*",
    "; DROP TABLE documents",
    "title:x",
    "a AND",
    '"',
    "^x",
    "{title}: y",
    "\x00",
    "'--",
]


async def test_lane_keeps_documents(lane: KeywordLane) -> None:
    assert isinstance(lane, IndexLane)
    assert lane.keeps == {"document"}
    await lane.check()


async def test_document_comes_back_whole(engine, store, search) -> None:
    await store(WHOLE)
    reply = await search("wellenlänge", access_labels=["team-a"])
    assert [evidence.document for evidence in reply.evidence] == [WHOLE]
    assert reply.evidence[0].kind == "document"
    assert reply.evidence[0].score > 0
    assert (reply.engine, reply.total_found, reply.reason) == (engine.removesuffix("-server"), 1, "")


async def test_unknown_date_stays_unknown(store, search) -> None:
    await store(Document(id="a", content="undated"))
    reply = await search("undated")
    assert not reply.evidence[0].document.HasField("published_at")


async def test_passage_is_a_stretch_of_the_content(store, search) -> None:
    filler = "Élan vital — nothing to see here. " * 40
    await store(Document(id="a", content=f"{filler}The naïve 🙂 kinase phosphorylates the receptor. {filler}"))
    evidence = (await search("which receptor does the kinase phosphorylate")).evidence[0]
    content, passage = evidence.document.content, evidence.passage
    assert content[passage.start : passage.end] == "The naïve 🙂 kinase phosphorylates the receptor."
    stretch = content.encode()[passage.start_byte : passage.end_byte]
    assert stretch.decode() == content[passage.start : passage.end]


async def test_match_in_the_title_alone_has_no_passage(store, search) -> None:
    await store(Document(id="a", title="Photosynthesis", content="How leaves work."))
    assert not (await search("photosynthesis")).evidence[0].HasField("passage")


@pytest.mark.parametrize("content", ["odd \x00 enzymes \x00", "İİ enzymes", "\r\n enzymes \ufeff", "e\u0301 enzymes"])
async def test_odd_text_comes_back_as_it_was(store, search, content: str) -> None:
    await store(Document(id="a", content=content))
    evidence = (await search("enzyme")).evidence[0]
    assert evidence.document.content == content
    assert "enzymes" in content[evidence.passage.start : evidence.passage.end]


async def test_best_comes_first_and_total_counts_beyond_the_limit(store, search) -> None:
    others = [Document(id=str(n), content=f"protein number {n} and other words") for n in range(20)]
    await store(*others, Document(id="best", title="Protein folding", content="protein folding protein"))
    reply = await search("protein folding", max_results=5)
    scores = [evidence.score for evidence in reply.evidence]
    assert reply.evidence[0].document.id == "best"
    assert scores == sorted(scores, reverse=True)
    assert (len(scores), reply.total_found) == (5, 21)


@embedded_only
async def test_stemming(store, found) -> None:
    await store(Document(id="a", content="The cats were running past the café"))
    assert await found("a cat runs") == {"a"}


async def test_accents_do_not_matter(store, found) -> None:
    await store(Document(id="a", content="The cats were running past the café"))
    assert await found("CAFE\u0301") == {"a"}


@embedded_only
@pytest.mark.parametrize(
    ("query", "identity", "passage"),
    [
        ("中国的首都是哪里？", "zh", "北京是中国的首都，有很多博物馆。"),
        ("博物馆", "zh", "北京是中国的首都，有很多博物馆。"),
        ("東京タワーはどこにありますか", "ja", "東京タワーは港区にある。"),
        ("เมืองหลวงของไทย", "th", "กรุงเทพเป็นเมืองหลวงของไทย"),
        ("서울의 강", "ko", "한강은 서울에 있다."),
        ("столица России", "ru", "Москва: столица России."),
    ],
)
async def test_scripts_without_spaces_are_found(store, search, query: str, identity: str, passage: str) -> None:
    await store(
        Document(id="zh", content="北京是中国的首都，有很多博物馆。"),
        Document(id="ja", content="東京タワーは港区にある。"),
        Document(id="th", content="กรุงเทพเป็นเมืองหลวงของไทย"),
        Document(id="ko", content="한강은 서울에 있다."),
        Document(id="ru", content="Москва: столица России."),
    )
    best = (await search(query)).evidence[0]
    assert best.document.id == identity
    content = best.document.content
    assert content[best.passage.start : best.passage.end] == passage


@embedded_only
async def test_replaced_text_without_spaces_leaves_no_ghost(store, found) -> None:
    await store(Document(id="a", content="北京"))
    await store(Document(id="a", content="東京"))
    assert await found("北京") == set()
    assert await found("東京") == {"a"}


@embedded_only
async def test_stop_words_are_looked_for_when_nothing_else_remains(store, found) -> None:
    await store(Document(id="who", content="The Who"), Document(id="b", content="somebody else"))
    assert await found("the who") == {"who"}


async def test_replaced_document_leaves_no_ghost(lane: KeywordLane, store, found) -> None:
    await store(Document(id="a", content="zebra", tags=["old"], access_labels=["secret"]))
    await store(Document(id="a", content="giraffe", title="new"))
    assert await found("zebra", access_labels=["secret"]) == set()
    assert await found("giraffe", tags=["old"]) == set()
    assert await found("giraffe") == {"a"}
    assert (await lane.stats([])).documents == 1


async def test_last_of_a_batch_wins(store, search) -> None:
    await store(Document(id="a", content="first text", tags=["x"]), Document(id="a", content="second text"))
    reply = await search("text")
    assert [evidence.document.content for evidence in reply.evidence] == ["second text"]
    assert (await search("text", tags=["x"])).reason == "NO_MATCH"


async def test_delete_counts_what_existed(lane: KeywordLane, store, found) -> None:
    await store(Document(id="a", content="zebra", tags=["t"]), Document(id="b", content="zebra"))
    assert await lane.delete(DeleteRequest(document_ids=["a", "a", "missing"])) == 1
    assert await lane.delete(DeleteRequest()) == 0
    assert await found("zebra") == {"b"}


async def test_stats_counts_what_the_labels_open(engine: str, lane: KeywordLane, store) -> None:
    await store(
        Document(id="a", content="x", project="p"),
        Document(id="b", content="x", project="p", access_labels=["l", "m"]),
        Document(id="c", content="x"),
        Document(id="d", content="x", project="q", access_labels=["n"]),
    )
    public, opened = await lane.stats([]), await lane.stats(["l", "m"])
    assert (public.documents, dict(public.documents_by_project)) == (2, {"p": 1, "": 1})
    assert (opened.documents, dict(opened.documents_by_project)) == (3, {"p": 2, "": 1})
    assert public.engine == engine.removesuffix("-server")
    assert (public.size_bytes > 0) == (engine == EMBEDDED)


@pytest.mark.parametrize("typo", ["protien", "protin", "proteinn", "pritein", "phosphorlyaton"])
async def test_typos_are_forgiven(store, found, typo: str) -> None:
    await store(Document(id="a", content="protein phosphorylation"), Document(id="b", content="something else"))
    assert await found(typo) == {"a"}


@embedded_only
async def test_words_of_hidden_documents_neither_stop_a_correction_nor_are_one(store, found) -> None:
    await store(
        Document(id="open", content="a flamingo at the lake"),
        # The very word of the question, and the only near one of another.
        Document(id="exact", content="flaminga", access_labels=["team"]),
        Document(id="near", content="porcupine", access_labels=["team"]),
    )
    assert await found("flaminga") == {"open"}
    assert await found("flaminga", access_labels=["team"]) == {"exact"}
    assert await found("porcupone") == set()
    assert await found("porcupone", access_labels=["team"]) == {"near"}
    assert await found("flaminga") == {"open"}


@embedded_only
async def test_typos_follow_the_index(lane: KeywordLane, store, found) -> None:
    await store(Document(id="a", content="kangaroo"))
    assert await found("kangarro") == {"a"}
    await store(Document(id="b", content="kangarro"))
    assert await found("kangarro") == {"b"}
    await lane.delete(DeleteRequest(document_ids=["a", "b"]))
    assert await found("kangarro") == set()


@pytest.mark.parametrize("query", ["cat", "bold", "12346", "xprotein"])
async def test_short_words_numbers_and_first_letters_are_taken_as_written(store, found, query: str) -> None:
    await store(Document(id="a", content="cut bald 12345 protein"))
    assert await found(query) == set()


@pytest.mark.parametrize("text", INJECTIONS)
async def test_no_syntax_of_the_caller_acts(lane: KeywordLane, store, search, text: str) -> None:
    await store(Document(id="a", content="plain words", project="p"))
    for reply in (await search(text), await search("plain", projects=[text]), await search("plain", sources=[text])):
        assert not reply.evidence
        assert reply.reason == "NO_MATCH"
    for name in ("tags", "access_labels"):
        await search("plain", **{name: [text]})
    await search("plain", language=text)
    assert (await lane.stats([text])).documents == 1


@pytest.mark.parametrize("text", INJECTIONS)
async def test_hostile_fields_are_kept_and_filtered_by_as_they_are(lane: KeywordLane, store, search, text: str) -> None:
    names = dict.fromkeys(("id", "title", "summary", "url", "source", "project", "author", "licence"), text)
    document = Document(content=f"plain {text}", tags=[text], access_labels=[text], attributes={text: text}, **names)
    await store(document, Document(id="other", content="plain"))
    filters = {"projects": [text], "sources": [text], "tags": [text], "access_labels": [text]}
    assert [evidence.document for evidence in (await search("plain", **filters)).evidence] == [document]
    assert not (await search("plain", **filters | {"access_labels": []})).evidence
    assert await lane.delete(DeleteRequest(document_ids=[text])) == 1
    assert (await lane.stats([text])).documents == 1


async def test_empty_says_what_was_looked_for(engine, search) -> None:
    reply = await search("What is the unobtainium of Pandora?", projects=["p"], access_labels=["held"])
    assert reply.reason == "NO_MATCH"
    assert reply.message == "No document contains any of: unobtainium, pandora within the filters projects."
    assert (reply.total_found, reply.engine) == (0, engine.removesuffix("-server"))
    assert (await search("?!")).message == "The query holds no word to look for."


@embedded_only
async def test_very_long_questions_are_answered_by_their_rarest_words(store, found) -> None:
    common = " ".join(f"common{number}" for number in range(400))
    await store(Document(id="a", content="needle"), *(Document(id=str(n), content=common) for n in range(3)))
    assert await found(f"{common} needle {'unknown ' * 400}") >= {"a"}
