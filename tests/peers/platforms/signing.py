"""Signed deliveries, signed by the independent standardwebhooks package."""

import base64
import uuid
from datetime import datetime, timedelta, timezone

from standardwebhooks import Webhook

# Two keys, as during a rotation: the new one first.
SECRETS = ["whsec_" + base64.b64encode(bytes([byte]) * 32).decode() for byte in (7, 42)]


def sign(body: bytes, secret: str, off: timedelta = timedelta()) -> dict[str, str]:
    """The three headers of Standard Webhooks, by a clock that is off by this much."""
    message_id, at = f"msg_{uuid.uuid4().hex}", datetime.now(timezone.utc) + off
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, at, body.decode()),
    }
