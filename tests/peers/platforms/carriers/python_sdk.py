"""The Python CloudEvents SDK as sender: its `core` API (percent-encodes headers) and its `v1` API (does not)."""

from urllib.parse import unquote

from cloudevents.core.bindings import http as core
from cloudevents.core.formats.json import JSONFormat
from cloudevents.v1 import conversion as v1_conversion
from cloudevents.v1 import http as v1

import table
import view
from carriers.carrier import BATCHED, PLACES, REPLY, Carrier, one_by_one
from carriers.sdk_message import change
from corpus import Delivery, LeftOut
from http_client import send

Message = tuple[dict[str, str], bytes]


def message(api: str, delivery: Delivery, mode: str) -> Message | LeftOut:
    """The event as the SDK would send it, or why it cannot be sent."""
    if delivery.value is None:
        return LeftOut("no SDK makes an event of it: not one JSON object with every key once")
    try:
        headers, body = _MAKERS[api](delivery, mode)
        plain = {name: unquote(value) for name, value in headers.items()} if api == "core" else headers
        changed = change(delivery.value, plain, body, mode)
    except Exception as refusal:  # each SDK has its own family of errors, and some are bare KeyErrors
        return LeftOut(f"the Python SDK refuses it: {type(refusal).__name__}")
    if changed:
        return LeftOut(changed)
    return batch([body]) if mode == "batched" else (headers, body)


def batch(structured: list[bytes]) -> Message:
    """The SDK has no batches: an array of its structured events."""
    return {"content-type": BATCHED["Content-Type"]}, b"[" + b",".join(structured) + b"]"


def _core(delivery: Delivery, mode: str) -> Message:
    event = JSONFormat().read(None, delivery.body)
    made = core.to_binary_event(event) if mode == "binary" else core.to_structured_event(event)
    return {name.lower(): value for name, value in made.headers.items()}, made.body


def _v1(delivery: Delivery, mode: str) -> Message:
    event = v1.from_http({"content-type": "application/cloudevents+json"}, delivery.body)
    headers, body = (v1_conversion.to_binary if mode == "binary" else v1_conversion.to_structured)(event)
    return {name.lower(): str(value) for name, value in headers.items()}, body or b""


_MAKERS = {"core": _core, "v1": _v1}


def _carrier(api: str, mode: str, place: str, reply: bool) -> Carrier:
    def send_one(platforms, delivery):
        made = message(api, delivery, mode)
        if isinstance(made, LeftOut):
            return made
        headers, body = made
        return view.of_http(send(PLACES[place](platforms, delivery.function), headers | (REPLY if reply else {}), body))

    name = f"python {api} {place}: {mode}{', reply' if reply else ''}"
    return Carrier(name, one_by_one(send_one), table.of_mode(mode, reply))


CARRIERS = [
    _carrier(api, mode, place, reply)
    for api in _MAKERS
    for mode in ("binary", "structured", "batched")
    for place in PLACES
    for reply in (False, True)
]
