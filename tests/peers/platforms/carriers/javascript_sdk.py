"""The JavaScript CloudEvents SDK as sender, and as reader of our replies. One Node process sends a whole list."""

import base64
import json
import subprocess
from pathlib import Path

import settings
import table
import view
from carriers.carrier import PLACES, Carrier
from carriers.sdk_message import change
from corpus import Delivery, LeftOut
from http_client import Response
from platforms import Platforms

SCRIPT = Path(__file__).with_name("javascript_sdk.mjs")


def send_all(deliveries: list[tuple[str, bytes]], mode: str, reply: bool) -> list[dict]:
    """Hands (address, event) pairs to the SDK and returns what it sent and what came back."""
    job = {
        "mode": mode,
        "headers": {"prefer": "reply"} if reply else {},
        "deliveries": [{"url": url, "event": body.decode()} for url, body in deliveries],
    }
    env = settings.environment(NODE_PACKAGES=str(settings.NODE_PACKAGES))
    command = ["node", str(SCRIPT)]
    run = subprocess.run(command, input=json.dumps(job), env=env, capture_output=True, text=True, timeout=60)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}:\n{run.stderr}")
    return json.loads(run.stdout)


def shown(result: dict) -> dict:
    """What came back in the words of table.py; replies were read by the SDK."""
    if result["status"] != 200:
        return view.of_http(Response(result["status"], result["headers"], result["body"].encode()))
    replies = [{"type": reply["type"], "answer": reply["data"]} for reply in result["replies"]]
    return {"status": 200, "replies": replies} if result["batch"] else {"status": 200} | replies[0]


def _carrier(mode: str, place: str, reply: bool) -> Carrier:
    def send(platforms: Platforms, deliveries: list[Delivery]) -> list[dict | LeftOut]:
        possible = [delivery for delivery in deliveries if delivery.value is not None]
        pairs = [(PLACES[place](platforms, delivery.function), delivery.body) for delivery in possible]
        results = dict(zip((delivery.file for delivery in possible), send_all(pairs, mode, reply), strict=True))
        return [_outcome(delivery, results.get(delivery.file), mode) for delivery in deliveries]

    return Carrier(f"javascript {place}: {mode}{', reply' if reply else ''}", send, table.of_mode(mode, reply))


def _outcome(delivery: Delivery, result: dict | None, mode: str) -> dict | LeftOut:
    if result is None:
        return LeftOut("no SDK makes an event of it: not one JSON object with every key once")
    if "refused" in result:
        return LeftOut(f"the JavaScript SDK refuses it: {result['refused']}")
    sent = result["sent"]
    body = base64.b64decode(sent["body"])
    changed = change(delivery.value, sent["headers"], body[1:-1] if mode == "batched" else body, mode)
    return LeftOut(changed) if changed else shown(result)


CARRIERS = [
    _carrier(mode, place, reply)
    for mode in ("binary", "structured", "batched")
    for place in PLACES
    for reply in (False, True)
]
