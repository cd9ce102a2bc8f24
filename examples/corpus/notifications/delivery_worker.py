"""Delivery worker: claims queued messages, sends them, and records what happened.

A short form of the error handling pattern. Transient relay errors put the message back into the
queue with a delay, permanent ones mark it as bounced, and anything unexpected is logged with its
delivery id and left for a person.
"""

import logging
import random
import smtplib
from datetime import timedelta

from notifications.relays import RelayPool
from notifications.store import Delivery, DeliveryStore

log = logging.getLogger("notifications.worker")

MAX_TRIES = 6


def backoff(tries: int) -> timedelta:
    return timedelta(seconds=random.uniform(0.0, min(900.0, 5.0 * 2**tries)))


def deliver(delivery: Delivery, relays: RelayPool, store: DeliveryStore) -> None:
    try:
        relay_id = relays.send(delivery.rendered())
    except (smtplib.SMTPServerDisconnected, ConnectionError, TimeoutError) as exc:
        if delivery.tries + 1 >= MAX_TRIES:
            log.error("delivery %d given up: %s", delivery.id, exc)
            store.mark_dropped(delivery, reason="relay_unavailable")
            return
        log.warning("delivery %d postponed: %s", delivery.id, exc)
        store.requeue(delivery, after=backoff(delivery.tries))
    except smtplib.SMTPRecipientsRefused as exc:
        log.info("delivery %d bounced", delivery.id)
        store.mark_bounced(delivery, detail=str(exc.recipients))
    except Exception:
        log.exception("delivery %d failed in an unexpected way", delivery.id)
        store.mark_stuck(delivery)
        raise
    else:
        store.mark_sent(delivery, relay_id)


def run_batch(store: DeliveryStore, relays: RelayPool, size: int = 50) -> int:
    """Process one batch; one bad message never stops the others."""
    done = 0
    for delivery in store.claim(size):
        try:
            deliver(delivery, relays, store)
            done += 1
        except Exception:
            continue
    return done
