"""Retry loop of PaymentAdapter around PaymentGateway.charge().

Error handling pattern: transport errors and TRY_AGAIN are transient and retried with full jitter,
a decline is permanent, and a timeout is an unknown outcome that is settled by asking `status`.
All attempts of one payment round share one idempotency key.
"""

import logging
import random
import time
from dataclasses import dataclass

from vh_errors import PermanentError, TransientError, UnknownOutcomeError

from payments.gateway import Charge, GatewayClient, GatewayRefused, GatewayTimeout

log = logging.getLogger("payments.retry")


@dataclass(frozen=True)
class RetryPolicy:
    max_retries: int = 5
    base_s: float = 0.2
    cap_s: float = 3.0
    total_s: float = 12.0

    def wait(self, retry: int) -> float:
        return random.uniform(0.0, min(self.cap_s, self.base_s * 2**retry))


def charge_once(gateway: GatewayClient, token: str, amount_minor: int, key: str) -> Charge:
    """One attempt, with the gateway's errors turned into the classes of vh-errors."""
    try:
        charge = gateway.charge(token, amount_minor, key, timeout_s=2.5)
    except GatewayRefused as exc:
        raise TransientError("GATEWAY_REFUSED", "charge", key) from exc
    except GatewayTimeout as exc:
        settled = gateway.status(key)
        if settled is None:
            raise UnknownOutcomeError("NO_ANSWER", "charge", key) from exc
        charge = settled
    if charge.code == "TRY_AGAIN":
        raise TransientError("TRY_AGAIN", "charge", key)
    if charge.code == "DECLINED":
        raise PermanentError("DECLINED", "charge", key)
    return charge


def process_payment(
    gateway: GatewayClient,
    token: str,
    amount_minor: int,
    key: str,
    policy: RetryPolicy = RetryPolicy(),
) -> Charge:
    ends_at = time.monotonic() + policy.total_s
    for retry in range(policy.max_retries + 1):
        try:
            return charge_once(gateway, token, amount_minor, key)
        except TransientError as exc:
            pause = policy.wait(retry)
            if retry == policy.max_retries or time.monotonic() + pause >= ends_at:
                log.error("charge given up after %d retries, key=%s", retry, key)
                raise
            log.warning("charge failed with %s, retry %d follows, key=%s", exc.code, retry + 1, key)
            time.sleep(pause)
    raise AssertionError("the loop returns or raises")
