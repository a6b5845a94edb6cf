"""Limits a FastAPI or Starlette application by weir: app.middleware("http")(ask_weir).

WEIR_URL says where weir is (https too), WEIR_TOKEN is its --http-token. Denied: 429 with Retry-After and the
RateLimit fields, which answers of the application carry too. When weir is down, takes longer than 200 ms or cannot decide,
the request passes; PlainTextResponse("", 503) would refuse it. When weir refuses to be asked, for want of the
right token or of a limits file, requests get 500. Each is logged when it begins and when it ends.
"""
import logging
import os
import time

import httpx
from starlette.responses import PlainTextResponse

token = os.environ.get("WEIR_TOKEN")
weir = httpx.AsyncClient(base_url=os.environ.get("WEIR_URL", "http://127.0.0.1:6391"),
                         headers={"Authorization": f"Bearer {token}"} if token else {})

QUICK, PATIENT = 0.2, 2.0  # seconds; weir holds the answer to a wrong token back for one
DECIDES, PASSES, REFUSES = "decides again", "did not decide, the request passes", "cannot be asked like this, requests get 500"


class state:
    told, waited = DECIDES, None


def tell(what, why):
    """One line when that changes, and not one for each request."""
    if what != state.told:
        logging.getLogger("weir").log(logging.ERROR if what == REFUSES else logging.WARNING, "weir %s: %s", what, why)
    state.told = what


def patience():
    """Little, but at first and then every 10 s of an outage enough to be told what is wrong."""
    now = time.monotonic()
    if state.waited is None or state.told != DECIDES and now > state.waited + 10:
        state.waited = now
        return PATIENT
    return QUICK


def misconfigured(status, told):
    """Not for the client of this request to mend. (Any other 400: it lacks an attribute that a limit requires.)"""
    return "allowed" not in told and (status != 400 or "no limits file" in str(told))


async def ask_weir(request, call_next):
    attributes = {"ip": request.client and request.client.host, "method": request.method, "path": request.scope["path"]}
    # Set by what authenticates your users: a middleware that is added after this one runs before it.
    attributes["user"] = getattr(request.state, "user", None)
    asked = {"attributes": {name: str(value) for name, value in attributes.items() if value}}
    try:
        answer = await weir.post("/v1/check", json=asked, timeout=patience())
        told = answer.json()
        if "allowed" not in told and answer.status_code >= 500:
            raise ValueError(told)
    except (httpx.HTTPError, ValueError) as error:
        if state.told == REFUSES:
            return PlainTextResponse("Internal Server Error\n", 500)
        tell(PASSES, repr(error))
        return await call_next(request)
    if misconfigured(answer.status_code, told):
        tell(REFUSES, told)
        return PlainTextResponse("Internal Server Error\n", 500)
    tell(DECIDES, "requests are limited")
    allowed = told.get("allowed")
    response = await call_next(request) if allowed else PlainTextResponse("Too many requests\n", answer.status_code)
    for name, value in answer.headers.items():
        if name.startswith(("ratelimit", "x-ratelimit", "retry-")):
            response.headers[name] = value
    return response
