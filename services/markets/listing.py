"""Where a share is listed: the suffix of its exchange in a neutral symbol, and what prices there count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Suffix to currency. London quotes in pence or in the currency of the share, so its currency is not known beforehand.
SUFFIXES: Mapping[str, str] = {
    "L": "",
    "DE": "EUR",
    "F": "EUR",
    "PA": "EUR",
    "AS": "EUR",
    "BR": "EUR",
    "LS": "EUR",
    "MI": "EUR",
    "MC": "EUR",
    "HE": "EUR",
    "VI": "EUR",
    "SW": "CHF",
    "ST": "SEK",
    "CO": "DKK",
    "OL": "NOK",
    "WA": "PLN",
    "BU": "HUF",
    "T": "JPY",
    "HK": "HKD",
    "SS": "CNY",
    "SZ": "CNY",
    "KS": "KRW",
    "TW": "TWD",
    "NS": "INR",
    "BO": "INR",
    "AX": "AUD",
    "TO": "CAD",
    "V": "CAD",
    "SA": "BRL",
    "MX": "MXN",
    "JO": "",
    "SR": "SAR",
}

# An exchange named before the symbol, and its suffix.
PREFIXES: Mapping[str, str] = {
    "NASDAQ": "",
    "NYSE": "",
    "AMEX": "",
    "NYSEARCA": "",
    "OTC": "",
    "LON": ".L",
    "LSE": ".L",
    "ETR": ".DE",
    "XETRA": ".DE",
    "FRA": ".F",
    "EPA": ".PA",
    "AMS": ".AS",
    "BIT": ".MI",
    "BME": ".MC",
    "SWX": ".SW",
    "STO": ".ST",
    "CPH": ".CO",
    "OSL": ".OL",
    "TYO": ".T",
    "TSE": ".T",
    "HKG": ".HK",
    "HKEX": ".HK",
    "SHA": ".SS",
    "SHE": ".SZ",
    "KRX": ".KS",
    "NSE": ".NS",
    "BSE": ".BO",
    "ASX": ".AX",
    "TSX": ".TO",
}


@dataclass(frozen=True, slots=True)
class Listing:
    """A share's symbol in parts."""

    root: str
    # Empty: listed in the United States.
    suffix: str

    @property
    def currency(self) -> str:
        """ISO 4217 code of its prices; empty when it is not known."""
        return SUFFIXES[self.suffix] if self.suffix else "USD"


def listing_of(symbol: str) -> Listing:
    """The parts of a neutral symbol; the class of a share, as in BRK.B, belongs to its root."""
    root, _, suffix = symbol.rpartition(".")
    return Listing(root, suffix) if root and suffix in SUFFIXES else Listing(symbol, "")
