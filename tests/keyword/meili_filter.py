"""The part of Meilisearch's filter language that is documented and used, read strictly, with its folding of values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Condition = Callable[[Record], bool]

_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(>=|<=|!=|[=<>()\[\],])|([\w.:/~-]+))')
# Meilisearch cuts what it filters by.
MOST_BYTES = 468


class BadFilter(Exception):
    """Not an expression of the language."""


def fold(value: str) -> str:
    """What Meilisearch compares: neither case, compatibility forms nor surrounding space count."""
    folded = unicodedata.normalize("NFKD", value.strip()).lower()
    return folded.encode()[:MOST_BYTES].decode(errors="ignore")


def parse(expression: str, filterable: set[str]) -> Condition:
    """The condition an expression states."""
    reader = _Reader(expression, filterable)
    condition = reader.either()
    if reader.tokens:
        raise BadFilter(f"unexpected {reader.tokens[0]}")
    return condition


class _Reader:
    def __init__(self, expression: str, filterable: set[str]) -> None:
        self.filterable = filterable
        self.tokens: list[str] = []
        place = 0
        while expression[place:].strip():
            found = _TOKEN.match(expression, place)
            if found is None:
                raise BadFilter(f"unexpected characters at {place}")
            self.tokens.append(found[0].strip())
            place = found.end()

    def take(self, *wanted: str) -> str:
        if not self.tokens or (wanted and self.tokens[0] not in wanted):
            raise BadFilter(f"expected {wanted}, found {self.tokens[:1]}")
        return self.tokens.pop(0)

    def next_is(self, token: str) -> bool:
        return bool(self.tokens) and self.tokens[0] == token and bool(self.take())

    def either(self) -> Condition:
        parts = [self.both()]
        while self.next_is("OR"):
            parts.append(self.both())
        return lambda record: any(part(record) for part in parts)

    def both(self) -> Condition:
        parts = [self.single()]
        while self.next_is("AND"):
            parts.append(self.single())
        return lambda record: all(part(record) for part in parts)

    def single(self) -> Condition:
        if self.next_is("("):
            inner = self.either()
            self.take(")")
            return inner
        name = self.take()
        if name not in self.filterable:
            raise BadFilter(f"Attribute `{name}` is not filterable.")
        operator = self.take("=", ">", ">=", "<", "<=", "IN", "EXISTS", "NOT")
        if operator == "NOT":
            self.take("EXISTS")
            return lambda record: name not in record
        return self.comparison(name, operator)

    def comparison(self, name: str, operator: str) -> Condition:
        if operator == "EXISTS":
            return lambda record: name in record
        if operator in ("=", "IN"):
            wanted = self.values() if operator == "IN" else {self.value()}
            return lambda record: bool(wanted & _strings(record.get(name)))
        bound = float(self.value())
        return lambda record: any(_compare(number, operator, bound) for number in _numbers(record.get(name)))

    def values(self) -> set[str]:
        self.take("[")
        found = set()
        while not self.next_is("]"):
            found.add(self.value())
            if not self.next_is(","):
                self.take("]")
                break
        return found

    def value(self) -> str:
        token = self.take()
        # As in Meilisearch, only the quote is freed of its backslash.
        return fold(token[1:-1].replace('\\"', '"')) if token.startswith('"') else fold(token)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _strings(value: Any) -> set[str]:
    return {fold(str(each)) for each in _listed(value)}


def _numbers(value: Any) -> list[float]:
    return [each for each in _listed(value) if isinstance(each, int | float)]


def _compare(number: float, operator: str, bound: float) -> bool:
    if operator.startswith(">"):
        return number > bound or (operator == ">=" and number == bound)
    return number < bound or (operator == "<=" and number == bound)
