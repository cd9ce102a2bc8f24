from __future__ import annotations

import json
import re
import time

import pytest
from lanemesh.v1 import evidence_pb2, fusion_pb2, lane_pb2, search_pb2

from services.runtime.errors import BadReply, InvalidRequest, LanemeshError, Overloaded, Unavailable

HOSTILE = "\x1b]0;owned\x07\x1b[31m[bold]red[/bold]\x1b[0m \x9b2J\u202etfel"


def answer(text: str = "Keys are UUIDs [1].") -> search_pb2.SearchResponse:
    reply = search_pb2.SearchResponse(
        answer=text,
        sentences=[fusion_pb2.Sentence(text="Keys are UUIDs.", supported=True)],
        bibliography=[
            fusion_pb2.BibliographyEntry(
                marker=1, id="billing/adr.md", title="ADR 007", url="https://wiki.example/adr", lanes=["keyword"]
            )
        ],
        results=[
            evidence_pb2.Evidence(document=evidence_pb2.Document(id="billing/adr.md", project="billing"), score=0.1),
            evidence_pb2.Evidence(document=evidence_pb2.Document(id="crm/keys.md", title="Natural keys"), score=0.05),
        ],
        ledger=[
            search_pb2.LedgerRow(
                lane="keyword", status=lane_pb2.LANE_STATUS_OK, budget_ms=500, elapsed_ms=250, returned=4, kept=2
            ),
            search_pb2.LedgerRow(
                lane="kg",
                status=lane_pb2.LANE_STATUS_TIMEOUT,
                reason="DEADLINE_EXCEEDED",
                message="no answer in time",
                budget_ms=1000,
                elapsed_ms=1000,
                started_ms=10,
            ),
            search_pb2.LedgerRow(lane="web", status=lane_pb2.LANE_STATUS_SKIPPED, reason="NOT_PLANNED"),
        ],
        degradation=search_pb2.DEGRADATION_L1,
        trace_id="ab" * 16,
        elapsed_ms=1012.4,
        missing=["Nothing covers customers before 2024."],
    )
    reply.bibliography[0].published_at.FromJsonString("2025-06-01T00:00:00Z")
    reply.disagreements.add(
        topic="key type",
        severity=fusion_pb2.SEVERITY_HIGH,
        resolution=fusion_pb2.RESOLUTION_STRATEGY_LATEST_WINS,
        explanation="One says UUID, the other says a sequence.",
        preferred_document_id="billing/adr.md",
        claims=[fusion_pb2.Claim(citation=fusion_pb2.Citation(document_id="billing/adr.md", passage="UUID keys"))],
    )
    return reply


def test_the_page_tells_answer_sources_conflicts_gaps_and_lanes(gateway, run):
    gateway.replies["Search"] = answer()
    outcome = run("ask", "Why UUIDs?")
    assert outcome.code == 0
    assert outcome.err == ""
    for part in (
        "Keys are UUIDs [1].",
        "[1] ADR 007  billing · 2025-06-01 · keyword",
        "https://wiki.example/adr",
        "Natural keys",
        "key type (high, latest_wins): One says UUID",
        'billing/adr.md (stands): "UUID keys"',
        "Nothing covers customers before 2024.",
        "no answer in time",
        "degradation L1 · 1012 ms · trace " + "ab" * 16,
    ):
        assert part in outcome.out
    assert "\x1b" not in outcome.out
    assert max(len(line) for line in outcome.out.splitlines()) <= 100


def test_the_waterfall_has_a_row_for_every_lane(gateway, run):
    gateway.replies["Search"] = answer()
    out = run("ask", "Why UUIDs?").out
    keyword, kg, web = (next(line for line in out.splitlines() if re.match(rf"  {lane} ", line)) for lane in
                        ("keyword", "kg", "web"))  # fmt: skip
    assert keyword.count("█") == 8
    assert keyword.count("·") == 8
    assert "250/500 ms" in keyword
    assert "2/4" in keyword
    assert kg.count("█") > 30
    assert "TIMEOUT" in kg
    assert "DEADLINE_EXCEEDED" in kg
    assert "█" not in web
    assert "SKIPPED" in web


