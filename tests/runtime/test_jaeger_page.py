"""What the page of a trace makes of Jaeger's reply, run by Node where there is one; tests/trace has Jaeger serve it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from services.runtime import jaeger

PAGE = (jaeger.PAGE / "index.html").read_text(encoding="utf-8")
RUN = "\nconsole.log(JSON.stringify(rows(JSON.parse(require('fs').readFileSync(0))).map(row => " + (
    "[row.depth, row.process, row.name, row.start, row.ms, row.failed, notes(row)])))"
)
SECOND = 1_795_034_841_000_000_000


def span(name: str, parent: str, start_us: int, end_us: int, **said: Any) -> dict[str, Any]:
    kinds = {str: "stringValue", float: "doubleValue", int: "intValue"}
    return {
        "spanId": name,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(SECOND + start_us * 1000),
        "endTimeUnixNano": str(SECOND + end_us * 1000),
        "attributes": [
            {"key": f"lanemesh.{key}", "value": {kinds[type(value)]: str(value) if isinstance(value, int) else value}}
            for key, value in said.items()
        ],
        "status": {},
    }


def resource(process: str, *spans: dict[str, Any]) -> dict[str, Any]:
    name = {"key": "service.name", "value": {"stringValue": process}}
    return {"resource": {"attributes": [name]}, "scopeSpans": [{"spans": list(spans)}]}


def rows(*resources: dict[str, Any]) -> list[list[Any]]:
    found = re.search(r"<script>(.*)</script>", PAGE, re.DOTALL)
    assert found
    reply = json.dumps({"result": {"resourceSpans": resources}})
    done = subprocess.run(["node", "-e", found[1] + RUN], input=reply, capture_output=True, text=True, check=True)
    read: list[list[Any]] = json.loads(done.stdout)
    return read


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node to run the page's script")
def test_spans_become_a_tree_in_the_order_of_time() -> None:
    lane = span(
        "lane web", "root", 2_500, 1_002_500, status="TIMEOUT", budget_granted_ms=1000.0, budget_spent_ms=1000.0
    )
    lane |= {"status": {"code": 2}, "events": [{"name": "hedge"}]}
    plan = span("plan", "root", 500, 1_250)
    found = rows(
        resource("web", span("provider brave", "gone", 4_000, 5_000, outcome="EMPTY", results=0)),
        resource("gateway", lane, plan, span("root", "", 0, 1_003_000, degradation="L1", results=3)),
    )
    assert found == [
        [0, "gateway", "root", 0, 1003, False, "L1 · 3 results"],
        [1, "gateway", "plan", 0.5, 0.75, False, ""],
        [1, "gateway", "lane web", 2.5, 1000, True, "TIMEOUT · 1000 of 1000 ms · ⚑ hedge"],
        # Whose parent is not there still shows.
        [0, "web", "provider brave", 4, 1, False, "EMPTY · 0 results"],
    ]


def test_the_page_needs_nothing_from_elsewhere_and_writes_text_only() -> None:
    assert "http" not in PAGE
    assert "innerHTML" not in PAGE
