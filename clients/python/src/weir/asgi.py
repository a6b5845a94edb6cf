"""Limits for an ASGI application, whatever its framework: `app = weir.asgi.Middleware(app)`, or Starlette's
`app.add_middleware(weir.asgi.Middleware)`.

Denied: 429 with Retry-After and the RateLimit fields, which other answers carry too. WebSockets pass.
"""

from __future__ import annotations

from collections.abc import Awaitable, MutableMapping
from typing import TYPE_CHECKING, Any, Callable

from weir import application, web
from weir.web import Answer, OfAll, user_id
from weir.words import Value

if TYPE_CHECKING:
    from typing_extensions import Unpack

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def scope_attributes(scope: Scope) -> dict[str, Value]:
    """`user` is request.state.user, or its id: what a middleware around this one has set."""
    state: dict[str, Any] = scope.get("state") or {}
    return {"ip": address(scope), "method": scope["method"], "path": scope["path"], "user": user_id(state.get("user"))}


def address(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


def forwarded(scope: Scope) -> str | None:
    found = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"x-forwarded-for"]
    return ",".join(found) or None


ASGI = web.Framework(
    attributes=scope_attributes,
    address=address,
    forwarded=forwarded,
    trusts="uvicorn takes the client's address from there with --proxy-headers --forwarded-allow-ips=PROXY",
    app=lambda scope, app: application.of_object(app),
    name=lambda scope, app: web.EVERYWHERE,
    state=lambda scope: scope,
)


class Middleware:
    """Asks about each request before the application sees it: by the limits file, or by `rules` for each address. `key`,
    `exempt` and `on_denied` are functions of the scope; on_denied answers an ASGI application, as Starlette's responses are."""

    def __init__(self, app: App, **said: Unpack[OfAll]) -> None:
        self._app = app
        self._gate = web.around_all(ASGI, app, said)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        answer = await self._gate.check_async(scope)

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start" and answer.fields:
                there = list(message.get("headers", []))
                message = {**message, "headers": there + pairs(answer.added(name.decode("latin-1") for name, _ in there))}
            await send(message)

        app = self._app
        if answer.status == 429 and answer.decision is not None and self._gate.on_denied is not None:
            app = await web.awaited(self._gate.on_denied(scope, answer.decision))
        elif answer.status is not None:
            return await refuse(answer, send)
        await app(scope, receive, tell)


async def refuse(answer: Answer, send: Send) -> None:
    text = f"{answer.text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    headers += pairs(list(answer.fields))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def pairs(fields: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in fields]
