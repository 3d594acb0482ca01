"""The envelopes AWS puts around an event, filled into AWS's own sample events where it publishes one."""

import base64
import copy
import hashlib
import json

import settings

ACCOUNT = "123456789012"
REGION = "eu-central-1"
_PLACEHOLDERS = {
    "account_id": ACCOUNT,
    "region": REGION,
    "partition": "aws",
    "dns_suffix": "amazonaws.com",
    "stage": "$default",
    "method": "POST",
    "path": "",
    "rule": "pilotlight-idle-timer",
    "queue_name": "pilotlight",
}
# What Lambda hands over as text; all other bodies arrive as base64.
_TEXT_TYPES = ("text/", "application/json", "application/javascript", "application/xml")


def api_gateway(headers: dict[str, str], body: bytes, method: str = "POST") -> bytes:
    """API Gateway's HTTP API, payload version 2.0, after AWS's sample."""
    event = _sample("HttpApi")
    event["requestContext"]["http"]["method"] = method
    return _with_body(event, headers, body)


def function_url(headers: dict[str, str], body: bytes, path: str = "/", method: str = "POST") -> bytes:
    """A function URL: the HTTP API shape without what only API Gateway adds."""
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "abcdefghijklmnop",
            "domainName": f"abcdefghijklmnop.lambda-url.{REGION}.on.aws",
            "domainPrefix": "abcdefghijklmnop",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "test",
            },
            "requestId": "5f1c3c51-3f5f-4d4e-8f6d-0f7f3f6a5b1d",
            "routeKey": "$default",
            "stage": "$default",
            "time": "16/Nov/2026:09:00:00 +0000",
            "timeEpoch": 1794819600000,
        },
    }
    return _with_body(event, headers, body)


def sqs(bodies: list[str], groups: list[str] | None = None) -> bytes:
    """A batch of messages m0, m1, …; with groups it comes from a FIFO queue."""
    [template] = _sample("Sqs")["Records"]
    records = []
    for index, body in enumerate(bodies):
        record = copy.deepcopy(template)
        record |= {"messageId": f"m{index}", "body": body, "md5OfBody": hashlib.md5(body.encode()).hexdigest()}
        if groups:
            record["eventSourceARN"] += ".fifo"
            record["attributes"] |= {
                "MessageGroupId": groups[index],
                "MessageDeduplicationId": f"d{index}",
                "SequenceNumber": str(18849496460467696128 + index),
            }
        records.append(record)
    return _encode({"Records": records})


def event_bridge(event: dict) -> bytes:
    """A CloudEvent put on a bus: it is the detail, its type the detail type."""
    return _encode(
        _sample("ScheduledEvent")
        | {
            "version": "0",
            "source": "pilotlight",
            "detail-type": event.get("type", "none"),
            "resources": [],
            "detail": event,
        }
    )


def rule_tick(time: str = "2026-11-16T09:00:00Z") -> bytes:
    """An EventBridge rule with a schedule."""
    return _encode(_sample("ScheduledEvent") | {"version": "0", "time": time})


def scheduler_tick(time: str = "2026-11-16T09:00:00Z") -> bytes:
    """EventBridge Scheduler with its default payload: `detail` is a string there."""
    schedule = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/pilotlight-idle-timer"
    changes = {"version": "0", "time": time, "source": "aws.scheduler", "resources": [schedule], "detail": "{}"}
    return _encode(_sample("ScheduledEvent") | changes)


def _with_body(event: dict, headers: dict[str, str], body: bytes) -> bytes:
    lower = {name.lower(): value for name, value in headers.items()}
    as_text = lower.get("content-type", "").lower().startswith(_TEXT_TYPES)
    text = body.decode() if as_text else base64.b64encode(body).decode()
    return _encode(event | {"headers": lower, "body": text, "isBase64Encoded": not as_text})


def _sample(name: str) -> dict:
    text = (settings.AWS_EVENTS / f"{name}.json").read_text()
    for placeholder, value in _PLACEHOLDERS.items():
        text = text.replace("{{{" + placeholder + "}}}", value)
    return json.loads(text)


def _encode(event: dict) -> bytes:
    return json.dumps(event).encode()
