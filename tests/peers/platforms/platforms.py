"""Every place a function can run, each started when first asked for and ended with the test session."""

import contextlib
import functools

import boto3
import botocore.config

import settings
from azure_host import AzureHost
from processes import Process, accepts_connections, answers_http, free_port


class Platforms:
    """One set of settings on all platforms. Processes of different sets are told apart by the set's name."""

    def __init__(self, name: str, stack: contextlib.ExitStack, **variables: str):
        self.name = name
        self._stack = stack
        self._env = settings.environment(**variables)

    @functools.cache
    def http(self, function: str) -> str:
        """A single function's binary, as Knative starts it. Returns its address."""
        return self._serve_http(function, [settings.binary(function)], {"K_SERVICE": function})

    @functools.cache
    def serve(self) -> str:
        """All functions in one process. Returns its address; functions are at /<function>."""
        return self._serve_http("serve", [settings.binary("pilotlight"), "serve"], {})

    @functools.cache
    def azure(self) -> AzureHost:
        host = AzureHost(f"{self.name}-azure", [settings.binary("pilotlight"), "serve"], self._env)
        self._stack.callback(host.stop)
        return host

    @functools.cache
    def lambda_emulator(self, function: str):
        """A function under AWS's runtime emulator. Returns a boto3 client; the emulator calls it `function`."""
        port, runtime_port = free_port(), free_port()
        command = [
            str(settings.LAMBDA_EMULATOR),
            f"--runtime-interface-emulator-address=127.0.0.1:{port}",
            f"--runtime-api-address=127.0.0.1:{runtime_port}",
            settings.binary(function),
        ]
        process = self._start(f"rie-{function}", command, self._lambda_variables(function))
        process.wait_until(lambda: accepts_connections(port), "accepting connections")
        return lambda_client(f"http://127.0.0.1:{port}")

    @functools.cache
    def watch(self) -> str:
        """`cargo lambda watch`, and every function's binary pointed at it. Returns its address."""
        port = free_port()
        command = [
            str(settings.VENV_BIN / "cargo-lambda"), "lambda", "watch", "--only-lambda-apis",
            "--invoke-address", "127.0.0.1", "--invoke-port", str(port),
        ]  # fmt: skip
        watch = self._start("watch", command, {})
        watch.wait_until(lambda: accepts_connections(port), "accepting connections")
        for function in settings.FUNCTIONS:
            runtime = {"AWS_LAMBDA_RUNTIME_API": f"http://127.0.0.1:{port}/.rt/{function}"}
            self._start(f"watched-{function}", [settings.binary(function)], self._lambda_variables(function) | runtime)
        return f"http://127.0.0.1:{port}"

    def _lambda_variables(self, function: str) -> dict[str, str]:
        return settings.AWS_CLIENT | {
            "AWS_LAMBDA_FUNCTION_NAME": function,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
            "AWS_LAMBDA_FUNCTION_TIMEOUT": "60",
        }

    def _serve_http(self, name: str, command: list[str], variables: dict[str, str]) -> str:
        port = free_port()
        process = self._start(f"http-{name}", command, {"PORT": str(port)} | variables)
        process.wait_until(lambda: answers_http(port), "answering HTTP")
        return f"http://127.0.0.1:{port}"

    def _start(self, name: str, command: list[str], variables: dict[str, str]) -> Process:
        process = Process(f"{self.name}-{name}", command, self._env | variables)
        self._stack.callback(process.stop)
        return process


@functools.cache
def lambda_client(endpoint: str):
    """boto3 without its retries: each answer counts."""
    return boto3.client(
        "lambda",
        endpoint_url=endpoint,
        region_name=settings.AWS_CLIENT["AWS_REGION"],
        aws_access_key_id=settings.AWS_CLIENT["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=settings.AWS_CLIENT["AWS_SECRET_ACCESS_KEY"],
        config=botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=30, parameter_validation=True),
    )
