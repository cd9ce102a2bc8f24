"""Certificates for tests: an authority in a folder, and what it issues to whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from client.authority import Pair, issue, new_authority
from services.runtime.certificates import Certificates, Files, identity


class Office:
    """An authority, and the files it has put into a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.authority = new_authority()
        self.trust(self.authority)

    def trust(self, *authorities: Pair) -> None:
        """Has everybody accept these, and no other."""
        (self.folder / "ca.crt").write_bytes(b"".join(each.certificate_pem() for each in authorities))

    def files(self, process: str) -> Files:
        """Where the process finds its own."""
        return Files(self.folder / "ca.crt", self.folder / f"{process}.crt", self.folder / f"{process}.key")

    def issue(
        self,
        process: str,
        names: Sequence[str] | None = None,
        *,
        authority: Pair | None = None,
        now: datetime | None = None,
        days: float = 1.0,
    ) -> Files:
        """Puts a certificate there."""
        named = [identity(process)] if names is None else list(names)
        pair = issue(authority or self.authority, named, now, days)
        files = self.files(process)
        assert files.certificate
        assert files.key
        files.certificate.write_bytes(pair.certificate_pem())
        files.key.write_bytes(pair.key_pem())
        return files

    def issue_expired(self, process: str) -> Files:
        """One whose time is over."""
        return self.issue(process, now=datetime.now(UTC) - timedelta(days=3))

    def certificates_of(self, process: str) -> Certificates:
        """What the process has been issued, as it has it in use."""
        return Certificates(self.files(process), process)

    def certificates(self, process: str) -> Certificates:
        """A certificate of the process, as it has it in use."""
        return Certificates(self.issue(process), process)


def variables(files: Files) -> dict[str, str]:
    """The environment that names the files."""
    return {variable: str(path) for variable, path in files.named().items()}
