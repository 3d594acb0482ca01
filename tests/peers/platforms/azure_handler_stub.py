"""A custom handler for testing the emulated Azure host: shows what it was sent, or answers wrongly when asked to."""

import http.server
import json
import os


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(404, "text/plain", b"")

    def do_POST(self):
        envelope = json.loads(self.chunks())
        headers = {name.lower(): value for name, value in self.headers.items()}
        match self.path.strip("/"):
            case "echo":
                self.json({"ReturnValue": {"headers": headers, "envelope": envelope}})
            case "status-400":
                self.answer(400, "application/json", b"{}")
            case "status-503":
                self.answer(503, "application/json", b"{}")
            case "not-json":
                self.answer(200, "application/json", b"fine")
            case "json-called-text":
                self.answer(200, "text/plain", b"{}")
            case "string-outputs":
                self.json({"Outputs": {"trapped": "test", "safe": '{"a":1}'}})

    def chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def json(self, value):
        self.answer(200, "application/json", json.dumps(value).encode())

    def answer(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    address = ("127.0.0.1", int(os.environ["FUNCTIONS_CUSTOMHANDLER_PORT"]))
    http.server.ThreadingHTTPServer(address, Handler).serve_forever()
