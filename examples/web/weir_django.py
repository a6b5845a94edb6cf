"""Limits a Django site by weir: "weir_django.Weir" in MIDDLEWARE, after AuthenticationMiddleware.

Denied: 429 with Retry-After and the RateLimit fields, which answers of the site carry too. When weir is down, takes
longer than 200 ms or cannot decide, the request passes and a line is logged; HttpResponse(status=503) would refuse it.
"""
import json
import logging
import os

import urllib3
from django.http import HttpResponse

weir = urllib3.connection_from_url(os.environ.get("WEIR_URL", "http://127.0.0.1:6391"),
                                   maxsize=32, timeout=urllib3.Timeout(total=0.2), retries=False)


class Weir:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        attributes = {"ip": request.META["REMOTE_ADDR"], "method": request.method, "path": request.path}
        attributes["user"] = getattr(getattr(request, "user", None), "pk", None)
        asked = {"attributes": {name: str(value) for name, value in attributes.items() if value}}
        try:
            answer = weir.request("POST", "/v1/check", body=json.dumps(asked))
            told = json.loads(answer.data)
            if "allowed" not in told and answer.status != 400:  # 400: the attributes are not what the limits require
                raise ValueError(told)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            logging.getLogger("weir").warning("weir did not decide, the request passes: %s", error)
            return self.get_response(request)
        allowed = told.get("allowed")
        response = self.get_response(request) if allowed else HttpResponse("Too many requests\n", status=answer.status)
        for name, value in answer.headers.items():
            if name.lower().startswith(("ratelimit", "x-ratelimit", "retry-")):
                response[name] = value
        return response
