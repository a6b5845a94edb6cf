"""APP: the name of the application, which keeps two of them apart that ask one weir. Said by connect(app=...) or WEIR_APP; else
guessed from what is nearest."""

from __future__ import annotations

import functools
import itertools
import os
import pathlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Callable

from weir.core import log

if TYPE_CHECKING:
    from weir import aio
    from weir.client import Client

# Every second project has a module of that name: the folder that it lies in says more.
_ANYBODY = {"__main__", "app", "asgi", "config", "main", "settings", "src", "wsgi"}
# What an application is made with and run by, which says nothing of it.
_FRAMEWORKS = {
    *("aiohttp", "asgiref", "blacksheep", "bottle", "celery", "cherrypy", "connexion", "daphne", "django", "emmett", "falcon"),
    *("fastapi", "fastapi_cli", "flask", "functools", "granian", "gunicorn", "hug", "hypercorn", "litestar", "mangum"),
    *("mod_wsgi", "pyramid", "quart", "rest_framework", "robyn", "sanic", "starlette", "tornado", "uvicorn", "uwsgi"),
    *("waitress", "weir", "werkzeug", "wsgiref"),
}
_SYSTEMS = {"home", "mnt", "opt", "root", "srv", "tmp", "usr", "var", "www"}  # folders of every machine
_told: set[str] = set()


def named(client: Client | aio.Client, guess: Callable[[], str]) -> str:
    """What this client's limits count under."""
    said = client.app or os.environ.get("WEIR_APP")
    if said:
        return said
    name = guess()
    if client.is_remote and name not in _told:
        _told.add(name)
        log.warning(
            "limits count under %r, guessed to be this application's name: set WEIR_APP, so that it stays when the code moves "
            "and no other application counts under it",
            name,
        )
    return name


@functools.lru_cache(maxsize=1024)
def of_module(name: str) -> str:
    """The top package of a module; where half the world has one of that name, the folder that it lies in."""
    main = sys.modules.get("__main__")
    if name == "__main__" and main is not None and main.__spec__ is not None:
        name = main.__spec__.name  # python -m package.module
    top = name.partition(".")[0]
    if top in _FRAMEWORKS:  # python -m uvicorn
        return _folder_name(pathlib.Path.cwd())
    return _folder_of(top) if top in _ANYBODY else top


def of_import_name(name: str) -> str:
    """Of Flask's import_name."""
    return of_module(name) if name in _ANYBODY else name


def of_object(application: Any) -> str:
    """Of an ASGI or WSGI application, which other middleware may be around."""
    application = getattr(application, "__self__", application)
    while hasattr(application, "app") and not hasattr(application, "routes"):
        application = application.app
    if hasattr(application, "import_name"):
        return of_import_name(str(application.import_name))
    views = (getattr(each, "endpoint", None) for each in listed(getattr(application, "routes", ())))
    for each in itertools.chain(views, [application]):
        module = getattr(each, "__module__", None)
        if module and module.partition(".")[0] not in _FRAMEWORKS:
            return of_module(module)
    return of_settings(os.environ.get("DJANGO_SETTINGS_MODULE"))


def listed(routes: Iterable[Any]) -> Iterator[Any]:
    """FastAPI keeps an included router as one route of a kind of its own, and lists what is in it."""
    lists = getattr(sys.modules.get("fastapi.routing"), "iter_route_contexts", iter)
    return (getattr(each, "starlette_route", None) or each for each in lists(routes))


def of_settings(module: str | None) -> str:
    """Of Django's settings module; a script may have none."""
    return of_module(module or "__main__")


def _folder_of(top: str) -> str:
    module = sys.modules.get(top)
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    place = next((pathlib.Path(each).absolute() for each in places if each), pathlib.Path.cwd() / top)
    folder = place.parent.parent if place.name.startswith("__init__.") else place.parent
    return _folder_name(pathlib.Path.cwd() if folder.name in ("bin", "Scripts") else folder)  # there a server's program lies


def _folder_name(folder: pathlib.Path) -> str:
    """The nearest that says something; else the folder's own."""
    names = [each.name for each in (folder, *folder.parents) if each.name]
    near = itertools.takewhile(lambda name: name not in _SYSTEMS, names)
    return next((each for each in near if each not in _ANYBODY), names[0] if names else "app")
