"""The Azure Functions host as a custom handler sees it, rebuilt from the host's source (spec: stack, section 3).

Kept from the original: the variables it starts a handler with, polling `GET /`, the chunked envelope, strings encoded
twice, any status but 2xx is a failure, a 2xx must be JSON, string outputs that look like base64 are decoded, and
the third exit of the handler stops the host.
"""

import base64
import binascii
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import processes
from http_client import Response, send

HOST_VERSION = "4.1036.1.0"
EXITS_UNTIL_STOP = 3


class HostStopped(Exception):
    """The handler ended too often."""


class InvocationFailed(Exception):
    """The host counts the invocation as failed; a trigger that retries will retry."""

    def __init__(self, status: int, why: str):
        super().__init__(f"{status}: {why}")
        self.status = status


@dataclass(frozen=True)
class Invocation:
    """What a successful invocation left: outputs as they reach the bindings."""

    outputs: dict
    return_value: object
    logs: list


class AzureHost:
    """One function app: one handler process for all its functions."""

    def __init__(self, name: str, command: Sequence[str], env: dict[str, str]):
        self.port = processes.free_port()
        self._name, self._command = name, command
        self._env = env | {
            "FUNCTIONS_CUSTOMHANDLER_PORT": str(self.port),
            "FUNCTIONS_CUSTOMHANDLER_WORKER_ID": str(uuid.uuid4()),
            "FUNCTIONS_HTTPWORKER_PORT": str(self.port),
            "FUNCTIONS_HTTPWORKER_ID": str(uuid.uuid4()),
            "FUNCTIONS_APP_ROOT_PATH": "/home/site/wwwroot",
            "FUNCTIONS_WORKER_RUNTIME": "Custom",
        }
        self._exits = 0
        self._start()

    def stop(self) -> None:
        self._handler.stop()

    def http(self, function: str, headers: dict[str, str], body: bytes | None, method: str = "POST") -> Invocation:
        """An HTTP trigger, wrapped. A caller who sends chunked has no `Body`: pass None."""
        request = {
            "Url": f"https://app.azurewebsites.net/api/{function}",
            "Method": method,
            "Query": {},
            "Headers": {name: [value] for name, value in headers.items()},
            "Params": {},
            "Identities": [{"AuthenticationType": None, "IsAuthenticated": False, "Claims": []}],
        }
        if body is not None:
            request["Body"] = body.decode(errors="replace")
        return self._invoke(function, {"req": request}, {"Headers": dict(headers), "Query": {}})

    def queue(self, function: str, text: str) -> Invocation:
        metadata = {
            "DequeueCount": 1,
            "Id": str(uuid.uuid4()),
            "PopReceipt": "AgAAAAMAAAAAAAAAAgtnj8x+1QE=",
            "InsertionTime": "2026-11-16T09:00:00+00:00",
            "ExpirationTime": "2026-11-23T09:00:00+00:00",
            "NextVisibleTime": "2026-11-16T09:10:00+00:00",
        }
        return self._invoke(function, {"msg": _string_trigger(text)}, metadata)

    def event_grid(self, function: str, event: dict) -> Invocation:
        """Event Grid bound as an object."""
        return self._invoke(function, {"ev": event}, {"data": event.get("data")})

    def event_grid_string(self, function: str, text: str) -> Invocation:
        """Event Grid bound as a string."""
        return self._invoke(function, {"ev": _string_trigger(text)}, {})

    def timer(self, function: str, schedule_status: bool = True) -> Invocation:
        """A timer; the host keeps no schedule status for intervals under a minute."""
        tick = "2026-11-16T09:00:00+00:00"
        status = {"Last": tick, "LastUpdated": tick, "Next": "2026-11-16T09:05:00+00:00"} if schedule_status else None
        value = {"Schedule": {"AdjustForDST": True}, "ScheduleStatus": status, "IsPastDue": False}
        return self._invoke(function, {"t": value}, {})

    def forward(self, function: str, headers: dict[str, str | bytes], body: bytes, method: str = "POST") -> Response:
        """With HTTP forwarding switched on, the caller's own request arrives at /api/<function>."""
        return send(self._url(f"api/{function}"), headers | self._headers(), body, method)

    def _invoke(self, function: str, data: dict, metadata: dict) -> Invocation:
        metadata = metadata | {
            "sys": {"MethodName": function, "UtcNow": "2026-11-16T09:00:00.0000000Z", "RandGuid": str(uuid.uuid4())}
        }
        envelope = json.dumps({"Data": data, "Metadata": metadata}).encode()
        headers = self._headers() | {"Content-Type": "application/json; charset=utf-8"}
        try:
            answer = send(self._url(function), headers, envelope, chunked=True)
        except OSError as error:
            raise InvocationFailed(0, f"no answer: {error}") from error
        return _read(answer)

    def _headers(self) -> dict[str, str]:
        return {
            "X-Azure-Functions-InvocationId": str(uuid.uuid4()),
            "X-Azure-Functions-HostVersion": HOST_VERSION,
            "User-Agent": f"Azure-Functions-Host/{HOST_VERSION}",
        }

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def _start(self) -> None:
        """Starts the handler and asks until it answers; starts it again when it ends, but not forever."""
        self._handler = processes.Process(self._name, self._command, self._env)
        try:
            self._handler.wait_until(lambda: processes.answers_http(self.port), "answering GET /")
        except processes.NotReady as error:
            self._handler.stop()
            self._exits += 1
            if self._exits == EXITS_UNTIL_STOP:
                raise HostStopped(str(error)) from error
            self._start()


def _string_trigger(text: str) -> str:
    """The host tries to make an object of the value, cannot, and encodes the string; the envelope encodes it again."""
    return json.dumps(text)


def _read(answer: Response) -> Invocation:
    if not 200 <= answer.status < 300:
        raise InvocationFailed(answer.status, answer.body.decode(errors="replace"))
    media_type = answer.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise InvocationFailed(answer.status, f"the content type is {media_type!r}, not JSON")
    try:
        result = json.loads(answer.body)
    except ValueError as error:
        raise InvocationFailed(answer.status, f"the body is not JSON: {error}") from error
    outputs = {name: _string_output(value) for name, value in (result.get("Outputs") or {}).items()}
    return Invocation(outputs, _string_output(result.get("ReturnValue")), result.get("Logs") or [])


def _string_output(value: object) -> object:
    """The trap: a string that happens to be base64 reaches its binding decoded."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value
