"""Limits a Django site by weir: "weir_django.Weir" in MIDDLEWARE, after AuthenticationMiddleware.

WEIR_URL says where weir is (https too), WEIR_TOKEN is its --http-token. Denied: 429 with Retry-After and the
RateLimit fields, which answers of the site carry too. When weir is down, takes longer than 200 ms or cannot decide,
the request passes; HttpResponse(status=503) would refuse it. When weir refuses to be asked, for want of the
right token or of a limits file, requests get 500. Each is logged when it begins and when it ends.
"""
import json
import logging
import os
import time

import urllib3
from django.http import HttpResponse

token = os.environ.get("WEIR_TOKEN")
URL = os.environ.get("WEIR_URL", "http://127.0.0.1:6391") + "/v1/check"
weir = urllib3.PoolManager(maxsize=32, retries=False, ca_certs=os.environ.get("SSL_CERT_FILE"),
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


class Weir:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        attributes = {"ip": request.META["REMOTE_ADDR"], "method": request.method, "path": request.path}
        attributes["user"] = getattr(getattr(request, "user", None), "pk", None)
        asked = {"attributes": {name: str(value) for name, value in attributes.items() if value}}
        try:
            answer = weir.request("POST", URL, body=json.dumps(asked), timeout=urllib3.Timeout(total=patience()))
            told = json.loads(answer.data)
            if "allowed" not in told and answer.status >= 500:
                raise ValueError(told)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            if state.told == REFUSES:
                return HttpResponse("Internal Server Error\n", status=500)
            tell(PASSES, error)
            return self.get_response(request)
        if misconfigured(answer.status, told):
            tell(REFUSES, told)
            return HttpResponse("Internal Server Error\n", status=500)
        tell(DECIDES, "requests are limited")
        allowed = told.get("allowed")
        response = self.get_response(request) if allowed else HttpResponse("Too many requests\n", status=answer.status)
        for name, value in answer.headers.items():
            if name.lower().startswith(("ratelimit", "x-ratelimit", "retry-")):
                response[name] = value
        return response
