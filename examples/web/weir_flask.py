"""Limits a Flask application by weir: app.before_request(ask_weir); app.after_request(tell_what_is_left).

Denied: 429 with Retry-After and the RateLimit fields, which answers of the application carry too. When weir is down,
takes longer than 200 ms or cannot decide, the request passes and a line is logged; `return "", 503` would refuse it.
"""
import json
import logging
import os

import urllib3
from flask import Response, g, request

weir = urllib3.connection_from_url(os.environ.get("WEIR_URL", "http://127.0.0.1:6391"),
                                   maxsize=32, timeout=urllib3.Timeout(total=0.2), retries=False)


def ask_weir():
    # g.user is set by what authenticates your users, before this.
    attributes = {"ip": request.remote_addr, "method": request.method, "path": request.path, "user": g.get("user")}
    asked = {"attributes": {name: str(value) for name, value in attributes.items() if value}}
    try:
        answer = weir.request("POST", "/v1/check", body=json.dumps(asked))
        told = json.loads(answer.data)
        if "allowed" not in told and answer.status != 400:  # 400: the attributes are not what the limits require
            raise ValueError(told)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        logging.getLogger("weir").warning("weir did not decide, the request passes: %s", error)
        return None
    g.weir = [(k, v) for k, v in answer.headers.items() if k.lower().startswith(("ratelimit", "x-ratelimit", "retry-"))]
    return None if told.get("allowed") else Response("Too many requests\n", answer.status)


def tell_what_is_left(response):
    response.headers.extend(g.get("weir", []))
    return response
