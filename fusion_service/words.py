"""The English the fusion knows: words that carry no subject, numbers, units, negations and opposites, as data."""

from __future__ import annotations

# Words that carry no subject of their own.
_STOP_WORDS = """
    a about above additionally after again all almost also although always am among an and another any are aren't as at
    be because been before being below between both but by can cannot can't could couldn't currently did didn't do does
    doesn't doing done don't down during each either else ever every few finally first for from further furthermore had
    hadn't has hasn't have haven't having he hence her here hers herself him himself his how however i i'd if i'll i'm
    in indeed instead into is isn't it it'd it'll its itself i've just likewise many may me meanwhile might moreover
    more most much must my myself neither never next no none nonetheless nor not now of off often on once one only onto
    or other otherwise ought our ours ourselves out over overall own per perhaps please quite rather same shall she
    should shouldn't similarly since so some someone something sometimes specifically still such than that the their
    theirs them themselves then there thereby therefore these they this those though through throughout thus to together
    too toward towards under unless until up upon us usually very via was wasn't we we'd we'll were weren't we're we've
    what whatever when where whereas whether which while who whoever whom whose why will with within without won't would
    wouldn't yes yet you your yours yourself
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Words that phrase a question rather than name its subject; they help to find a sentence but are never "missing".
_PHRASING = """
    affect answer best can change code compare connect contain describe detail difference differ do example explain
    explanation fetch find get give go happen handle have help information know learn list look make mean mention need
    people project relate relationship say search see show similar similarity summarise summarize summary system talk
    team tell thing understand use user way work latest recent today yesterday current new matter exist cause belong
    want think long kind type
"""
PHRASING = frozenset(_PHRASING.split())

# Openings that lean on a sentence before them.
_LEANING = "he she it its they their this that these those such here there then thus but and or so"
LEANING = frozenset(_LEANING.split())

_FROM_TWO = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_FROM_TWO.split(), start=2)}
NUMBER_WORDS |= {word: str(10 * value) for value, word in enumerate(_TENS.split(), start=2)}

# What may follow a number and changes what it says, by its canonical name.
UNITS = {
    variant: canonical
    for canonical, variants in {
        "ms": "ms msec millisecond milliseconds",
        "us": "us µs μs microsecond microseconds",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "day": "d day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
        "kb": "kb kib kilobyte kilobytes",
        "mb": "mb mib megabyte megabytes",
        "gb": "gb gib gigabyte gigabytes",
        "tb": "tb tib terabyte terabytes",
        "%": "% percent",
        "k": "k thousand",
        "m": "m million millions",
        "bn": "bn billion billions",
        "km": "km kilometre kilometres kilometer kilometers",
        "kg": "kg kilogram kilograms",
        "eur": "€ eur euro euros",
        "usd": "$ usd dollar dollars",
        "gbp": "£ gbp pound pounds",
    }.items()
    for variant in variants.split()
}

NEGATIONS = frozenset({"no", "not", "never", "none", "nor", "neither", "without", "cannot", "hardly", "little"})

_OPPOSITES = """
    accept reject, allow deny, allow forbid, allow refuse, before after, begin end, enable disable, increase decrease,
    rise fall, raise lower, grow shrink, include exclude, win lose, gain loss, pass fail, success failure, true false,
    open close, start stop, up down, more less, more fewer, above below, over under, maximum minimum, most least,
    first last, synchronous asynchronous, mutable immutable, required optional, public private, encrypted plain,
    add remove, internal external, support oppose, approve reject, profit loss, hot cold, high low, always never
"""
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES.split(","):
    _one, _other = _pair.split()
    OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
    OPPOSITES[_other] = OPPOSITES.get(_other, frozenset()) | {_one}

# Phrases of page furniture; a sentence with one of them answers nothing.
BOILERPLATE = (
    "all rights reserved",
    "click here",
    "cookie policy",
    "cookies to",
    "enable javascript",
    "privacy policy",
    "read more",
    "sign in",
    "sign up",
    "skip to content",
    "subscribe",
    "table of contents",
    "terms of service",
    "we use cookies",
)
