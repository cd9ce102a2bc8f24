"""How requests to ArangoDB leave the process: no retries, no redirects, and never longer than the ambient deadline."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from arango.http import HTTPClient
from arango.response import Response
from requests import Session
from requests.adapters import HTTPAdapter

from services.runtime import deadline


def time_left(most: float) -> float:
    """Seconds the next request may take; DeadlinePassed when there are none."""
    until = deadline.current()
    return most if until is None else min(most, until.require())


class DeadlineClient(HTTPClient):
    """An HTTP client whose time-out is what remains; `most` bounds requests of calls without a deadline."""

    def __init__(self, connections: int, most: float) -> None:
        self._connections = connections
        self._most = most

    def create_session(self, host: str) -> Session:  # noqa: ARG002  the library's signature
        """One pool of connections, blind to the proxies and passwords of the environment."""
        session = Session()
        session.trust_env = False
        adapter = HTTPAdapter(pool_maxsize=self._connections, pool_block=True, max_retries=0)
        for scheme in ("http://", "https://"):
            session.mount(scheme, adapter)
        return session

    def send_request(
        self,
        session: Session,
        method: str,
        url: str,
        headers: MutableMapping[str, Any] | None = None,
        params: MutableMapping[str, str] | None = None,
        data: Any = None,
        auth: tuple[str, str] | None = None,
    ) -> Response:
        """Sends one request within the time left."""
        reply = session.request(
            method,
            url,
            params=params,
            data=data.encode() if isinstance(data, str) else data,
            headers=headers,
            auth=auth,
            timeout=time_left(self._most),
            allow_redirects=False,
        )
        return Response(
            method=method,
            url=reply.url,
            headers=reply.headers,
            status_code=reply.status_code,
            status_text=reply.reason,
            raw_body=reply.text,
        )
