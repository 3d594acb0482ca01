"""Azure Functions, through the emulated host: HTTP wrapped and forwarded, queue, Event Grid."""

import table
import view
from azure_host import AzureHost, Invocation, InvocationFailed
from carriers.carrier import REPLY, STRUCTURED, Carrier, one_by_one
from carriers.python_sdk import message
from corpus import Delivery, LeftOut
from http_client import Response


def of_http_trigger(invocation: Invocation) -> dict:
    return {
        "host": 200,
        "res": view.of_http(as_response(invocation.outputs["res"])),
        "returnValue": invocation.return_value,
    }


def as_response(res: dict) -> Response:
    """What the host sends to the outside caller for an HTTP output."""
    headers = {name.lower(): value for name, value in (res.get("headers") or {}).items()}
    return Response(int(res["statusCode"]), headers, (res.get("body") or "").encode())


def of_message(invoke) -> dict:
    try:
        return {"host": 200, "returnValue": invoke().return_value}
    except InvocationFailed as failure:
        return {"host": "5xx" if failure.status >= 500 else str(failure)}


def _http(headers: dict[str, str]):
    def send_one(host: AzureHost, delivery: Delivery) -> dict | LeftOut:
        if delivery.text is None:
            return LeftOut("the Azure host makes text of a body, this is not UTF-8")
        return of_http_trigger(host.http(delivery.function, headers, delivery.body))

    return send_one


def _http_binary(host: AzureHost, delivery: Delivery) -> dict | LeftOut:
    made = message("core", delivery, "binary")
    if isinstance(made, LeftOut):
        return made
    headers, body = made
    return of_http_trigger(host.http(delivery.function, headers | REPLY, body))


def _forwarded(headers: dict[str, str]):
    return lambda host, delivery: view.of_http(host.forward(delivery.function, headers, delivery.body))


def _queue(host: AzureHost, delivery: Delivery) -> dict | LeftOut:
    if delivery.text is None:
        return LeftOut("a message of a queue is text, this is not UTF-8")
    return of_message(lambda: host.queue(delivery.function, delivery.text))


def _event_grid_string(host: AzureHost, delivery: Delivery) -> dict | LeftOut:
    if delivery.text is None:
        return LeftOut("Event Grid carries text, this is not UTF-8")
    return of_message(lambda: host.event_grid_string(delivery.function, delivery.text))


def _event_grid(host: AzureHost, delivery: Delivery) -> dict | LeftOut:
    if delivery.value is None:
        return LeftOut("Event Grid carries one JSON object with every key once")
    return of_message(lambda: host.event_grid(delivery.function, delivery.value))


def _carrier(name: str, send_one, expect) -> Carrier:
    return Carrier(
        f"azure: {name}", one_by_one(lambda platforms, delivery: send_one(platforms.azure(), delivery)), expect
    )


CARRIERS = [
    _carrier("HTTP trigger", _http(STRUCTURED), table.azure_http),
    _carrier("HTTP trigger, reply", _http(STRUCTURED | REPLY), table.azure_http_reply),
    _carrier("HTTP trigger binary, reply", _http_binary, table.azure_http_reply),
    _carrier("HTTP forwarded", _forwarded(STRUCTURED), table.http),
    _carrier("HTTP forwarded, reply", _forwarded(STRUCTURED | REPLY), table.http_reply),
    _carrier("queue", _queue, table.azure_message),
    _carrier("Event Grid object", _event_grid, table.azure_message),
    _carrier("Event Grid string", _event_grid_string, table.azure_message),
]
