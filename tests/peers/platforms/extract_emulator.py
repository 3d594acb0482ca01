"""Takes the Lambda runtime emulator and AWS's own sample events out of the aws-sam-cli wheel."""

import sys
import zipfile
from pathlib import Path

EVENTS = "samcli/lib/generated_sample_events/events/"
WANTED_EVENTS = ["sqs/Sqs.json", "cloudwatch/ScheduledEvent.json", "apigateway/HttpApi.json"]


def main(wheels: Path, machine: str, tools: Path) -> None:
    [wheel] = wheels.glob("aws_sam_cli-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        emulator = tools / "aws-lambda-rie"
        emulator.write_bytes(archive.read(f"samcli/local/rapid/aws-lambda-rie-{machine}"))
        emulator.chmod(0o755)
        for event in WANTED_EVENTS:
            copy = tools / "aws-events" / Path(event).name
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(archive.read(EVENTS + event))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