def test_json_is_one_object_with_the_names_of_the_contract(gateway, run):
    gateway.replies["Search"] = answer()
    outcome = run("ask", "Why UUIDs?", "--json")
    reply = json.loads(outcome.out)
    assert outcome.out.count("\n") == 1
    assert reply["degradation"] == "L1"
    assert [row["status"] for row in reply["ledger"]] == ["OK", "TIMEOUT", "SKIPPED"]
    assert reply["ledger"][2]["budget_ms"] == 0.0
    assert reply["disagreements"][0]["severity"] == "HIGH"
    assert reply["bibliography"][0]["published_at"] == "2025-06-01T00:00:00Z"
    assert reply["sentences"] == [{"text": "Keys are UUIDs.", "supported": True, "citations": [], "group": ""}]


def test_every_option_reaches_the_gateway(gateway, run):
    gateway.replies["Search"] = answer()
    options = (
        "--mode technical --sources docs,code --time-range 5_years --cost low --depth research --lanes keyword,kg "
        "--exclude web --language en --project billing --project crm --max-results 7 --citations-required "
        "--marker-style lane --deadline 30s"
    )
    assert run("ask", "Why?", *options.split()).code == 0
    assert gateway.requests == [
        search_pb2.SearchRequest(
            query="Why?",
            mode=lane_pb2.MODE_TECHNICAL,
            constraints=lane_pb2.Constraints(
                time_range=lane_pb2.TIME_RANGE_FIVE_YEARS,
                sources=["docs", "code"],
                cost=lane_pb2.COST_LOW,
                depth=lane_pb2.DEPTH_RESEARCH,
                citations_required=True,
                language="en",
            ),
            max_results=7,
            include_lanes=["keyword", "kg"],
            exclude_lanes=["web"],
            projects=["billing", "crm"],
            marker_style=fusion_pb2.MARKER_STYLE_LANE,
        )
    ]
    assert 0 < gateway.remaining <= 30
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", gateway.metadata["traceparent"])


@pytest.mark.parametrize(("given", "most"), [("9000", 9.0), ("9000ms", 9.0), ("9s", 9.0), ("8.5s", 8.5)])
def test_a_deadline_is_milliseconds_unless_it_has_a_unit(gateway, run, given, most):
    gateway.replies["Search"] = answer()
    assert run("ask", "Why?", "--deadline", given).code == 0
    assert most / 2 < gateway.remaining <= most


def test_without_options_the_request_is_the_question_alone(gateway, run):
    gateway.replies["Search"] = answer()
    run("ask", "Why?")
    assert gateway.requests == [search_pb2.SearchRequest(query="Why?")]


