"""The documents tell the truth about what can be checked."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("services", "gateway", "fusion_service", "client")


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    code = "".join(file.read_text() for folder in PRODUCT for file in (ROOT / folder).rglob("*.py"))
    read = set(re.findall(r'"((?:ARANGO|LANEMESH|MEILI|OTEL|GRPC|QDRANT)_[A-Z_]+)"', code))
    read |= set(re.findall(r'(?:setting\(|key_variable=)\s*"([A-Z_]+)"', code))
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
    providers = (ROOT / "docs" / "providers.md").read_text()
    told |= set(re.findall(r"^\| \w+ \| `\w+` \| [^|]+ \| `([A-Z_]+)` \|", providers, re.MULTILINE))
    told |= set(re.findall(r"^\| \w+ \| (?:[^|]+ \| ){3}`([A-Z_]+)` \|", providers, re.MULTILINE))
    assert read == told


def test_the_readme_is_short_and_names_every_lane() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 150
    lanes = re.findall(r"^  ([a-z]+):\n    port:", (ROOT / "helm" / "values.yaml").read_text(), re.MULTILINE)
    assert len(lanes) == 8
    assert all(f"`{lane}`" in readme for lane in lanes)
