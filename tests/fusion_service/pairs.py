"""Two hundred seeded pairs of statements: half of them contradict each other, half only look as if they did."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import NamedTuple

SEED = 20_261_118

_NUMERIC = (
    ("A {thing} expires after {one}.", "A {thing} expires after {other}."),
    ("The {thing} is kept for {one} and then deleted.", "After {other} the {thing} is deleted; it is kept until then."),
    ("By default the {thing} lasts {one}.", "The {thing} lasts {other} by default."),
)
_THINGS = ("web session", "refresh token", "audit log entry", "password reset link", "shopping cart", "stock hold")
_UNEQUAL = (
    ("30 minutes", "45 minutes"), ("30 days", "2 weeks"), ("90 s", "5 minutes"), ("1 hour", "30 min"),
    ("12 hours", "2 days"), ("three days", "10 days"),
)  # fmt: skip
_EQUAL = (
    ("30 minutes", "half of 60 minutes, 30 min"), ("2 weeks", "14 days"), ("90 s", "1.5 minutes"),
    ("1 hour", "60 minutes"), ("48 hours", "2 days"), ("about 30 days", "28 days"),
)  # fmt: skip
_MONEY = (
    ("The acquisition of Harbor Labs cost $3 million.", "The acquisition of Harbor Labs cost $3.0m.", False),
    ("The acquisition of Harbor Labs cost $3 million.", "The acquisition of Harbor Labs cost $4.5 million.", True),
    ("An upload may have at most 25 MB.", "An upload may have at most 0.025 GB.", False),
    ("The upload limit is exactly 25 MB.", "The upload limit is exactly 100 MB.", True),
    ("The gateway accepts at least 100 requests per tenant.", "The gateway accepts 250 requests per tenant.", False),
    ("The gateway accepts at most 100 requests per tenant.", "The gateway accepts 250 requests per tenant.", True),
    ("Availability of checkout was 99.9 % in March.", "Availability of checkout was 98.1 % in March.", True),
    ("Availability of checkout was 99.9 % in March.", "Availability of checkout was 99.90% in March.", False),
)
_EVENTS = ("launch of the mobile app", "migration to UUID keys", "split of the billing service", "audit of the vault")
_DATES = (
    ("The {event} took place in {one}.", "The {event} took place in {other}."),
    ("In {one} came the {event}.", "The {event} came in {other}."),
)
_OTHER_DATES = (("2023", "2025"), ("May 2024", "June 2024"), ("2024-03-01", "2024-04-15"))
_SAME_DATES = (("2024", "May 2024"), ("2024-05-12", "12 May 2024"), ("March 2023", "Mar 2023"))
_ACTS = (
    ("PaymentAdapter", "retries", "retry", "a failed charge automatically"),
    ("EdgeProxy", "forwards", "forward", "the client address to the services"),
    ("ContactHub", "stores", "store", "the birthday of a customer"),
    ("TokenIssuer", "signs", "sign", "every access token with the new key"),
    ("StockKeeper", "reserves", "reserve", "an item before the payment"),
    ("The vault", "encrypts", "encrypt", "a backup at rest"),
    ("The indexer", "reads", "read", "a changed file again"),
    ("The scheduler", "restarts", "restart", "a crashed worker"),
)
_CAUSES = ("A larger batch size", "The new compression", "Connection pooling", "Prefetching the catalogue")
_AFFECTED = ("the latency of checkout requests", "the memory use of the indexer", "the cost of a nightly export")
_UNRELATED = (
    ("The session cache holds 30 entries per node.", "A web session expires after 45 minutes of inactivity."),
    ("Order 17 was shipped from the Bremen warehouse.", "The Bremen warehouse employs 240 people in two shifts."),
    ("The price of the blue kettle fell in spring.", "The spring release raised the price ceiling of vouchers."),
    ("PaymentAdapter retries a charge three times.", "StockKeeper retries a reservation five times."),
    ("Invoices are not sent on Sundays.", "Parcels are sent on Sundays in some cities."),
    ("The retry policy was written in 2021.", "The refund policy for retry charges was revised in 2024."),
    ("Revenue grew by 5 % in 2023.", "Revenue grew by 9 % in 2024."),
    ("The search index uses 4 GB of memory.", "The search page loads in 4 s on a slow line."),
    ("The mobile team has no budget for tests.", "The mobile app runs a test before each payment."),
    ("Warehouse staff scan every parcel twice.", "Some parcels leave the warehouse at night."),
)


class Pair(NamedTuple):
    """Two statements and whether they contradict each other."""

    kind: str
    one: str
    other: str
    contradicts: bool


def seeded() -> list[Pair]:
    """100 pairs that contradict each other and 100 that do not, drawn from every kind."""
    everything = [*_numeric(), *_dated(), *_denied(), *_directed()]
    everything += [Pair("number", *pair) for pair in _MONEY]
    everything += [Pair("unrelated", *pair, False) for pair in _UNRELATED]
    random = Random(SEED)
    random.shuffle(everything)
    chosen = [[pair for pair in everything if pair.contradicts is wanted][:100] for wanted in (True, False)]
    return chosen[0] + chosen[1]


def unrelated() -> list[tuple[str, str]]:
    """Statements that share words and nothing else."""
    return list(_UNRELATED)


def _numeric() -> list[Pair]:
    pairs = []
    for (one, other), thing in product(_NUMERIC, _THINGS):
        for values, contradicts in [(pair, True) for pair in _UNEQUAL] + [(pair, False) for pair in _EQUAL]:
            texts = (one.format(thing=thing, one=values[0]), other.format(thing=thing, other=values[1]))
            pairs.append(Pair("number", *texts, contradicts))
    return pairs[::3]


def _dated() -> list[Pair]:
    pairs = []
    for (one, other), event in product(_DATES, _EVENTS):
        for values, contradicts in [(pair, True) for pair in _OTHER_DATES] + [(pair, False) for pair in _SAME_DATES]:
            texts = (one.format(event=event, one=values[0]), other.format(event=event, other=values[1]))
            pairs.append(Pair("date", *texts, contradicts))
    return pairs


def _denied() -> list[Pair]:
    pairs = []
    for subject, does, do, what in _ACTS:
        said = f"{subject} {does} {what}."
        pairs += [Pair("negation", said, f"{subject} {form} {do} {what}.", True) for form in ("does not", "never")]
        pairs += [Pair("negation", said, f"Today {subject} {does} {what}, as agreed.", False)]
        pairs += [Pair("negation", f"{subject} does not {do} {what}.", f"{subject} never {does} {what}.", False)]
    return pairs


def _directed() -> list[Pair]:
    pairs = []
    for cause, affected in product(_CAUSES, _AFFECTED):
        said = f"{cause} reduces {affected}."
        pairs += [Pair("negation", said, f"{cause} increases {affected}.", True)]
        pairs += [Pair("negation", said, f"{cause} does not reduce {affected}.", True)]
        pairs += [Pair("negation", said, f"{cause} lowered {affected} considerably.", False)]
    return pairs
