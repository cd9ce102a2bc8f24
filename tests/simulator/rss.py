"""A feed, as RSS 2.0 or, at /atom, as Atom."""

from __future__ import annotations

from email.utils import format_datetime
from xml.sax.saxutils import escape

from aiohttp import web

from tests.simulator.press import STORIES, Story


def answer(_request: web.Request, path: str) -> web.Response:
    """Every story and one that is about something else."""
    if path == "/atom":
        body = f"""<?xml version="1.0" encoding="utf-8"?>
            <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en-GB"><title>The Example Papers</title>
            <rights>© The Example Papers</rights>{"".join(map(_entry, STORIES))}</feed>"""
        return web.Response(text=body, content_type="application/atom+xml")
    other = Story("Bakery opens a second shop", "https://papers.example/bakery", "It sells bread.", "Ada Quill", 1)
    body = f"""<?xml version="1.0" encoding="utf-8"?>
        <rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/">
        <channel><title>The Example Papers</title><link>https://papers.example</link><language>en-gb</language>
        <copyright>© The Example Papers</copyright>{"".join(map(_item, (other, *STORIES)))}</channel></rss>"""
    return web.Response(text=body, content_type="application/rss+xml")


def _item(story: Story) -> str:
    return f"""<item><media:title>Picture</media:title><title>{escape(story.title)}</title>
        <link>{escape(story.url)}?utm_source=rss&amp;utm_medium=feed</link>
        <description>{escape(f"<p>{story.text}</p>")}</description>
        <dc:creator>{escape(story.author)}</dc:creator>
        <pubDate>{format_datetime(story.published)}</pubDate>
        <guid isPermaLink="false">{story.hours_ago}</guid></item>"""


def _entry(story: Story) -> str:
    return f"""<entry><title>{escape(story.title)}</title><id>urn:{story.hours_ago}</id>
        <link rel="self" href="https://papers.example/self"/><link href="{escape(story.url)}"/>
        <updated>{story.published.isoformat()}</updated><author><name>{escape(story.author)}</name></author>
        <summary type="html">{escape(f"<p>{story.text}</p>")}</summary></entry>"""
