"""Questions of fields nobody prepared the lane for: its answers come from the graph's own names and relations."""

from __future__ import annotations

import pytest
from lanemesh.v1.index_pb2 import Relation

from tests.kg.conftest import titles

FACTS = """
    Zolotine|inhibits|KRA-7
    KRA-7|encoded_by|KRAS3
    Zolotine|contraindicated_in|Peptic ulcer
    Zolotine|interacts_with|Warfarex
    Warfarex|has_side_effect|Nosebleed
    Varnia|hasCapital|Lotheim
    Varnia|sharesBorderWith|Ostia
    Varnia|sharesBorderWith|Kelmark
    Lotheim|mayor|Ada Brunn
    Lotheim|twinnedWith|Brisk
    Ostia|officialLanguage|Ostish
    Kelmark|officialLanguage|Kelmish
    The Capital|author|Robin Menasse
    The Capital|translated_into|Ostish
    Robin Menasse|/people/person/place_of_birth|Brisk
    Robin Menasse|/business/employment_tenure/employer|Quillon Corporation
    Quillon Corporation|http://example.test/ontology/chiefExecutive|Sol Adeyemi
    Ferros|orbits|Lonuus
    Lonuus|made_up_of|methane
    Lonuus|frobnication|Grindle
    北京|首都|中国
    中国|货币|人民币
    กรุงเทพ|เมืองหลวง|ประเทศไทย
    대한민국|수도|서울
    Ελλάδα|πρωτεύουσα|Αθήνα
    Jörg Müller-Öhler|geboren_in|Straßenfurt
"""


def facts() -> list[Relation]:
    parts = (line.strip().split("|") for line in FACTS.strip().splitlines())
    return [Relation(head=head, relation=relation, tail=tail) for head, relation, tail in parts]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("what does Zolotine inhibit", {"KRA-7"}),
        ("in which conditions is zolotine contraindicated?", {"Peptic ulcer"}),
        ("which gene encodes the protein inhibited by Zolotine", {"KRAS3"}),
        ("what side effects do drugs that interact with Zolotine have", {"Nosebleed"}),
        ("Which countries share a border with Varnia?", {"Ostia", "Kelmark"}),
        ("who is the mayor of the capital of Varnia", {"Ada Brunn"}),
        ("who is the mayor of the capital of varnia", {"Ada Brunn"}),
        ("which cities are twinned with the capital of Varnia", {"Brisk"}),
        ("what are the official languages of countries that share a border with Varnia", {"Ostish", "Kelmish"}),
        ("who wrote the capital?", {"Robin Menasse"}),
        ("into which languages was The Capital translated", {"Ostish"}),
        ("where was the author of The Capital born", {"Brisk"}),
        ("who runs the company that Robin Menasse works for", {"Sol Adeyemi"}),
        ("list the employees of Quillon Corporation", {"Robin Menasse"}),
        ("what is the planet Ferros orbits composed of", {"methane"}),
        ("北京是哪个国家的首都？", {"中国"}),
        ("กรุงเทพเป็นเมืองหลวงของประเทศอะไร", {"ประเทศไทย"}),
        ("대한민국의 수도는 어디입니까?", {"서울"}),
        ("Ποια είναι η πρωτεύουσα της ΕΛΛΆΔΑ;", {"Αθήνα"}),
        ("Wo wurde jorg muller ohler geboren?", {"Straßenfurt"}),
    ],
)
async def test_relations_are_understood_by_their_own_words(store, ask, question: str, answers: set[str]) -> None:
    await store(*facts())
    assert set(titles(await ask(question))[: len(answers)]) == answers


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what is the whatnot of the planet Ferros orbits", "Grindle"),
        ("which zookeeper has the wombat whose author is Robin Menasse", "Ostish"),
        ("what is the currency of 中国", "人民币"),
    ],
)
async def test_a_hop_that_no_word_tells_is_tried(store, ask, question: str, answer: str) -> None:
    await store(*facts())
    assert answer in titles(await ask(question))


async def test_a_relation_is_told_without_its_namespace(store, ask) -> None:
    await store(*facts())
    told = (await ask("where was Robin Menasse born")).evidence[0]
    assert told.document.content.startswith("Robin Menasse has place of birth Brisk.")
    assert list(told.graph.relation_types) == ["/people/person/place_of_birth"]


async def test_a_name_that_is_a_relation_of_another_is_not_mentioned(store, ask) -> None:
    await store(*facts())
    about_country = await ask("who is the mayor of the capital of Varnia")
    assert [linked.name for linked in about_country.entities] == ["Varnia"]
    about_book = await ask("who wrote The Capital about Varnia")
    assert {linked.name for linked in about_book.entities} == {"The Capital", "Varnia"}
