"""Label requests to the carriers, with the shared error handling pattern.

Carrier errors are classified as transient, permanent or unknown. Transient ones are retried with
jitter at most 4 times; an unknown outcome is looked up by our reference, since two labels for one
parcel cost money.
"""

import logging

import httpx
from vh_errors import PermanentError, TransientError, UnknownOutcomeError
from vh_retry import CircuitBreaker, retry_with_jitter

from shipping.model import Label, Parcel

log = logging.getLogger("shipping.carrier")


class CarrierClient:
    def __init__(self, http: httpx.Client, breaker: CircuitBreaker, carrier: str) -> None:
        self._http = http
        self._breaker = breaker
        self._carrier = carrier

    def create_label(self, parcel: Parcel) -> Label:
        try:
            return retry_with_jitter(
                lambda: self._request_label(parcel), retry_on=TransientError, max_retries=4
            )
        except UnknownOutcomeError:
            existing = self._find_label(parcel.reference)
            if existing is None:
                raise
            log.info("%s had made the label for %s", self._carrier, parcel.reference)
            return existing

    def _request_label(self, parcel: Parcel) -> Label:
        """One request; every error leaves as one of the three classes."""
        try:
            with self._breaker:
                answer = self._http.post("/labels", json=parcel.as_request(), timeout=3.0)
                answer.raise_for_status()
        except httpx.ConnectError as exc:
            log.warning("%s is unavailable", self._carrier)
            raise TransientError("CARRIER_UNAVAILABLE", self._carrier, parcel.reference) from exc
        except httpx.ReadTimeout as exc:
            log.error("%s sent no answer for %s", self._carrier, parcel.reference)
            raise UnknownOutcomeError("NO_ANSWER", self._carrier, parcel.reference) from exc
        except httpx.HTTPStatusError as exc:
            if exc.response.status_code in (429, 502, 503, 504):
                raise TransientError("CARRIER_BUSY", self._carrier, parcel.reference) from exc
            log.info("%s refused parcel %s", self._carrier, parcel.reference)
            raise PermanentError("LABEL_REFUSED", self._carrier, parcel.reference) from exc
        return Label.from_answer(answer.json())

    def _find_label(self, reference: str) -> Label | None:
        answer = self._http.get("/labels", params={"reference": reference}, timeout=3.0)
        found = answer.json().get("labels", [])
        return Label.from_answer(found[0]) if found else None
