"""A certificate authority for one machine, and the certificates it issues. Pure: PEM in, PEM out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS = 365.0
CERTIFICATE_DAYS = 30.0
# Issued so much before now, for clocks that are a little behind.
_BEFORE = timedelta(minutes=5)
_BOTH_USES = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, certificate: bytes, key: bytes) -> Pair:
        """From PEM; ValueError when it is none, or the two do not belong together."""
        found = serialization.load_pem_private_key(key, password=None)
        pair_of = x509.load_pem_x509_certificate(certificate)
        if not isinstance(found, ec.EllipticCurvePrivateKey) or found.public_key() != pair_of.public_key():
            raise ValueError("the key is not that of the certificate")
        return cls(pair_of, found)

    def certificate_pem(self) -> bytes:
        """The certificate."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        """The key, unencrypted."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def names(self) -> set[str]:
        """The DNS names, addresses and URIs of the certificate."""
        try:
            found = self.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return set()
        return {str(name.value) for name in found}

    def is_young(self, now: datetime) -> bool:
        """Whether more than a third of its life is left."""
        begun, ends = self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc
        return begun <= now < ends - (ends - begun) / 3

    def is_issued_by(self, authority: Pair) -> bool:
        """Whether that authority signed it."""
        try:
            self.certificate.verify_directly_issued_by(authority.certificate)
        except Exception:  # noqa: BLE001  by another, by another kind, or damaged: not by this one
            return False
        return True


def new_authority(now: datetime | None = None, days: float = AUTHORITY_DAYS) -> Pair:
    """An authority of its own making."""
    key = ec.generate_private_key(ec.SECP256R1())
    # Named apart, so that two of them can stand in one file.
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"Lanemesh local authority {x509.random_serial_number():x}"[:64])]
    )
    usage = x509.KeyUsage(**_usages(key_cert_sign=True, crl_sign=True))
    built = (
        _begun(name, key, now or datetime.now(UTC), days)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(built, key)


def issue(authority: Pair, names: list[str], now: datetime | None = None, days: float = CERTIFICATE_DAYS) -> Pair:
    """A certificate for these names, for both ends of a connection."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    issuer = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    built = (
        _begun(subject, key, now or datetime.now(UTC), days)
        .issuer_name(authority.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**_usages(digital_signature=True)), critical=True)
        .add_extension(_BOTH_USES, critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Pair(built, key)


def _begun(subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, days: float) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usages(**allowed: bool) -> dict[str, bool]:
    every = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return {usage: allowed.get(usage, False) for usage in every}


def _general(name: str) -> x509.GeneralName:
    if "://" in name:
        return x509.UniformResourceIdentifier(name)
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
