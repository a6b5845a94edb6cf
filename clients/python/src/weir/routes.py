"""Where a request is, as its route is written: the path of a route of Starlette or FastAPI, with its mounts and prefixes. What
stands there in a request's own path its client chooses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette import routing

from weir import application

_KEPT = "_weir_routes"  # of a router


@dataclass(frozen=True)
class Leaf:
    path: str
    route: Any

    def matches(self, path: str, method: str) -> bool:
        methods = getattr(self.route, "methods", None)
        return (not methods or method in methods) and routing.compile_path(self.path)[0].match(path) is not None


def of(scope: Mapping[str, Any]) -> tuple[str, Any] | None:
    """The path and its route; None: no router has chosen one."""
    router, endpoint = scope.get("router"), scope.get("endpoint")
    if router is None:
        return None
    leaves: dict[Any, list[Leaf]]
    count, leaves = getattr(router, _KEPT, (-1, {}))
    if count != len(router.routes):
        leaves = {}
        for leaf in _leaves(router.routes, ""):
            leaves.setdefault(getattr(leaf.route, "endpoint", None), []).append(leaf)
        setattr(router, _KEPT, (len(router.routes), leaves))
    found = leaves.get(endpoint, [])
    if len(found) > 1:
        path = _whole_path(scope)
        found = [each for each in found if each.matches(path, scope["method"])] or found
    return (found[0].path, found[0].route) if found else None


def _leaves(routes: Any, before: str) -> Iterator[Leaf]:
    for route in application.listed(routes):
        path = before + str(getattr(route, "path", None) or getattr(route, "host", ""))
        inner = getattr(route, "routes", None)
        if inner:
            yield from _leaves(inner, path)
        else:
            yield Leaf(path, route)


def _whole_path(scope: Mapping[str, Any]) -> str:
    """As the outermost router saw it. Older mounts take their part off the path; it is in root_path then."""
    root, now = scope.get("app_root_path", scope.get("root_path", "")), scope.get("root_path", "")
    if hasattr(routing, "get_route_path"):
        return str(scope["path"]).removeprefix(root)
    return str(now[len(root) :] + scope["path"])
