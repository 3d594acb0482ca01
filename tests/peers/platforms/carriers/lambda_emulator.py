"""Lambda under AWS's own runtime emulator: direct invoke, HTTP envelopes, queues and the event bus."""

import aws_events
import table
import view
from carriers.carrier import REPLY, STRUCTURED, Carrier, one_by_one
from carriers.python_sdk import message
from corpus import Delivery, LeftOut
from http_client import Response
from platforms import Platforms


def invoke(platforms: Platforms, function: str, payload: bytes) -> object:
    """Invokes by boto3. An error has no header here, unlike on real Lambda, so it shows in the body only."""
    answer = platforms.lambda_emulator(function).invoke(FunctionName="function", Payload=payload)
    return view.json_or_text(answer["Payload"].read())


def of_invoke(returned: object) -> dict:
    if isinstance(returned, dict) and "errorType" in returned:
        return {"functionError": returned.get("errorMessage")}
    return {"returned": returned}


def of_http_envelope(returned: object) -> dict:
    """What the caller of a function URL gets."""
    if not isinstance(returned, dict) or "statusCode" not in returned:
        return of_invoke(returned)
    headers = {name.lower(): value for name, value in (returned.get("headers") or {}).items()}
    assert not returned.get("isBase64Encoded"), "an answer is text"
    return view.of_http(Response(returned["statusCode"], headers, (returned.get("body") or "").encode()))


def of_batch(returned: object) -> dict:
    if not isinstance(returned, dict) or "batchItemFailures" not in returned:
        return of_invoke(returned)
    return {"failed": ["the message" for _ in returned["batchItemFailures"]]}


def _direct(platforms: Platforms, delivery: Delivery) -> dict:
    return of_invoke(invoke(platforms, delivery.function, delivery.body))


def _url(envelope, headers: dict[str, str]):
    def send_one(platforms: Platforms, delivery: Delivery) -> dict:
        return of_http_envelope(invoke(platforms, delivery.function, envelope(headers, delivery.body)))

    return one_by_one(send_one)


def _url_binary(platforms: Platforms, delivery: Delivery) -> dict | LeftOut:
    made = message("core", delivery, "binary")
    if isinstance(made, LeftOut):
        return made
    headers, body = made
    return of_http_envelope(invoke(platforms, delivery.function, aws_events.function_url(headers | REPLY, body)))


def _sqs(fifo: bool):
    def send_one(platforms: Platforms, delivery: Delivery) -> dict | LeftOut:
        if delivery.text is None:
            return LeftOut("a message of a queue is text, this is not UTF-8")
        batch = aws_events.sqs([delivery.text], ["group"] if fifo else None)
        return of_batch(invoke(platforms, delivery.function, batch))

    return one_by_one(send_one)


def _event_bridge(platforms: Platforms, delivery: Delivery) -> dict | LeftOut:
    if delivery.value is None:
        return LeftOut("the event bus carries one JSON object with every key once")
    return of_invoke(invoke(platforms, delivery.function, aws_events.event_bridge(delivery.value)))


CARRIERS = [
    Carrier("lambda emulator: invoke", one_by_one(_direct), table.lambda_invoke),
    Carrier("lambda emulator: function URL", _url(aws_events.function_url, STRUCTURED), table.http),
    Carrier(
        "lambda emulator: function URL, reply", _url(aws_events.function_url, STRUCTURED | REPLY), table.http_reply
    ),
    Carrier("lambda emulator: function URL binary, reply", one_by_one(_url_binary), table.http_reply),
    Carrier("lambda emulator: API Gateway, reply", _url(aws_events.api_gateway, STRUCTURED | REPLY), table.http_reply),
    Carrier("lambda emulator: EventBridge", one_by_one(_event_bridge), table.lambda_invoke),
    Carrier("lambda emulator: SQS", _sqs(fifo=False), table.sqs),
    Carrier("lambda emulator: SQS FIFO", _sqs(fifo=True), table.sqs),
]
