"""Feeds in their three forms, and what is no feed."""

from __future__ import annotations

import pytest

from services.news.feed import MAX_ENTRIES, Entry, read_feed
from services.providers.parse import read_xml
from services.runtime.errors import BadReply

RSS = """<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
    xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><channel>
    <atom:link rel="self" href="https://feed.example/rss"/><title>The Feed</title><language>en_GB</language>
    <item><media:title>No</media:title><title>Gates &amp;amp; locks</title><atom:link rel="self" href="https://no/"/>
    <link> https://feed.example/a </link><author>ada@feed.example (Ada Quill)</author>
    <content:encoded><![CDATA[<p>Water <script>x()</script>flows.</p>]]></content:encoded>
    <pubDate>Sat, 14 Mar 2026 10:26:53 +0100</pubDate></item>
    <item><title>By its guid</title><guid>https://feed.example/b</guid></item>
    <item><title>No address</title><guid isPermaLink="false">https://feed.example/c</guid></item></channel></rss>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Old</title><dc:language>de</dc:language>
    <dc:rights>frei</dc:rights></channel><item><title>Schleuse offen</title><link>https://feed.example/d</link>
    <description>Das Wasser steigt.</description><dc:date>2026-03-14T09:26:53Z</dc:date><dc:creator>Bo</dc:creator>
    </item></rdf:RDF>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr"><title>Flux</title><rights>CC BY 4.0</rights>
    <entry><title type="html">L&#39;&amp;eacute;cluse</title><link rel="enclosure" href="https://no/"/>
    <link rel="alternate" href="https://feed.example/e"/><author><name>Zo\u00e9</name></author>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">L'eau <b>monte</b>.</div></content>
    <updated>2026-03-14T09:26:53Z</updated></entry></feed>"""


def entries(text: str) -> list[Entry]:
    return read_feed(read_xml(text.encode()))


def test_rss() -> None:
    first, second, third = (entry.evidence.document for entry in entries(RSS))
    assert (first.id, first.title, first.content) == ("feed.example/a", "Gates & locks", "Water flows.")
    assert (first.author, first.language, first.licence) == ("Ada Quill", "en-GB", "From the feed The Feed")
    assert first.published_at.ToJsonString() == "2026-03-14T09:26:53Z"
    assert (second.id, second.HasField("published_at")) == ("feed.example/b", False)
    assert third.id == ""


def test_rdf() -> None:
    (document,) = (entry.evidence.document for entry in entries(RDF))
    assert (document.id, document.title, document.content) == (
        "feed.example/d",
        "Schleuse offen",
        "Das Wasser steigt.",
    )
    assert (document.author, document.language, document.licence) == ("Bo", "de", "frei")
    assert document.published_at.ToJsonString() == "2026-03-14T09:26:53Z"


def test_atom() -> None:
    (entry,) = entries(ATOM)
    document = entry.evidence.document
    assert (document.id, document.title, document.content) == ("feed.example/e", "L'écluse", "L'eau monte.")
    assert (document.author, document.language, document.licence) == ("Zoé", "fr", "CC BY 4.0")
    assert "écluse" in entry.title
    assert entry.text - entry.title == {"eau", "monte"}


def test_long_texts_are_searched_whole_and_quoted_fairly() -> None:
    (entry,) = entries(f"<rss><item><title>A</title><description>{'water ' * 100}needle</description></item></rss>")
    assert "needle" in entry.text
    assert len(entry.evidence.document.content) <= 200


def test_a_long_feed_is_read_from_its_start() -> None:
    assert len(entries(f"<rss>{'<item/>' * (MAX_ENTRIES + 1)}</rss>")) == MAX_ENTRIES


def test_an_empty_feed_is_a_feed() -> None:
    assert entries("<rss><channel><title>Quiet</title></channel></rss>") == []


@pytest.mark.parametrize("text", ["<html><body/></html>", '<x:rss xmlns:x="urn:other"/>'])
def test_other_documents_are_refused(text: str) -> None:
    with pytest.raises(BadReply):
        entries(text)
