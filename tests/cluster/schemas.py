"""Schemas for kubeconform from what the real API server says of its kinds; what a kind does not have is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOCATION = "{{.Group}}-{{.ResourceKind}}-{{.ResourceAPIVersion}}.json"
_DEFINITIONS = "definitions.json"
_KEPT = {"type", "required", "enum", "items", "additionalProperties", "minimum", "maximum", "pattern"}
_KINDS = "x-kubernetes-group-version-kind"


def write(document: Mapping[str, Any], folder: Path) -> str:
    """One file per kind of an OpenAPI document of version 2; returns kubeconform's -schema-location."""
    definitions = {name: _strict(schema) for name, schema in document["definitions"].items()}
    (folder / _DEFINITIONS).write_text(json.dumps({"definitions": definitions}), encoding="utf-8")
    for name, schema in document["definitions"].items():
        for kind in schema.get(_KINDS, []):
            # kubeconform takes the version for the group of the oldest kinds, which have none.
            group = kind["group"] or kind["version"]
            file = folder / f"{group}-{kind['kind'].lower()}-{kind['version']}.json"
            file.write_text(json.dumps({"$ref": f"{_DEFINITIONS}#/definitions/{name}"}), encoding="utf-8")
    return str(folder / LOCATION)


def _strict(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    # Quantities and ports are declared as strings with this mark, and may be numbers.
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if "$ref" in schema:
        return {"$ref": schema["$ref"].replace("#/", f"{_DEFINITIONS}#/")}
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    if "properties" in schema:
        kept["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        kept.setdefault("additionalProperties", bool(schema.get("x-kubernetes-preserve-unknown-fields")))
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = _strict(kept[key])
    return kept
