"""Log-ins of a Flask application of which only failures count, by login.yaml:

    right = guess(account, lambda: check_password(account, request.form["password"]))

Each guess is reserved before the password is looked at, so of 40 at once five reach it, and a right one is given
back. WEIR_URL says where weir is (https too), WEIR_TOKEN is its --http-token. No guesses left: 429 with Retry-After. While
weir is down or cannot be asked, nobody logs in and the client gets 503, because this is what stands between an account
and all the passwords of the world; `return is_right()` instead of abort(503) would let everybody guess.
"""
import json
import logging
import math
import os

import urllib3
from flask import Response, abort

token = os.environ.get("WEIR_TOKEN")
URL = os.environ.get("WEIR_URL", "http://127.0.0.1:6391")
weir = urllib3.PoolManager(maxsize=32, retries=False, timeout=urllib3.Timeout(total=2),
                           ca_certs=os.environ.get("SSL_CERT_FILE"), headers={"Authorization": f"Bearer {token}"} if token else {})
DECIDES, REFUSED = "decides again", "does not decide, log-ins are refused"


class state:
    told = DECIDES


def tell(what, why):
    """One line when that changes, and not one for each log-in."""
    if what != state.told:
        logging.getLogger("weir").warning("weir %s: %s", what, why)
    state.told = what


def ask(verb, **question):
    return json.loads(weir.request("POST", f"{URL}/v1/{verb}", body=json.dumps(question)).data)


def guess(account, is_right):
    """Whether `is_right()`. One that raises is as wrong. `account` is spelled as your database compares names."""
    try:
        told = ask("reserve", attributes={"account": account}, max_wait=0)
        if "allowed" not in told:
            raise ValueError(told)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        tell(REFUSED, error)
        abort(503)
    tell(DECIDES, "guesses are counted")
    if not told["allowed"]:
        abort(Response("Too many wrong passwords\n", 429, {"Retry-After": str(math.ceil(told["wait"]))}))
    right = is_right()
    if right:
        try:
            ask("settle", id=told["id"], actual=0)
        except (urllib3.exceptions.HTTPError, ValueError) as error:  # it counts as if it had failed
            tell(REFUSED, error)
    return right
