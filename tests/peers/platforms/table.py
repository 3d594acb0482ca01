"""The table of answers (design, "Fixed edges") as data: what each carrier must show for an answer."""

ANSWER_TYPE = "dev.pilotlight.answer.v1"


def http(answer: dict) -> dict:
    """202 empty, because a broker takes a body that is no CloudEvent for a failed delivery; errors carry the answer."""
    match answer["outcome"]:
        case "done" | "nothing":
            return {"status": 202, "retryAfter": None, "body": ""}
        case "later":
            return {"status": 202, "retryAfter": str(answer["retryAfterSeconds"]), "body": ""}
        case "refused":
            return {"status": 400, "retryAfter": None, "body": answer}
        case "failed":
            return {"status": 503, "retryAfter": str(answer["retryAfterSeconds"]), "body": answer}


def http_reply(answer: dict) -> dict:
    """With `Prefer: reply` the answer is a CloudEvent; errors are as without."""
    if answer["outcome"] in ("refused", "failed"):
        return http(answer)
    return {"status": 200, "type": ANSWER_TYPE, "answer": answer}


def http_batch(answer: dict) -> dict:
    """A batch of one: one bad event refuses all, and the reason names its index."""
    return _with_index(http(answer))


def http_batch_reply(answer: dict) -> dict:
    if answer["outcome"] in ("refused", "failed"):
        return http_batch(answer)
    return {"status": 200, "replies": [{"type": ANSWER_TYPE, "answer": answer}]}


def lambda_invoke(answer: dict) -> dict:
    if answer["outcome"] == "failed":
        return {"functionError": answer["reason"]}
    return {"returned": answer}


def lambda_invoke_without_error_text(answer: dict) -> dict:
    """For an emulator whose errors boto3 cannot read."""
    if answer["outcome"] == "failed":
        return {"functionError": True}
    return {"returned": answer}


def sqs(answer: dict) -> dict:
    """Only what may work next time goes back to the queue."""
    return {"failed": ["the message"] if answer["outcome"] == "failed" else []}


def azure_http(answer: dict) -> dict:
    return {"host": 200, "res": http(answer), "returnValue": answer}


def azure_http_reply(answer: dict) -> dict:
    return {"host": 200, "res": http_reply(answer), "returnValue": answer}


def azure_message(answer: dict) -> dict:
    if answer["outcome"] == "failed":
        return {"host": "5xx"}
    return {"host": 200, "returnValue": answer}


def _with_index(shown: dict) -> dict:
    if shown["body"]:
        body = shown["body"]
        shown = shown | {"body": body | {"reason": f"event at index 0 of the batch: {body['reason']}"}}
    return shown


def of_mode(mode: str, reply: bool):
    """The row of the table for a CloudEvents content mode."""
    if mode == "batched":
        return http_batch_reply if reply else http_batch
    return http_reply if reply else http
