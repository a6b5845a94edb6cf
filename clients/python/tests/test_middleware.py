"""clients/cases/middleware.json: what a limit means in a framework, and who shares one."""

import asyncio
import json
import logging
import unittest

import test_web
from test_web import (
    PATIENCE,
    HttpResponse,
    WSGIHandler,
    asgi_ask,
    django,
    fastapi,
    flask,
    override_settings,
    run_at_once,
    starlette,
    weir,
    wsgi_ask,
)
from world import CASES, Weir

TABLE = json.loads((CASES / "middleware.json").read_text())["cases"]
PLAIN = starlette.responses.PlainTextResponse


class Cases:
    """`app(all, routes)` is an application of the framework, as it is asked, of whole-application limits and of routes, which
    are (under, path, handler's name, limits); `header` is one of what its limits are told, `answer` what on_denied answers."""

    module = weir

    def setUp(self):
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)

    def test_cases(self):
        self.assertGreater(len(TABLE), 20)
        for case in TABLE:
            if case.get("of", "placed") == "placed":
                with self.subTest(case["name"]), Weir() as server:
                    self.run_case(case, server)

    def run_case(self, case, server):
        asks, clients = [], []
        for said in case["apps"]:
            clients.append(self.module.connect(server.url, app=said.get("app", "shop"), timeout=PATIENCE))
            made = {name: self.words(limit, clients[-1]) for name, limit in case["limits"].items()}
            decorators = {name: type(self).limit(*rules, **options) for name, (rules, options) in made.items()}
            routes = [
                (
                    each.get("under", ""),
                    each["path"],
                    each.get("handler", "hello"),
                    [decorators[name] for name in each.get("limits", ())],
                )
                for each in said["routes"]
            ]
            asks.append(self.app([made[name] for name in said.get("all", ())], routes))
        for step in case["steps"]:
            with self.subTest(json.dumps(step)):
                self.step(step, server, asks[step.get("app", 0)])
        for client in clients:
            closed = client.close()
            if closed is not None:
                self.loop.run_until_complete(closed)

    def step(self, step, server, ask):
        if "advance_ms" in step:
            return server.advance(step["advance_ms"])
        if "guess" in step:
            through = 0
            for _ in range(step["times"]):
                through += ask(step["guess"], ip="127.0.0.1")[0] == 200
                server.advance(step["every_ms"])
            least, most = step["passes"]
            return self.assertTrue(least <= through <= most, through)
        answers = [
            ask(step["ask"], ip=step.get("from", "127.0.0.1"), headers=step.get("headers", {})) for _ in step["statuses"]
        ]
        self.assertEqual([status for status, *_ in answers], step["statuses"])
        _, headers, text = answers[-1]
        self.assertEqual({name: headers.get(name) for name in step.get("fields", {})}, step.get("fields", {}))
        if "text" in step:
            self.assertEqual(text, step["text"])

    def words(self, said, client):
        """The rules and the options of a limit."""
        options = {"client": client, **{name: said[name] for name in ("name", "key", "cost") if name in said}}
        if "key" in said and isinstance(said["key"], dict):
            options["key"] = lambda request: self.header(request, said["key"]["header"])
        if "cost" in said and isinstance(said["cost"], dict):
            options["cost"] = lambda request: int(self.header(request, said["cost"]["header"]))
        if "exempt" in said:
            options["exempt"] = lambda request: self.header(request, said["exempt"]["header"])
        if "on_denied" in said:
            options["on_denied"] = lambda request, decision: self.answer(
                f"again in {decision.retry_after:g} s", said["on_denied"]["status"]
            )
        return said["rules"], options

    def limited(self, view, name, limits):
        """As its source would be, with the decorators one above another."""
        view.__name__ = name
        for each in reversed(limits):
            view = each(view)
        return view

    def header(self, request, name):
        return request.headers.get(name)

    def wsgi(self, app):
        ask = wsgi_ask(app)
        return lambda path, ip, headers={}: ask(
            path, ip=ip, **{f"HTTP_{name.upper().replace('-', '_')}": headers[name] for name in headers}
        )


class Flask(Cases, unittest.TestCase):
    limit = staticmethod(weir.flask.limit)

    def answer(self, text, status):
        return text, status

    def app(self, all, routes):
        app = flask.Flask("test")
        for rules, options in all:
            weir.flask.Weir(app, rules=rules, **options)
        for number, (under, path, name, limits) in enumerate(routes):
            blueprint = flask.Blueprint(f"b{number}", "test", url_prefix=under.replace("{", "<").replace("}", ">") or None)
            blueprint.add_url_rule(path, name, self.limited(lambda **_: "hello", name, limits))
            app.register_blueprint(blueprint)
        return self.wsgi(app)


class FastApi(Cases, unittest.TestCase):
    limit = staticmethod(weir.fastapi.limit)
    module = weir.aio

    def answer(self, text, status):
        return PLAIN(text, status)

    def header(self, request, name):  # of a request, or of the middleware's scope
        return starlette.requests.Headers(scope=request if isinstance(request, dict) else request.scope).get(name)

    def app(self, all, routes):
        app = fastapi.FastAPI()
        for rules, options in reversed(all):  # what is added last is asked first
            app.add_middleware(weir.asgi.Middleware, rules=rules, **options)
        for under, path, name, limits in routes:

            async def view():
                return PLAIN("hello")

            router = fastapi.APIRouter(prefix=under)
            router.get(path)(self.limited(view, name, limits))
            app.include_router(router)
        return asgi_ask(app, self.loop)


class Starlette(FastApi):
    def app(self, all, routes):
        def mounted(under, path, name, limits):
            async def view(request):
                return PLAIN("hello")

            route = starlette.routing.Route(path, self.limited(view, name, limits))
            return starlette.routing.Mount(under, routes=[route]) if under else route

        app = starlette.applications.Starlette(routes=[mounted(*each) for each in routes])
        for rules, options in reversed(all):
            app.add_middleware(weir.asgi.Middleware, rules=rules, **options)
        return asgi_ask(app, self.loop)


class Django(Cases, unittest.TestCase):
    limit = staticmethod(weir.django.limit)

    def setUp(self):
        super().setUp()
        logging.getLogger("django.request").setLevel(logging.ERROR)  # it would tell each 429

    def answer(self, text, status):
        return HttpResponse(text, status=status)

    def app(self, all, routes):
        def mounted(under, path, name, limits):
            view = self.limited(lambda request, **_: HttpResponse("hello"), name, limits)
            at = django.urls.path(path[1:], view)
            under = under[1:].replace("{", "<").replace("}", ">")
            return django.urls.path(f"{under}/", django.urls.include([at])) if under else at

        def middleware(number, rules, options):
            said = {
                name: staticmethod(value) if callable(value) and name != "client" else value for name, value in options.items()
            }
            setattr(test_web, f"Case{number}", type("Case", (weir.django.Middleware,), {"rules": tuple(rules), **said}))
            return f"test_web.Case{number}"

        patterns = [mounted(*each) for each in routes]
        with override_settings(MIDDLEWARE=[middleware(number, *each) for number, each in enumerate(all)]):
            ask = self.wsgi(WSGIHandler())

        def asked(*words, **options):  # a process has the patterns of one application
            test_web.urlpatterns[:] = patterns
            django.urls.clear_url_caches()
            return ask(*words, **options)

        return asked


if __name__ == "__main__":
    run_at_once()
