"""What came back, in the words of table.py: replies are read by the CloudEvents SDK, never by us."""

import json

from cloudevents.core.bindings.http import HTTPMessage, from_http_event

from http_client import Response

BATCH = "application/cloudevents-batch+json"
STRUCTURED = {"content-type": "application/cloudevents+json"}


def of_http(response: Response) -> dict:
    """A status, and what the sender can read: a reply event, a batch of them, or a body."""
    if response.status != 200:
        body = json_or_text(response.body)
        return {"status": response.status, "retryAfter": response.headers.get("retry-after"), "body": body}
    try:
        if response.headers.get("content-type", "").startswith(BATCH):
            return {
                "status": 200,
                "replies": [_reply(STRUCTURED, json.dumps(item)) for item in json.loads(response.body)],
            }
        return {"status": 200} | _reply(response.headers, response.body.decode())
    except Exception as error:  # whatever the SDK raises: what came is no reply, and the table shall show it
        return {"status": 200, "noReply": str(error), "body": json_or_text(response.body)}


def _reply(headers: dict[str, str], body: str) -> dict:
    event = from_http_event(HTTPMessage(headers, body.encode()))
    return {"type": event.get_type(), "answer": event.get_data()}


def json_or_text(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
