"""One HTTP request with headers as given: text goes out as Latin-1, as most Python clients do, bytes as they are."""

import http.client
import urllib.parse
from dataclasses import dataclass

TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes


def send(
    url: str, headers: dict[str, str | bytes], body: bytes, method: str = "POST", chunked: bool = False
) -> Response:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.putrequest(method, parts.path or "/")
        for name, value in headers.items():
            connection.putheader(name, value)
        if chunked:
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders([body] if body else [], encode_chunked=True)
        else:
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
        answer = connection.getresponse()
        return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()
