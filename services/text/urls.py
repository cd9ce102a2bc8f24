"""URLs as identities: one spelling for one page, and the domain somebody registered."""

from __future__ import annotations

from functools import lru_cache

_TRACKING_NAMES = """
    fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid twclid ttclid igshid mc_cid mc_eid _ga _gl _hsenc _hsmi
    mkt_tok oly_anon_id oly_enc_id vero_id wickedid s_cid cmpid ref_src ref_url spm
"""
_TRACKING = frozenset(_TRACKING_NAMES.split())
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}

# Second levels under which names are registered, where the country's own level is not.
_SECOND_LEVELS = frozenset(
    f"{second}.{country}"
    for country, seconds in {
        "uk": "ac co gov ltd me net nhs org plc police sch",
        "au": "asn com edu gov id net org",
        "nz": "ac co govt net org school",
        "jp": "ac ad co ed go gr lg ne or",
        "kr": "ac co go ne or re",
        "cn": "ac com edu gov net org",
        "hk": "com edu gov net org",
        "tw": "com edu gov net org",
        "sg": "com edu gov net org",
        "my": "com edu gov net org",
        "in": "ac co edu gov net nic org res",
        "br": "com edu gov net org",
        "mx": "com edu gob net org",
        "ar": "com edu gob net org",
        "co": "com edu gov net org",
        "za": "ac co gov net org",
        "il": "ac co gov net org",
        "tr": "com edu gov net org",
        "ua": "com edu gov net org",
        "th": "ac co go in or",
        "id": "ac co go or",
    }.items()
    for second in seconds.split()
)


@lru_cache(maxsize=1 << 13)
def canonical_url(url: str) -> str:
    """One spelling for one web page, without its scheme; empty for anything that is not an http(s) URL.

    A file path is no identity: projects share relative paths, and the sections of one file share its path.
    """
    scheme, separator, rest = url.strip().partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _DEFAULT_PORTS:
        return ""
    rest = rest.partition("#")[0]
    address, _, query = rest.partition("?")
    host, slash, path = address.partition("/")
    host = host.lower().removesuffix(_DEFAULT_PORTS[scheme]).removeprefix("www.")
    if not host:
        return ""
    kept = f"?{_parameters(query)}" if query else ""
    return f"{host}{slash}{path}".rstrip("/") + kept.removesuffix("?")


def _parameters(query: str) -> str:
    kept = []
    for part in query.split("&"):
        name = part.partition("=")[0].lower()
        if part and name[:4] != "utm_" and name not in _TRACKING:
            kept.append(part)
    kept.sort()
    return "&".join(kept)


def registrable_domain(url: str) -> str:
    """The last two labels of the host, three under a known second level; an IP address as it is; "" for no host."""
    host = canonical_url(url).partition("/")[0].partition("?")[0].rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    host = host.partition(":")[0].strip(".")
    labels = host.split(".")
    if labels[-1].isdigit():
        return host
    return ".".join(labels[-3 if ".".join(labels[-2:]) in _SECOND_LEVELS else -2 :])
