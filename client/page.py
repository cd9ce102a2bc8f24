"""The answer as a page for people: the text, its sources, what disagrees, what is missing, and what each lane did."""

from __future__ import annotations

from lanemesh.v1 import evidence_pb2, fusion_pb2, search_pb2
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from client import tracing, waterfall
from client.text import clean, day, one_line
from services.runtime.jsonform import name_of

OTHER_RESULTS = 5


def show(console: Console, reply: search_pb2.SearchResponse) -> None:
    """Prints the page."""
    _answer(console, reply)
    _sources(console, reply)
    _others(console, reply)
    _disagreements(console, reply)
    _missing(console, reply)
    _heading(console, "Lanes")
    waterfall.draw(console, reply.ledger)
    _footer(console, reply)


def _heading(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", "bold"))


def _indented(console: Console, text: Text, columns: int = 2) -> None:
    console.print(Padding(text, (0, 0, 0, columns), expand=False))


def _answer(console: Console, reply: search_pb2.SearchResponse) -> None:
    if reply.answer.strip():
        console.print(Text(clean(reply.answer).strip()))
    else:
        console.print(Text("No evidence supports an answer.", "yellow"))
    for sentence in reply.sentences:
        if not sentence.supported:
            _indented(console, Text(f"unsupported: {one_line(sentence.text)}", "yellow"))
    if reply.fusion_error:
        reason = one_line(reply.fusion_error)
        console.print(Text(f"Fusion did not answer ({reason}); results stand in the lanes' own order.", "yellow"))


def _sources(console: Console, reply: search_pb2.SearchResponse) -> None:
    if not reply.bibliography:
        return
    _heading(console, "Sources")
    projects = {evidence.document.id: evidence.document.project for evidence in reply.results}
    for entry in reply.bibliography:
        facts = [projects.get(entry.id) or entry.domain, day(entry.published_at), ", ".join(entry.lanes)]
        if not entry.HasField("published_at"):
            facts[1] = ""
        _source(console, f"[{entry.marker}]", entry.title or entry.id, facts, entry.url)


def _others(console: Console, reply: search_pb2.SearchResponse) -> None:
    cited = {entry.id for entry in reply.bibliography}
    others = [evidence for evidence in reply.results if evidence.document.id not in cited]
    if not others:
        return
    _heading(console, "Also found" if cited else "Found")
    for evidence in others[:OTHER_RESULTS]:
        document = evidence.document
        _source(console, "-", document.title or document.id, _facts(evidence), document.url)
    if len(others) > OTHER_RESULTS:
        _indented(console, Text(f"and {len(others) - OTHER_RESULTS} more", "dim"))


def _facts(evidence: evidence_pb2.Evidence) -> list[str]:
    document = evidence.document
    date = day(document.published_at) if document.HasField("published_at") else ""
    marks = [word for word, holds in (("stale", evidence.stale), ("simulated", evidence.simulated)) if holds]
    return [document.project, date, ", ".join(evidence.lanes), *marks]


def _source(console: Console, marker: str, title: str, facts: list[str], url: str) -> None:
    known = " · ".join(one_line(fact) for fact in facts if fact)
    line = Text(f"{marker:>4} ")
    line.append(one_line(title), "bold")
    line.append(f"  {known}", "dim")
    console.print(line)
    if url:
        # Never broken: a line break would make it two halves of an address.
        console.print(Text(f"     {one_line(url)}", "dim"), soft_wrap=True)


def _disagreements(console: Console, reply: search_pb2.SearchResponse) -> None:
    if not reply.disagreements:
        return
    _heading(console, "Sources disagree")
    for item in reply.disagreements:
        severity = name_of(fusion_pb2.Severity.DESCRIPTOR, item.severity).lower()
        resolution = name_of(fusion_pb2.ResolutionStrategy.DESCRIPTOR, item.resolution).lower()
        line = Text(one_line(item.topic), "bold")
        line.append(f" ({severity}, {resolution}): {one_line(item.explanation)}", "not bold")
        _indented(console, line)
        for claim in item.claims:
            stands = " (stands)" if claim.citation.document_id == item.preferred_document_id else ""
            _indented(console, _claim(claim, stands), 4)


def _claim(claim: fusion_pb2.Claim, stands: str) -> Text:
    text = Text(f"{one_line(claim.citation.document_id)}{stands}: ")
    text.append(f'"{one_line(claim.citation.passage)}"')
    return text


def _missing(console: Console, reply: search_pb2.SearchResponse) -> None:
    if not reply.missing:
        return
    _heading(console, "Missing")
    for sentence in reply.missing:
        _indented(console, Text(one_line(sentence)))


def _footer(console: Console, reply: search_pb2.SearchResponse) -> None:
    level = name_of(search_pb2.Degradation.DESCRIPTOR, reply.degradation)
    console.print()
    trace = one_line(tracing.where(reply.trace_id))
    # An address must stay whole to be followed.
    console.print(Text(f"degradation {level} · {reply.elapsed_ms:.0f} ms · trace {trace}", "dim"), soft_wrap=True)
