"""Every way an event can reach a function, as one list: a carrier sends deliveries and knows what must come back."""

from carriers import azure, http, javascript_sdk, lambda_emulator, lambda_watch, python_sdk
from carriers.carrier import Carrier

CARRIERS: list[Carrier] = [
    *http.CARRIERS,
    *python_sdk.CARRIERS,
    *javascript_sdk.CARRIERS,
    *lambda_emulator.CARRIERS,
    *lambda_watch.CARRIERS,
    *azure.CARRIERS,
]
