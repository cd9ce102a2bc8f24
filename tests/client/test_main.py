from __future__ import annotations

import json
import sys
import types

import pytest

from client import lanes, main


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["eval"]])
def test_an_unknown_command_is_one_line_and_exit_2(run, arguments):
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("lanemesh: ")
    assert outcome.err.count("\n") == 1


def test_bench_gets_the_rest_of_the_arguments(run, monkeypatch):
    module = types.ModuleType("bench.main")
    given = []
    module.main = lambda arguments: given.extend(arguments) or 7
    monkeypatch.setitem(sys.modules, "bench.main", module)
    assert run("bench", "--json", "-x", "a").code == 7
    assert given == ["--json", "-x", "a"]


def test_bench_that_is_not_there_is_an_error_of_one_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "bench.main", None)
    outcome = run("bench")
    assert outcome.code == 1
    assert outcome.err.startswith("lanemesh: bench: ")


def test_the_unexpected_is_one_line_too(run, monkeypatch):
    async def broken(arguments):
        raise KeyError("x\ny")

    monkeypatch.setitem(main.SUBCOMMANDS, "lanes", ("", lanes.register, broken))
    outcome = run("lanes")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "KeyError" in outcome.err
    assert json.loads(run("lanes", "--json").err)["error"]["reason"] == "INTERNAL"


def test_ctrl_c_leaves_quietly(run, monkeypatch):
    async def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setitem(main.SUBCOMMANDS, "lanes", ("", lanes.register, interrupted))
    outcome = run("lanes")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "")
