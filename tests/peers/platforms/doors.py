"""The doors through which HTTP headers reach a function: signatures, sizes and content types are checked at each."""

import aws_events
import view
from carriers.azure import as_response
from carriers.carrier import single, together
from carriers.lambda_emulator import invoke, of_http_envelope
from http_client import send
from platforms import Platforms


def _single(platforms: Platforms, function: str, headers: dict, body: bytes) -> dict:
    return view.of_http(send(single(platforms, function), headers, body))


def _together(platforms: Platforms, function: str, headers: dict, body: bytes) -> dict:
    return view.of_http(send(together(platforms, function), headers, body))


def _function_url(platforms: Platforms, function: str, headers: dict, body: bytes) -> dict:
    return of_http_envelope(invoke(platforms, function, aws_events.function_url(headers, body)))


def _azure_trigger(platforms: Platforms, function: str, headers: dict, body: bytes) -> dict:
    return view.of_http(as_response(platforms.azure().http(function, headers, body).outputs["res"]))


def _azure_forwarded(platforms: Platforms, function: str, headers: dict, body: bytes) -> dict:
    return view.of_http(platforms.azure().forward(function, headers, body))


DOORS = {
    "http single": _single,
    "http serve": _together,
    "function URL": _function_url,
    "azure HTTP trigger": _azure_trigger,
    "azure HTTP forwarded": _azure_forwarded,
}


def status_and_outcome(got: dict) -> tuple[int, str | None]:
    """What a refused sender sees: a status, and the outcome in the answer it carries."""
    body = got.get("body")
    return got["status"], body.get("outcome") if isinstance(body, dict) else None
