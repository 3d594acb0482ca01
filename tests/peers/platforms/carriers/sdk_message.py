"""Is a message that an SDK made still the event it was made from? SDKs add, drop and mend; then answers may differ."""

import base64
import json

from dateutil.parser import isoparse


def change(event: dict, headers: dict[str, str], body: bytes, mode: str) -> str | None:
    """The attribute an SDK changed on the way, or None. Optional attributes that it filled in do not count."""
    sent = _from_binary(headers, body) if mode == "binary" else json.loads(body)
    wanted, sent = _comparable(event), _comparable(sent)
    for optional in ("time", "datacontenttype"):
        if optional not in wanted:
            sent.pop(optional, None)
    for name in sorted(wanted.keys() | sent.keys()):
        if wanted.get(name) != sent.get(name):
            return f"the SDK changes {name!r}"
    return None


def _from_binary(headers: dict[str, str], body: bytes) -> dict:
    event = {name[3:]: value for name, value in headers.items() if name.startswith("ce-")}
    if "content-type" in headers:
        event["datacontenttype"] = headers["content-type"]
    if body:
        event["data_base64"] = base64.b64encode(body).decode()
    return event


def _comparable(event: dict) -> dict:
    """Attributes as text, times as instants, data as JSON if it is JSON."""
    result = {
        name: str(value) for name, value in event.items() if name not in ("data", "data_base64") and value is not None
    }
    if "time" in result:
        result["time"] = isoparse(result["time"])
    if "data" in event and "data_base64" in event:
        result["data"] = "twice"
    elif "data" in event:
        result["data"] = event["data"]
    elif "data_base64" in event:
        raw = base64.b64decode(event["data_base64"])
        try:
            result["data"] = json.loads(raw)
        except ValueError:
            result["data"] = raw
    return result
