"""Log-ins of a Flask application of which only failures count, by login.yaml; `pip install weir-client[flask]`:

    right = guess(account, lambda: check_password(account, request.form["password"]))

Each guess is reserved before the password is looked at, so of 40 at once five reach it, and a right one is given
back. WEIR_URL says where weir is (weirs:// too), WEIR_PASSWORD is its password. No guesses left: 429 with Retry-After. While
weir is down or cannot be asked, nobody logs in and the client gets 503, because this is what stands between an account
and all the passwords of the world; `return is_right()` instead of abort(503) would let everybody guess.
"""
import logging
import math

import weir
from flask import Response, abort

client = weir.connect(on_error="raise", timeout=2)


def guess(account, is_right):
    """Whether `is_right()`. One that raises is as wrong. `account` is spelled as your database compares names."""
    try:
        reserved = client.reserve(account=account)
    except weir.Denied as denied:
        wait = denied.decision.retry_after  # None: waiting does not help, as for an account that the file denies
        headers = {"Retry-After": str(math.ceil(wait))} if wait is not None else None
        abort(Response("Too many wrong passwords\n", 429, headers))
    except weir.Error as error:
        tell(error)
        abort(503)
    right = is_right()
    if right:
        try:
            reserved.settle(0)
        except weir.Error as error:  # it counts as if it had failed
            tell(error)
    return right


def tell(error):
    """The client says itself, once, that weir has gone and that it is back; not that it may not ask."""
    if not isinstance(error, weir.Unavailable):
        logging.getLogger("weir").error("weir cannot be asked like this, log-ins are refused: %s", error)
