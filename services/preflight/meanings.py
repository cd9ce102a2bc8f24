"""Ambiguity by name: words that mean several things, when nothing in the question says which."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_DISAMBIGUATE

from services.preflight.advice import Advice
from services.preflight.question import Question, Word, capitalised

# Each name with at most three meanings, the commonest first.
MEANINGS: dict[str, tuple[str, ...]] = {
    "amazon": ("Amazon the company", "the Amazon rainforest", "the Amazon river"),
    "ajax": ("Ajax web requests", "the football club Ajax", "Ajax in Greek myth"),
    "apache": ("the Apache HTTP server", "the Apache Software Foundation", "the Apache people"),
    "apple": ("Apple the company", "the apple fruit"),
    "avatar": ("the film Avatar", "an avatar as a user picture", "an avatar in Hinduism"),
    "bass": ("the bass guitar", "bass, the fish", "bass in sound"),
    "bat": ("bats, the animals", "a baseball bat"),
    "bolt": ("a bolt as a fastener", "Bolt the ride company", "Usain Bolt"),
    "chrome": ("the Chrome browser", "chrome plating"),
    "cobra": ("cobras, the snakes", "the Go library Cobra"),
    "corona": ("the coronavirus", "the Sun's corona", "Corona beer"),
    "delta": ("a river delta", "Delta Air Lines", "the Delta variant"),
    "elm": ("the elm tree", "the Elm programming language"),
    "falcon": ("falcons, the birds", "the Falcon 9 rocket", "the Falcon language model"),
    "flash": ("flash memory", "Adobe Flash", "the Flash, the superhero"),
    "flink": ("Apache Flink", "Flink the delivery company"),
    "gemini": ("Google's Gemini model", "the zodiac sign Gemini", "the Gemini space programme"),
    "go": ("the Go programming language", "the board game Go"),
    "harbor": ("the Harbor container registry", "a harbor for ships"),
    "hive": ("Apache Hive", "a bee hive"),
    "jaguar": ("jaguars, the animals", "Jaguar cars"),
    "java": ("the Java programming language", "the island of Java", "java coffee"),
    "julia": ("the Julia programming language", "Julia sets in mathematics"),
    "jupiter": ("the planet Jupiter", "the Roman god Jupiter"),
    "kafka": ("Apache Kafka", "the writer Franz Kafka"),
    "lambda": ("AWS Lambda", "lambda functions in programming", "the Greek letter lambda"),
    "mercury": ("the planet Mercury", "mercury the metal", "the Roman god Mercury"),
    "mint": ("the mint plant", "Linux Mint", "a mint that makes coins"),
    "mole": ("the mole as a unit in chemistry", "moles, the animals", "a mole on the skin"),
    "mustang": ("the Ford Mustang", "mustangs, the horses"),
    "oracle": ("Oracle the company", "the Oracle database", "an oracle in antiquity"),
    "phoenix": ("the city of Phoenix", "the Phoenix web framework", "the phoenix of myth"),
    "pi": ("the number pi", "the Raspberry Pi"),
    "python": ("the Python programming language", "pythons, the snakes", "Monty Python"),
    "ruby": ("the Ruby programming language", "ruby, the gemstone"),
    "rust": ("the Rust programming language", "rust on metal", "the game Rust"),
    "saturn": ("the planet Saturn", "the Roman god Saturn", "Saturn cars"),
    "shell": ("a Unix shell", "Shell the oil company", "a sea shell"),
    "spark": ("Apache Spark", "an electric spark"),
    "spring": ("the Spring framework", "spring, the season", "a mechanical spring"),
    "storm": ("Apache Storm", "a storm in the weather"),
    "swift": ("the Swift programming language", "the SWIFT payment network", "Taylor Swift"),
    "tesla": ("Tesla the company", "Nikola Tesla", "the tesla as a unit"),
    "titan": ("Saturn's moon Titan", "the Titans of Greek myth", "the Titan submersible"),
    "turkey": ("the country Turkey", "turkeys, the birds"),
    "venus": ("the planet Venus", "the Roman goddess Venus"),
    "windows": ("Microsoft Windows", "windows of a building"),
    "zulu": ("the Zulu people", "the Zulu JDK"),
}
# Beside the name, words that leave it as open as before.
_OPEN_WORDS = """
    information info facts definition meaning overview introduction basics details speed size weight temperature
    history origin age price cost lifespan types uses symbol picture pictures big fast old large
"""
OPEN = frozenset(_OPEN_WORDS.split())


def advise(question: Question) -> Sequence[Advice]:
    """One proposal per meaning, when the name stands alone or beside words that decide nothing."""
    content = question.content
    names = [word for word in content if word.plain in MEANINGS]
    if len(names) != 1 or any(word not in names and word.plain not in OPEN for word in content):
        return ()
    word = names[0]
    # "Go" is a name only where it is written as one, or alone.
    if word.plain == "go" and (word.text != "Go" or word.start == 0) and len(question.words) > 1:
        return ()
    reason = f"“{word.text}” means several things and the question fits more than one."
    return [
        Advice(
            SUGGESTION_TYPE_DISAMBIGUATE,
            capitalised(meaning),
            _meant(question, word, meaning),
            0.8 - place / 100,
            reason,
        )
        for place, meaning in enumerate(MEANINGS[word.plain])
    ]


def _meant(question: Question, word: Word, meaning: str) -> str:
    """The question with the meaning in place of the name, or after it where words that follow would not fit."""
    if word is question.words[-1]:
        return capitalised(f"{question.text[: word.start]}{meaning}{question.text[word.end :]}")
    return f"{question.text} ({meaning})"
