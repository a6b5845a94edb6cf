"""Limits a FastAPI or Starlette application by weir: app.middleware("http")(ask_weir).

Denied: 429 with Retry-After and the RateLimit fields, which answers of the application carry too. When weir is down,
takes longer than 200 ms or cannot decide, the request passes and a line is logged; PlainTextResponse("", 503) would
refuse it.
"""
import logging
import os

import httpx
from starlette.responses import PlainTextResponse

weir = httpx.AsyncClient(base_url=os.environ.get("WEIR_URL", "http://127.0.0.1:6391"), timeout=0.2)


async def ask_weir(request, call_next):
    attributes = {"ip": request.client and request.client.host, "method": request.method, "path": request.scope["path"]}
    # Set by what authenticates your users: a middleware that is added after this one runs before it.
    attributes["user"] = getattr(request.state, "user", None)
    asked = {"attributes": {name: str(value) for name, value in attributes.items() if value}}
    try:
        answer = await weir.post("/v1/check", json=asked)
        told = answer.json()
        if "allowed" not in told and answer.status_code != 400:  # 400: the attributes are not what the limits require
            raise ValueError(told)
    except (httpx.HTTPError, ValueError) as error:
        logging.getLogger("weir").warning("weir did not decide, the request passes: %r", error)
        return await call_next(request)
    allowed = told.get("allowed")
    response = await call_next(request) if allowed else PlainTextResponse("Too many requests\n", answer.status_code)
    for name, value in answer.headers.items():
        if name.startswith(("ratelimit", "x-ratelimit", "retry-")):
            response.headers[name] = value
    return response
