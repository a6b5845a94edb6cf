"""Limits for an ASGI application, whatever its framework: `app = weir.asgi.Middleware(app)`, or Starlette's
`app.add_middleware(weir.asgi.Middleware)`.

Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too. WebSockets pass.
"""
from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, MutableMapping, Optional, Tuple

from weir import aio
from weir.core import OnError
from weir.web import Answer, Attributes, Gate, identity
from weir.words import Value

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def scope_attributes(scope: Scope) -> Dict[str, Value]:
    """`user` is request.state.user, or its id: what a middleware around this one has set."""
    state = scope.get("state") or {}
    return {"ip": address(scope), "method": scope["method"], "path": scope["path"], "user": identity(state.get("user"))}


def address(scope: Scope) -> Optional[str]:
    client = scope.get("client")
    return client[0] if client else None


class Middleware:
    """Asks about each request before the application sees it."""

    def __init__(
        self,
        app: App,
        *,
        client: Optional[aio.Client] = None,
        attributes: Attributes = scope_attributes,
        on_error: Optional[OnError] = None,
    ) -> None:
        self._app = app
        self._gate = Gate(attributes, client=client, on_error=on_error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        answer = await self._gate.check_async(scope)
        if answer.status is not None:
            return await refuse(answer, send)

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start" and answer.fields:
                there = list(message.get("headers", []))
                message = {**message, "headers": there + pairs(answer.added(name.decode("latin-1") for name, _ in there))}
            await send(message)

        await self._app(scope, receive, tell)


async def refuse(answer: Answer, send: Send) -> None:
    text = answer.text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    headers += pairs(list(answer.fields))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def pairs(fields: List[Tuple[str, str]]) -> List[Tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in fields]
