"""Lambda under `cargo lambda watch`: invoked by boto3, by `cargo lambda invoke`, and by its function URL."""

import subprocess
import tempfile
import urllib.parse

import botocore.exceptions

import settings
import table
import view
from carriers.carrier import REPLY, STRUCTURED, Carrier, one_by_one
from corpus import Delivery, LeftOut
from http_client import send
from platforms import Platforms, lambda_client


def _boto3(platforms: Platforms, delivery: Delivery) -> dict:
    """An error is a 500 here, unlike on real Lambda, and boto3 finds no text in it."""
    client = lambda_client(platforms.watch())
    try:
        answer = client.invoke(FunctionName=delivery.function, Payload=delivery.body)
    except botocore.exceptions.ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 500:
            return {"functionError": True}
        raise
    return {"returned": view.json_or_text(answer["Payload"].read())}


def _cargo_lambda(platforms: Platforms, delivery: Delivery) -> dict | LeftOut:
    if delivery.text is None:
        return LeftOut("cargo lambda invoke reads a file as text, this is not UTF-8")
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(delivery.body)
        file.flush()
        command = [
            str(settings.VENV_BIN / "cargo-lambda"), "lambda", "invoke", "--invoke-address", "127.0.0.1",
            "--invoke-port", str(urllib.parse.urlsplit(platforms.watch()).port), "--data-file", file.name,
            "--output-format", "json", delivery.function,
        ]  # fmt: skip
        run = subprocess.run(command, env=settings.environment(), capture_output=True, text=True, timeout=30)
    if run.returncode:
        return {"functionError": True} if "rehearsed: failed" in run.stderr else {"stderr": run.stderr}
    return {"returned": view.json_or_text(run.stdout.encode())}


def _url(headers: dict[str, str]):
    def send_one(platforms: Platforms, delivery: Delivery) -> dict:
        return view.of_http(send(f"{platforms.watch()}/lambda-url/{delivery.function}/", headers, delivery.body))

    return one_by_one(send_one)


CARRIERS = [
    Carrier("lambda watch: boto3", one_by_one(_boto3), table.lambda_invoke_without_error_text),
    Carrier("lambda watch: cargo lambda invoke", one_by_one(_cargo_lambda), table.lambda_invoke_without_error_text),
    Carrier("lambda watch: function URL", _url(STRUCTURED), table.http),
    Carrier("lambda watch: function URL, reply", _url(STRUCTURED | REPLY), table.http_reply),
]
