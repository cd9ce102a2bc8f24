"""The extractive answer."""

from __future__ import annotations

from fusion_service.passages import Source, index
from fusion_service.question import ask
from fusion_service.synthesise import SENTENCES, short_list, synthesise
from tests.fusion_service.samples import source

QUERY = "How often does PaymentGateway retry a charge?"
GOOD = "PaymentGateway retries a failed charge three times."


def chosen(*contents: str, query: str = QUERY, tokens: int = 2_000, groups: str = "") -> list[str]:
    sources: list[Source] = []
    for place, content in enumerate(contents):
        sources.append(source(str(place), content))
        sources[-1].group = groups.split()[place] if groups else "similar"
    return [passage.text for passage in synthesise(short_list(ask(query, []), index(sources)), tokens)]


def test_sentences_that_answer_are_chosen() -> None:
    assert chosen(f"The office is blue. {GOOD} Lunch is at noon on weekdays.") == [GOOD]


def test_questions_headings_code_rows_and_furniture_are_not_answers() -> None:
    assert (
        chosen(
            "# PaymentGateway retry charge\n\n"
            "Does PaymentGateway retry the charge often?\n\n"
            "| PaymentGateway | retry | charge |\n\n"
            "retry = PaymentGateway(charge); charge = retry(PaymentGateway);\n\n"
            "Sign up to read how PaymentGateway can retry a charge.\n\n"
            "```\nPaymentGateway retries the charge.\n```"
        )
        == []
    )


def test_nothing_is_said_twice() -> None:
    assert chosen(GOOD, "PaymentGateway retries every failed charge three times.") == [GOOD]


def test_a_sentence_about_another_part_of_the_question_is_preferred() -> None:
    answer = chosen(
        "Ledger books a refund nightly. Ledger books refund rows again. Ledger also writes the audit trail.",
        query="ledger refund audit",
    )
    assert "Ledger also writes the audit trail." in answer


def test_groups_stand_in_order_local_graph_similar() -> None:
    logged = "PaymentGateway logs any charge into the nightly audit."
    watched = "The retry daemon watches PaymentGateway, says Priya."
    contents = [logged, watched, GOOD]
    assert chosen(*contents, groups="similar graph local") == contents[::-1]


def test_the_answer_keeps_within_its_tokens() -> None:
    words = ["alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega", "theta", "lambda", "epsilon"]
    contents = [f"PaymentGateway may retry {word} {word}s{word} {word}x{word}." for word in words]
    assert len(chosen(*contents)) == SENTENCES
    answer = chosen(*contents, tokens=30)
    assert 0 < sum(map(len, answer)) <= 30 * 4
    assert chosen(*contents, tokens=1) == []


def test_a_heading_tells_what_a_sentence_is_about() -> None:
    sentence = "Whatever failed is sent again by the acquirer."
    assert chosen(f"Opening words of it.\n\n## Charge retry\n\n{sentence}\n\n## Else\n\nBlue walls help.") == [sentence]


def test_a_query_without_content_words_gets_the_opening_sentences() -> None:
    assert chosen("The band sang that song in Oslo. Another fact stands here.", query="who is it")[0].startswith(
        "The band"
    )
