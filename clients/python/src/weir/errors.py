"""What can go wrong, as exceptions; what an error reply of weir means."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weir.decision import Decision

# Error replies that are about the connection or the server, and no answer to the question.
_AWAY = ("ERR max number of clients", "ERR closed:", "ERR the server is shutting down")
_UNAUTHORIZED = ("NOAUTH", "WRONGPASS", "NOPERM", "ERR too many wrong passwords")


class Error(Exception):
    """What all of them are."""


class Unavailable(Error):
    """No answer: `on_error` says what happens."""


class Refused(Error):
    """weir says what is wrong with the question, or the server is not one that can be asked."""


class Unauthorized(Error):
    """The server does not let this client in, or this client does not trust the server."""


class Denied(Error):
    """The limit has no room. `decision` says when it has."""

    def __init__(self, decision: Decision) -> None:
        if not decision.decided:
            why = f"weir does not answer: {decision.error}"
        elif decision.never or decision.retry_after is None:
            why = "waiting does not help"
        else:
            why = f"retry after {decision.retry_after:g} s"
        super().__init__(f"denied by {decision.by}; {why}" if decision.by else f"denied; {why}")
        self.decision = decision


class NotWritten(Exception):
    """No byte of the question has left: it may be asked elsewhere. Never seen by a caller."""


def of_reply(text: str) -> Error:
    """The exception for an error reply."""
    if text.startswith(_AWAY):
        return Unavailable(text[4:])
    if text.startswith(_UNAUTHORIZED):
        return Unauthorized(text)
    return Refused(text[4:] if text.startswith("ERR ") else text)