@pytest.mark.parametrize("arguments", [["", "--max-results", "0"], ["x", "--max-results", "101"]])
def test_numbers_and_an_empty_query_are_left_to_the_server(gateway, run, arguments):
    gateway.error = InvalidRequest("max_results", "must be 1 to 100")
    outcome = run("ask", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "lanemesh: max_results: must be 1 to 100\n"
    assert gateway.requests[0].query == arguments[0]


@pytest.mark.parametrize(
    ("option", "field", "words"),
    [
        ("--mode", "mode", "simple, technical, research, multimedia"),
        ("--time-range", "constraints.time_range", "recent, 5_years, all_time"),
        ("--cost", "constraints.cost", "low, medium, high"),
        ("--depth", "constraints.depth", "simple, technical, research"),
        ("--marker-style", "marker_style", "number, lane, none"),
    ],
)
def test_an_unknown_word_names_the_field_and_lists_the_words(gateway, run, option, field, words):
    outcome = run("ask", "x", option, "unspecified")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"lanemesh: {field}: unknown value 'unspecified'; expected one of {words}\n"
    assert gateway.requests == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["x", "--deadline", "soon"], "deadline"),
        (["x", "--max-results", "many"], "max_results"),
        (["x", "--max-results", "99999999999"], "max_results"),
        (["x", "--nonsense"], "arguments"),
        ([], "arguments"),
        (["\udcff"], "query"),
    ],
)
def test_arguments_that_cannot_be_sent_are_one_line_and_exit_2(gateway, run, arguments, field):
    outcome = run("ask", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(rf"lanemesh: {field}: [^\n]+\n", outcome.err)
    as_json = run("ask", *arguments, "--json")
    assert as_json.out == ""
    assert json.loads(as_json.err)["error"]["field"] == field


@pytest.mark.parametrize(
    ("error", "code"), [(Unavailable("draining"), 3), (Overloaded("full"), 1), (BadReply("odd"), 1)]
)
def test_refusals_have_their_exit_code(gateway, run, error, code):
    gateway.error = error
    assert run("ask", "x").code == code
    outcome = run("ask", "x", "--json")
    assert (outcome.code, outcome.out) == (code, "")
    told = json.loads(outcome.err)["error"]
    assert (told["reason"], told["message"]) == (error.reason, error.message)


def test_no_gateway_is_exit_3_and_says_where_it_looked(run, monkeypatch):
    monkeypatch.setenv("LANEMESH_GATEWAY", "127.0.0.1:1")
    outcome = run("ask", "x")
    assert outcome.code == 3
    assert outcome.err == "lanemesh: no gateway answers at 127.0.0.1:1; start one with `lanemesh up`\n"


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_a_gateway_that_never_answers_is_exit_4(gateway, run, stream):
    gateway.silent = True
    gateway.replies["StreamSearch"] = []
    begun = time.monotonic()
    outcome = run("ask", "x", "--deadline", "100ms", *stream)
    assert outcome.code == 4
    assert time.monotonic() - begun >= 0.1
    assert not gateway.released.is_set()


def test_an_absurd_deadline_is_no_deadline_at_all(gateway, run):
    gateway.replies["Search"] = answer()
    assert run("ask", "x", "--deadline", "99999999999s").code == 0


def test_a_deadline_of_nothing_is_exit_4_without_a_call(gateway, run):
    assert run("ask", "x", "--deadline", "0").code == 4
    assert run("ask", "x", "--deadline=-5").code == 4
    assert gateway.requests == []


def test_hostile_text_is_shown_as_data(gateway, run):
    reply = answer(HOSTILE)
    reply.bibliography[0].title = HOSTILE
    reply.ledger[1].message = HOSTILE
    reply.ledger[1].reason = HOSTILE
    reply.disagreements[0].topic = HOSTILE
    reply.missing[0] = HOSTILE
    reply.trace_id = HOSTILE
    gateway.replies["Search"] = reply
    out = run("ask", "x").out
    assert out.count("[bold]red[/bold] tfel") >= 5
    assert not set(out) & set("\x1b\x07\x9b\u202e")
    assert "owned" not in out


def events() -> list[search_pb2.StreamSearchResponse]:
    plan = search_pb2.QueryPlan(lanes=[search_pb2.LanePlan(lane="keyword", included=True)], deadline_ms=5000)
    ended = search_pb2.LaneEnded(row=answer().ledger[0], waiting=["kg"])
    return [
        search_pb2.StreamSearchResponse(plan=plan),
        search_pb2.StreamSearchResponse(lane=ended),
        search_pb2.StreamSearchResponse(final=answer()),
    ]


def test_a_streamed_question_shows_lanes_as_they_end(gateway, run):
    gateway.replies["StreamSearch"] = events()
    out = run("ask", "x", "--stream").out
    lines = out.splitlines()
    assert lines[0] == "asking keyword, 5000 ms"
    assert lines[1] == "keyword OK after 250 ms, 4 results, waiting for kg"
    assert "Keys are UUIDs [1]." in out


def test_a_streamed_question_in_json_is_one_object_per_event(gateway, run):
    gateway.replies["StreamSearch"] = events()
    lines = [json.loads(line) for line in run("ask", "x", "--stream", "--json").out.splitlines()]
    assert [list(line) for line in lines] == [["plan"], ["lane"], ["final"]]
    assert lines[2]["final"]["degradation"] == "L1"


def test_a_stream_without_an_answer_is_an_error(gateway, run):
    gateway.replies["StreamSearch"] = events()[:1]
    outcome = run("ask", "x", "--stream")
    assert outcome.code == 1
    assert "without an answer" in outcome.err


def test_a_trace_is_a_link_where_jaeger_is_known(gateway, run, monkeypatch):
    monkeypatch.setenv("LANEMESH_JAEGER_URL", "http://127.0.0.1:16686/")
    gateway.replies["Search"] = answer()
    assert f"trace http://127.0.0.1:16686/trace/{'ab' * 16}\n" in run("ask", "Why?").out
    reply = answer()
    reply.trace_id = "../../evil"
    gateway.replies["Search"] = reply
    assert "trace ../../evil\n" in run("ask", "Why?").out


def test_a_question_that_fails_says_which_trace_tells_more(gateway, run):
    gateway.error = LanemeshError("broken")
    outcome = run("ask", "Why?")
    trace_id = gateway.metadata["traceparent"].split("-")[1]
    assert outcome.err == f"lanemesh: broken (trace {trace_id})\n"
    told = json.loads(run("ask", "Why?", "--json").err)
    assert told["error"]["trace_id"] == gateway.metadata["traceparent"].split("-")[1]
