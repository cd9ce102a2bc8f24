"""A small client of the Kubernetes API that keeps the warnings it is sent."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

Object = dict[str, Any]


class Refused(Exception):
    """The server's own words."""


@dataclass
class Kube:
    """One API server."""

    port: int
    token: str
    authority: Path
    warnings: list[str] = field(default_factory=list)
    _resources: dict[tuple[str, str], tuple[str, bool]] = field(default_factory=dict)

    def call(self, method: str, path: str, body: Object | None = None, **query: str) -> Object:
        """One request; Refused when the server does not do it."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=ssl.create_default_context(cafile=str(self.authority))
        )
        try:
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
            content = None if body is None else json.dumps(body)
            connection.request(method, f"{path}?{urlencode(query)}" if query else path, content, headers)
            reply = connection.getresponse()
            text = reply.read().decode()
            self.warnings += reply.headers.get_all("Warning") or []
        finally:
            connection.close()
        if reply.status >= 400:
            raise Refused(text)
        found: Object = json.loads(text) if text.startswith("{") else {"text": text}
        return found

    def path(self, thing: Mapping[str, Any], namespace: str) -> str:
        """Where objects of the kind of `thing` are."""
        version = str(thing["apiVersion"])
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        key = (version, str(thing["kind"]))
        if key not in self._resources:
            for resource in self.call("GET", root)["resources"]:
                if "/" not in resource["name"]:
                    self._resources[version, resource["kind"]] = (resource["name"], resource["namespaced"])
        name, namespaced = self._resources[key]
        return f"{root}/namespaces/{namespace}/{name}" if namespaced else f"{root}/{name}"

    def create(self, thing: Object, namespace: str = "", **query: str) -> Object:
        """Creates an object."""
        return self.call("POST", self.path(thing, namespace), thing, **query)

    def live(self, thing: Object, namespace: str) -> Object:
        """The object of that kind and name as the server has it."""
        return self.call("GET", f"{self.path(thing, namespace)}/{thing['metadata']['name']}")

    def list(self, kind: str, version: str, namespace: str) -> list[Object]:
        """Every object of a kind in a namespace."""
        found: list[Object] = self.call("GET", self.path({"kind": kind, "apiVersion": version}, namespace))["items"]
        return found
