"""Reserving stock for an order: all lines or none.

Error handling: lock conflicts are transient and retried with jitter, missing stock is permanent and
names the short lines, and the transaction is rolled back in every case but success.
"""

import logging
from datetime import timedelta

import psycopg
from vh_errors import PermanentError, TransientError
from vh_retry import retry_with_jitter

from inventory.model import Line, Reservation

log = logging.getLogger("inventory.reserve")

HOLD = timedelta(minutes=15)

TAKE = """
    select on_hand - safety - reserved_now(article_no, warehouse) as sellable
      from inventory.stock_levels
     where article_no = %s and warehouse = %s
       for update
"""


def reserve(conn: psycopg.Connection, order_id: int, lines: list[Line]) -> Reservation:
    return retry_with_jitter(
        lambda: _reserve_once(conn, order_id, lines), retry_on=TransientError
    )


def _reserve_once(conn: psycopg.Connection, order_id: int, lines: list[Line]) -> Reservation:
    ordered = sorted(lines, key=lambda line: (line.article_no, line.warehouse))
    try:
        with conn.transaction():
            short = [line for line in ordered if _sellable(conn, line) < line.quantity]
            if short:
                raise PermanentError("NOT_ENOUGH_STOCK", "reserve", [s.line_no for s in short])
            return Reservation.insert(conn, order_id, ordered, hold=HOLD)
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as exc:
        log.warning("order %d met a lock, trying again", order_id)
        raise TransientError("LOCKED", "reserve", order_id) from exc
    except psycopg.errors.UniqueViolation as exc:
        log.info("order %d has a reservation already", order_id)
        raise PermanentError("ALREADY_RESERVED", "reserve", order_id) from exc


def _sellable(conn: psycopg.Connection, line: Line) -> int:
    row = conn.execute(TAKE, (line.article_no, line.warehouse)).fetchone()
    return row[0] if row else 0
