"""What words mean to a graph: stop words, words that tell what is asked, and a thesaurus of relations."""

from __future__ import annotations

from services.kg.words import singular

_SUFFIXES = ("ency", "ancy", "ence", "ance", "ing", "ion", "ive", "ed", "ee", "er", "or", "e", "y")
_LEAST_STEM = 3
_LONG_STEM = 6


def _words(listed: str) -> frozenset[str]:
    return frozenset(singular(word) for word in listed.split())


_STOP_WORDS = """
    a about above after again against all also am an and any are as at be because been before being below between
    both but by can cannot could did do does doing down during each few for from further get give had has have having
    he her here hers him his how i if in into is it its itself just list made make many may me might more most much must
    my name no nor not of off on once one only or other our out over please same shall she should show so some such
    tell than that the their them then there these they this those through to too two under until up upon us very was we
    were what when where which while who whom whose why will with within without would you your
"""
STOP_WORDS = _words(_STOP_WORDS)

# Plain words of questions: as the name of something they are rarer than as themselves.
_COMMON_WORDS = """
    actor album article artist author audience band book business call capital case cast city code company connect
    connection considered country date depend describe described direct directed director disease document drug event
    example fall family famous film find first gene genre go good great group had happen help home kind know known
    language last like list listed look main mean movie movies need new old organisation organization paper part people
    person picture place play popular primary product project protein question rate rated rating release released river
    role school script see service similar song sort species spoken star starred start state story system table talk
    team term thing think time title topic town type university use user using version view watch way word work world
    write writer written wrote year
"""
COMMON_WORDS = _words(_COMMON_WORDS)

# The answer shares something with the entity asked about, without being it: there and back again by one relation.
RETURN_WORDS = _words("""
    same share shared sharing together co jointly common costar coauthor cowriter codirector colleague fellow
""")
OTHER_WORDS = _words("other another else besides also")
PATH_WORDS = _words("""
    connect connected connection path route link linked between relate related relation relationship reach via through
""")
ACROSS_WORDS = _words("across everywhere elsewhere")
PROJECT_WORDS = _words("project team repository repo codebase company organisation organization")

# Question words that say of what type the answer is.
ASKED_TYPES = {
    "who": frozenset({"person", "people", "org", "team", "organization", "organisation"}),
    "whom": frozenset({"person", "people", "org", "team", "organization", "organisation"}),
    "where": frozenset({"gpe", "loc", "place", "city", "country", "location", "region"}),
    "when": frozenset({"date", "time", "year", "event"}),
}

# Each line is one meaning: words that questions and relation names use for it.
_MEANINGS = """
    write wrote written writer writing author authored screenwriter scriptwriter screenplay script story creator pen
    direct director filmmaker helmed
    star starred starring act acted acting actor actress cast appear appeared appearance play
    star actor cast played performer costar role feature
    release released year date when premiere came
    release publish publication issue
    genre kind type sort style category class classification fall
    language languages spoken speak tongue
    tag describe description word term topic about subject keyword theme label
    rating rated rate review think opinion considered score good audience
    vote popular popularity famous known
    produce producer produced production studio maker
    compose composer composed music soundtrack song
    call invoke request connect communicate contact talk
    use apply rely depend dependency require need adopt employ built
    depend dependency rely require need
    own owner team responsible maintain maintainer belong possess hold
    maintain maintainer maintained keep
    lead leader head manage manager boss run chief ceo president
    part belong member contain include component inside consist division subsidiary subsidiary parent
    store stored storage save persist table database keep data
    publish emit send produce event fire
    subscribe subscriber subscription consume consumer listen receive handle event
    handle process deal treat
    implement provide realise realize support
    reference refer cite mention point link foreign
    represent mean stand model
    affect affected impact hit hurt damage broke break incident outage
    cause caused trigger triggered reason why led lead blame
    change changed modify alter fix update
    happen happened occur during take place
    place location located where city country situated lie in based headquarter
    birth born birthplace birthday native
    death die died dead killed
    cause reason how
    spouse married marry wife husband partner wed
    parent father mother dad mum mom son daughter child
    child children son daughter kid offspring parent
    sibling brother sister
    family relative relation
    nationality citizen citizenship country nation
    ethnicity ethnic race
    religion religious faith belief church
    profession occupation job career work living
    employ employer employed work company
    education educated study studied school university college institution alma graduate degree attend
    gender sex
    found founder founded founding establish established start create creator created inception
    made composed composition consist contain component ingredient material
    translate translated translation
    orbit moon satellite
    location located set setting
    invent inventor invented discover discoverer discovered
    win won winner award prize receive honour honor
    team club plays member squad
    capital seat
    border neighbour neighbor adjacent
    population inhabitant people live
    currency money
    office position title hold serve served
    influence influenced inspire inspired
    student pupil teacher taught advisor
    cost price worth
    version release
    succeed successor follow sequel next
    precede predecessor prequel previous before
    treat treatment cure drug therapy medicine indicated indication remedy
    symptom sign
"""


def stem(word: str) -> str:
    """What the forms of a word have in common, near enough."""
    word = singular(word)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _LEAST_STEM:
            word = word.removesuffix(suffix)
            break
    if len(word) > _LEAST_STEM and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word.removesuffix("at") if len(word) >= _LONG_STEM else word


def _by_stem() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_MEANINGS.strip().splitlines()):
        for word in line.split():
            found.setdefault(stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


_BY_STEM = _by_stem()


def meanings(word: str) -> frozenset[int]:
    """The meanings a word may have; empty when the thesaurus does not know it."""
    return _BY_STEM.get(stem(word), frozenset())


def telling(key: str) -> bool:
    """Whether a name says enough to be looked for in running text: not when it is all stop words."""
    return not all(word in STOP_WORDS for word in key.split())
