"""The lane through its front door, equal on every engine: what goes in comes back, nearest first, nothing else."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest

from services.runtime.lane import IndexLane
from services.vector.lane import VectorLane
from tests.vector.lanes import found, search, store

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
    "' OR 1=1 --",
    '{"must": []}',
    "*",
    "$.access",
    "public",
    "label:l",
    "\x00",
    "a[0].b",
    "../..",
    '"',
    "null",
]
# Sentences of eight words of their own, so that every chunk of 40 word pieces holds only some of them.
SENTENCES = [" ".join(f"w{number}x{word}" for word in range(8)) + "." for number in range(40)]


async def test_lane_keeps_documents(lane: VectorLane) -> None:
    assert isinstance(lane, IndexLane)
    assert lane.keeps == {"document"}
    await lane.check()


async def test_document_comes_back_whole(lane: VectorLane) -> None:
    await store(lane, WHOLE)
    reply = await search(lane, "die wellenlänge misst man in ångström sie ist sehr klein", access_labels=["team-a"])
    assert [evidence.document for evidence in reply.evidence] == [WHOLE]
    assert reply.evidence[0].kind == "document"
    assert 0.3 <= reply.evidence[0].score <= 1.0001
    assert (reply.engine.startswith("qdrant"), reply.total_found, reply.reason) == (True, 1, "")


async def test_unknown_date_stays_unknown(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content="undated"))
    assert not (await search(lane, "undated")).evidence[0].document.HasField("published_at")


async def test_passages_are_stretches_of_the_content_nearest_first(lane: VectorLane) -> None:
    content = "🙂 É. " + " ".join(SENTENCES)
    await store(lane, Document(id="a", content=content))
    evidence = (await search(lane, f"{SENTENCES[20]} {SENTENCES[21]}")).evidence[0]
    assert SENTENCES[20] in content[evidence.passage.start : evidence.passage.end]
    assert len(content) > 4 * (evidence.passage.end - evidence.passage.start)
    for span in (evidence.passage, *evidence.other_passages):
        assert content.encode()[span.start_byte : span.end_byte].decode() == content[span.start : span.end]
    assert evidence.passage not in evidence.other_passages


async def test_one_long_document_does_not_crowd_out_the_others(lane: VectorLane) -> None:
    long = Document(id="long", content="zebra crossing ahead. " * 400)
    await store(lane, long, *(Document(id=str(n), content="zebra crossing behind the other") for n in range(3)))
    reply = await search(lane, "zebra crossing ahead", max_results=4)
    assert reply.evidence[0].document.id == "long"
    assert {evidence.document.id for evidence in reply.evidence} == {"long", "0", "1", "2"}
    assert len(reply.evidence[0].other_passages) == 8


async def test_best_comes_first_and_total_counts_beyond_the_limit(lane: VectorLane) -> None:
    others = [Document(id=str(n), content="protein and words") for n in range(8)]
    await store(lane, *others, Document(id="best", content="protein folding"))
    reply = await search(lane, "protein folding", max_results=3)
    scores = [evidence.score for evidence in reply.evidence]
    assert reply.evidence[0].document.id == "best"
    assert scores == sorted(scores, reverse=True)
    assert (len(scores), reply.total_found) == (3, 9)


async def test_scope_is_what_the_search_was_limited_to(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content="zebra", project="p"))
    assert list((await search(lane, "zebra", projects=["p", "q"])).evidence[0].scope) == ["p", "q"]
    assert not (await search(lane, "zebra")).evidence[0].scope


async def test_title_and_headings_are_searched_but_never_quoted(lane: VectorLane) -> None:
    content = "# Installing\n\nRun it.\n\n" + "## Other\n\n" + " ".join(SENTENCES[:8])
    await store(lane, Document(id="a", title="Zebra handbook", content=content))
    evidence = (await search(lane, "zebra handbook installing")).evidence[0]
    assert content[evidence.passage.start : evidence.passage.end].startswith("Installing")


async def test_replaced_document_leaves_no_ghost(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content=" ".join(SENTENCES), tags=["old"], access_labels=["secret"]))
    before = (await lane.stats(["secret"])).chunks
    await store(lane, Document(id="a", content="giraffe", title="new"))
    assert await found(lane, SENTENCES[30], access_labels=["secret"]) == set()
    assert await found(lane, "giraffe", tags=["old"]) == set()
    assert await found(lane, "giraffe") == {"a"}
    after = await lane.stats([])
    assert (before > 5, after.documents, after.chunks) == (True, 1, 1)


async def test_last_of_a_batch_wins(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content="first text", tags=["x"]), Document(id="a", content="second text"))
    reply = await search(lane, "text")
    assert [evidence.document.content for evidence in reply.evidence] == ["second text"]
    assert (await search(lane, "text", tags=["x"])).reason == "NO_MATCH"


async def test_ingesting_again_changes_nothing(lane: VectorLane) -> None:
    for _ in range(2):
        await store(lane, WHOLE, Document(id="b", content=" ".join(SENTENCES)))
    once = await lane.stats(["team-a"])
    await store(lane, WHOLE)
    assert (await lane.stats(["team-a"])).chunks == once.chunks
    assert once.documents == 2


async def test_delete_counts_what_existed(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content=" ".join(SENTENCES)), Document(id="b", content="zebra"))
    assert await lane.delete(DeleteRequest(document_ids=["a", "a", "missing"])) == 1
    assert await lane.delete(DeleteRequest()) == 0
    stats = await lane.stats([])
    assert (stats.documents, stats.chunks) == (1, 1)
    assert await found(lane, SENTENCES[3]) == set()


async def test_stats_counts_what_the_labels_open(lane: VectorLane) -> None:
    await store(
        lane,
        Document(id="a", content="x", project="p"),
        Document(id="b", content=" ".join(SENTENCES), project="p", access_labels=["l", "m"]),
        Document(id="c", content="x"),
        Document(id="d", content="x", project="q", access_labels=["n"]),
    )
    public, opened = await lane.stats([]), await lane.stats(["l", "m"])
    assert (public.documents, public.chunks, dict(public.documents_by_project)) == (2, 2, {"p": 1, "": 1})
    assert (opened.documents, dict(opened.documents_by_project)) == (3, {"p": 2, "": 1})
    assert opened.chunks > 5


async def test_no_syntax_of_the_caller_acts(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content="plain words", project="p", access_labels=["l"]))
    for text in INJECTIONS:
        for name in ("projects", "sources", "tags", "access_labels"):
            assert await found(lane, "plain words", **{name: [text]}) == set()
        assert await found(lane, "plain words", language=text, access_labels=["l"]) == set()
        assert await found(lane, text, access_labels=["l"]) <= {"a"}
        assert (await lane.stats([text])).documents == 0


async def test_odd_names_are_kept_as_they_are(lane: VectorLane) -> None:
    fields = {text: {"project": text, "source": text, "tags": [text], "access_labels": [text]} for text in INJECTIONS}
    odd = {text: Document(id=text, content="plain words", attributes={text: text}, **fields[text]) for text in fields}
    await store(lane, *odd.values())
    for text in INJECTIONS:
        for name in ("projects", "sources", "tags"):
            assert await found(lane, "plain words", access_labels=[text], **{name: [text]}) == {text}
        reply = await search(lane, "plain words", access_labels=[text])
        assert [evidence.document for evidence in reply.evidence] == [odd[text]]
        assert await lane.delete(DeleteRequest(document_ids=[text])) == 1
    assert (await lane.stats(INJECTIONS)).documents == 0


async def test_empty_says_how_near_was_asked_for(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content="zebra", project="p", source="academic"))
    reply = await search(lane, "unobtainium", projects=["p"], access_labels=["held"])
    assert reply.reason == "NO_MATCH"
    assert reply.message == (
        "No document within the filters projects is near the question: none has a cosine of 0.3 or more by words."
    )
    assert (reply.total_found, reply.engine != "") == (0, True)


async def test_academic_sources_have_a_threshold_of_their_own(lane: VectorLane) -> None:
    await store(lane, Document(id="a", content="zebra giraffe lion tiger bear", source="academic"))
    assert await found(lane, "zebra", sources=["academic", "news"]) == {"a"}
    assert await found(lane, "zebra", sources=["academic"]) == set()
