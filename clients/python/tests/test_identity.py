"""What a limit is called where nobody says it, in the frameworks: applications, views, methods, mounts; and addresses."""

import asyncio
import datetime
import os
import sys
import threading
import types
import unittest
import uuid
from unittest import mock

import anyio
import anyio.to_thread
import asgiref.sync
import django.urls
import flask.views as flask_views
import starlette.endpoints
import test_web
from django.conf.urls import i18n
from django.utils import functional, translation
from django.utils.decorators import method_decorator
from django.views import View
from test_web import (
    PATIENCE,
    ASGIHandler,
    HttpResponse,
    WSGIHandler,
    asgi_ask,
    fastapi,
    flask,
    override_settings,
    rest_framework,
    run_at_once,
    starlette,
    weir,
    wsgi_ask,
)
from werkzeug.middleware.proxy_fix import ProxyFix
from world import WEIR, Weir

from weir import asgi, web

PLAIN = starlette.responses.PlainTextResponse


async def never(*_, **__):
    return False


async def two(*_, **__):
    return 2


AWAITED = {"exempt": never, "key": two, "cost": two}


class Asking(unittest.TestCase):
    """`self.sync` and `self.awaited` are clients of a weir in virtual time, of the application "shop"."""

    @classmethod
    def setUpClass(cls):
        cls.loop = asyncio.new_event_loop()
        cls.addClassCleanup(cls.loop.close)

    def setUp(self):
        self.server = self.enterContext(Weir())
        self.clients = []
        self.addCleanup(self.close)
        self.sync, self.awaited = self.connect(weir, "shop"), self.connect(weir.aio, "shop")

    def connect(self, module, app=None):
        self.clients.append(module.connect(self.server.url, app=app, timeout=PATIENCE))
        return self.clients[-1]

    def close(self):
        for each in self.clients:
            closed = each.close()
            if closed is not None:
                self.loop.run_until_complete(closed)

    def statuses(self, ask, *paths, **options):
        return [ask(path, **options)[0] for path in paths]

    def of_asgi(self, app):
        return asgi_ask(app, self.loop)

    def of_django(self, *patterns, handler=WSGIHandler, **settings):
        test_web.urlpatterns[:] = patterns
        django.urls.clear_url_caches()
        with override_settings(**{"MIDDLEWARE": [], **settings}):
            return wsgi_ask(handler()) if handler is WSGIHandler else self.of_asgi(handler())


class Flask(Asking):
    def limit(self, *words, **options):
        return weir.flask.limit(*words, **{"client": self.sync, **options})

    def test_each_view_and_each_application_has_its_own(self):
        asks = []
        for name in "shop", "bar":
            app = flask.Flask(name)
            client = self.connect(weir)
            for path, options in (("/a", {}), ("/b", {}), ("/c", {"methods": ["POST"]})):
                view = weir.flask.limit("1/h", client=client)(lambda: "hello")
                app.add_url_rule(path, path[1:], view, **options)
            asks.append(wsgi_ask(app))
        for ask in asks:
            self.assertEqual(self.statuses(ask, "/a", "/b", "/a", "/b"), [200, 200, 429, 429])
            self.assertEqual(self.statuses(ask, "/c", "/c", REQUEST_METHOD="POST"), [200, 429])

    def test_a_method_is_the_view_s_and_not_the_request_s(self):
        app = flask.Flask("other")
        app.add_url_rule("/", "all", self.limit("1/h")(lambda: "hello"), methods=["GET", "POST", "PUT"])

        class Both(flask_views.MethodView):
            @self.limit("1/h")
            def get(self):
                return "hello"

            @self.limit("1/h")
            def post(self):
                return "hello"

        app.add_url_rule("/both", view_func=Both.as_view("both"))
        ask = wsgi_ask(app)
        found = [ask("/", REQUEST_METHOD=method)[0] for method in ("GET", "POST", "PUT", "HEAD")]
        self.assertEqual(found, [200, 429, 429, 429])
        self.assertEqual([ask("/both", REQUEST_METHOD=each)[0] for each in ("GET", "POST", "GET")], [200, 200, 429])

    def test_a_denial_is_flask_s_own_and_keeps_the_fields(self):
        app = flask.Flask("other")
        app.add_url_rule("/", "a", self.limit("1/h")(lambda: "hello"))

        @app.errorhandler(429)
        def handle(error):
            return flask.jsonify(wait=error.decision.retry_after), 429

        ask = wsgi_ask(app)
        ask("/")
        status, headers, body = ask("/")
        self.assertEqual((status, flask.json.loads(body)), (429, {"wait": 3600.0}))
        self.assertEqual((headers["retry-after"], headers["ratelimit"][:12]), ("3600", '"limit";r=0;'))

    def test_what_on_denied_answers_is_429_unless_it_says_a_status(self):
        async def awaited(request, decision):
            return "no"

        answers = (
            ("no", 429, "no"),
            ({"no": 1}, 429, '{"no":1}\n'),
            (("no", {"X-Mine": "1"}), 429, "no"),
            (("no", 418), 418, "no"),
            (("no", 503, {"X-Mine": "1"}), 503, "no"),
            (flask.Response("no", 200), 200, "no"),
        )
        limits = [self.limit("1/h", on_denied=lambda request, decision, made=made: made) for made, *_ in answers]
        ask, paths = self.raising(*limits, self.limit("1/h", on_denied=awaited))
        for path, (_, *expected) in zip(paths, [*answers, (None, 429, "no")]):
            ask(path)
            status, headers, body = ask(path)
            self.assertEqual([status, body], expected)
            self.assertEqual(headers["retry-after"], "3600")

    def test_one_that_is_made_in_a_request_is_an_error(self):
        app = flask.Flask("other")
        app.config["PROPAGATE_EXCEPTIONS"] = True
        app.add_url_rule("/", "a", lambda: self.limit("1/h")(lambda: "hello")())
        app.add_url_rule("/b", "b", lambda: weir.limit("1/h")(lambda: "hello")())
        ask = wsgi_ask(app)
        for path in "/", "/b":
            with self.assertRaisesRegex(RuntimeError, "make it once, outside"):
                ask(path)

    def test_a_module_that_is_loaded_in_a_request_may_make_one(self):
        folder = self.enterContext(test_web.Folder())
        folder.file("loaded_late.py", "import weir.flask\nview = weir.flask.limit('1/h')(lambda: 'hello')\n")
        self.enterContext(mock.patch.object(sys, "path", [folder.path, *sys.path]))
        app = flask.Flask("other")
        app.add_url_rule("/", "a", lambda: str(__import__("loaded_late").view is not None))
        self.assertEqual(wsgi_ask(app)("/")[0], 200)

    def raising(self, *limits):
        """An application that tells what its views raise, and the path of one for each limit."""
        app = flask.Flask("other")
        app.config["PROPAGATE_EXCEPTIONS"] = True
        for at, limit in enumerate(limits):
            app.add_url_rule(f"/{at}", f"{at}", limit(lambda: "hello"))
        return wsgi_ask(app), [f"/{at}" for at in range(len(limits))]

    def test_what_would_have_to_be_awaited_is_an_error(self):
        for name, function in AWAITED.items():
            each = function, lambda request, function=function: function()
            ask, paths = self.raising(*(self.limit("2/h", **{name: said}) for said in each))
            for path in paths:
                with self.assertRaisesRegex(TypeError, f"{name} answers a coroutine, which is not awaited here"):
                    ask(path)

    def test_a_key_is_what_is_another_for_another(self):
        right = "text", b"bytes", 7, uuid.UUID(int=7)
        ask, paths = self.raising(*(self.limit("1/h", key=lambda request, key=key: key) for key in right))
        for path in paths:
            self.assertEqual(self.statuses(ask, path, path), [200, 429])
        wrong = object(), [], 1.0, True
        ask, paths = self.raising(*(self.limit("1/h", key=lambda request, key=key: key) for key in wrong))
        for path, key in zip(paths, wrong):
            with self.assertRaisesRegex(TypeError, f"key= says a {type(key).__name__}: it is text, bytes, a whole number or a"):
                ask(path)

    def test_addresses(self):
        app = flask.Flask("other")
        app.config["PROPAGATE_EXCEPTIONS"] = True
        app.add_url_rule("/", "a", self.limit("1/h")(lambda: "hello"))
        ask = wsgi_ask(app)
        for ips in (("2001:db8::1", "2001:db8::ffff:2"), ("192.0.2.1", "::ffff:192.0.2.1")):
            self.assertEqual([ask("/", ip=ip)[0] for ip in ips], [200, 429])
        self.assertEqual(ask("/", ip="2001:db8:0:1::1")[0], 200)
        with self.assertRaisesRegex(RuntimeError, "no address: .* key="):
            ask("/", ip="")

    def test_a_proxy_that_nobody_trusts_is_told_once(self):
        app = flask.Flask("other")
        app.add_url_rule("/", "a", self.limit("100/h")(lambda: "hello"))
        ask = wsgi_ask(app)
        trusting = wsgi_ask(ProxyFix(app))
        weir.flask.FLASK._told.clear()
        with self.assertNoLogs("weir"):
            ask("/")
            trusting("/", ip="10.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.9")
        with self.assertLogs("weir") as logged:
            for _ in range(2):
                ask("/", ip="10.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.9")
        self.assertEqual(len(logged.output), 1)
        self.assertRegex(logged.output[0], "192.0.2.9, and are counted by the address of the connection, 10.0.0.1: .*ProxyFix")


class Starlette(Asking):
    def limit(self, *words, **options):
        return weir.fastapi.limit(*words, **{"client": self.awaited, **options})

    def hello(self, *words, **options):
        @self.limit(*words, **options)
        async def hello(request: fastapi.Request):
            return PLAIN("hello")

        return hello

    def test_three_and_a_view_that_has_a_request_of_its_own(self):
        app = fastapi.FastAPI()
        blocking = weir.fastapi.limit("9/min", client=self.sync)

        @app.get("/")
        @blocking
        @weir.fastapi.limit("8/min", client=self.sync)
        @weir.fastapi.limit("2/min", client=self.sync)
        def hello(q: int, request: fastapi.Request, response: fastapi.Response):
            response.headers["X-Mine"] = request.url.path
            return q

        def asked():
            sent = []

            async def send(message):
                sent.append(message)

            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}

            scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"q=7", "headers": [], "client": ("a", 1)}
            self.loop.run_until_complete(app(scope, receive, send))
            return sent[0]["status"], dict(sent[0]["headers"]).get(b"x-mine")

        self.assertEqual([asked() for _ in range(3)], [(200, b"/"), (200, b"/"), (429, None)])

    def test_each_route_has_its_own_by_its_path_and_its_mounts(self):
        one = self.hello("1/h")
        inner = starlette.applications.Starlette(routes=[starlette.routing.Route("/search/{word}", one)])
        sub = fastapi.FastAPI()
        sub.get("/search/{word}")(one)
        router = fastapi.APIRouter()
        router.get("/search/{word}")(one)
        router.post("/search/{word}")(one)
        app = fastapi.FastAPI()
        app.include_router(router, prefix="/v1")
        app.include_router(router, prefix="/v2/{tenant}")
        outer = fastapi.APIRouter(prefix="/v3")
        outer.include_router(router, prefix="/{tenant}")
        app.include_router(outer)
        app.mount("/inner/{tenant}", inner)
        app.mount("/sub", sub)
        ask = self.of_asgi(app)
        for path, same in (
            ("/v1/search/a", "/v1/search/b"),
            ("/v2/1/search/a", "/v2/2/search/b"),
            ("/v3/1/search/a", "/v3/2/search/b"),
            ("/inner/1/search/a", "/inner/2/search/b"),
            ("/sub/search/a", "/sub/search/b"),
        ):
            self.assertEqual(self.statuses(ask, path, path, same), [200, 429, 429], path)

    def test_a_handler_of_a_class_is_for_its_method(self):
        limit = self.limit

        class Both(starlette.endpoints.HTTPEndpoint):
            @limit("1/h")
            async def get(self, request):
                return PLAIN("hello")

            @limit("1/h")
            async def post(self, request):
                return PLAIN("hello")

        scope = {"router": starlette.routing.Router([starlette.routing.Route("/", Both)]), "endpoint": Both, "method": "POST"}
        self.assertEqual(weir.fastapi.place(types.SimpleNamespace(scope=scope), Both.post), "POST /")
        ask = self.of_asgi(starlette.applications.Starlette(routes=[starlette.routing.Route("/", Both)]))
        self.assertEqual(self.statuses(ask, "/", "/"), [200, 429])

    def test_exempt_on_denied_and_the_framework_s_own_handler(self):
        app = fastapi.FastAPI()

        async def instead(request, decision):
            return PLAIN(f"wait {decision.retry_after:g}", 418)

        @app.exception_handler(429)
        async def handle(request, error):
            return PLAIN(f"own {error.decision.retry_after:g}", 429, error.headers)

        app.get("/a")(self.hello("1/h", on_denied=instead, exempt=lambda request: request.headers.get("x-user") == "root"))
        app.get("/b")(self.hello("1/h"))
        ask = self.of_asgi(app)
        self.assertEqual(self.statuses(ask, "/a", "/a", "/b"), [200, 418, 200])
        status, headers, body = ask("/a")
        self.assertEqual((status, headers["retry-after"], body), (418, "3600", "wait 3600"))
        status, headers, body = ask("/b")
        self.assertEqual((status, headers["retry-after"], body), (429, "3600", "own 3600"))
        self.assertEqual(ask("/a", user="root")[0], 200)

    def test_what_on_denied_answers_is_429_unless_it_is_a_response(self):
        async def awaited(request, decision):
            return {"when": datetime.timedelta(seconds=decision.retry_after)}

        blocking = weir.fastapi.limit("1/h", client=self.sync, on_denied=lambda request, decision: "no")
        app = fastapi.FastAPI()

        @app.get("/a", response_model=int, status_code=201)
        @self.limit("1/h", on_denied=awaited)
        async def view():
            return 1

        app.get("/b")(blocking(lambda: 1))
        app.get("/c")(self.hello("1/h", on_denied=lambda request, decision: PLAIN("no")))
        ask = self.of_asgi(app)
        for path, expected in (("/a", [429, '{"when":3600.0}']), ("/b", [429, '"no"']), ("/c", [200, "no"])):
            ask(path)
            status, headers, body = ask(path)
            self.assertEqual([status, body], expected)
            self.assertEqual(headers["retry-after"], "3600")

    def test_functions_that_are_async(self):
        for name, function in AWAITED.items():
            app = fastapi.FastAPI()
            app.get("/a")(self.hello("2/h", name=f"view {name}", **{name: function}))
            app.get("/b")(lambda: "hello")
            around = asgi.Middleware(app, rules="2/h", name=f"all {name}", client=self.awaited, **{name: function})
            for each, path in (app, "/a"), (around, "/b"):
                passes = 1 if name == "cost" else 2
                self.assertEqual(self.statuses(self.of_asgi(each), *[path] * 3), [200] * passes + [429] * (3 - passes), name)

    def test_one_that_is_made_in_a_request_is_an_error(self):
        app = fastapi.FastAPI()

        @app.get("/a")
        async def awaited():
            return self.limit("1/h")(awaited)

        @app.get("/b")
        def blocking():
            return self.limit("1/h")(awaited)

        ask = self.of_asgi(app)
        for path in "/a", "/b":
            with self.assertRaisesRegex(RuntimeError, "make it once, outside"):
                ask(path)

    def test_one_that_is_made_outside_of_requests_is_allowed(self):
        def make():
            return self.limit("1/h")

        async def awaited():
            return make()

        async def in_thread():
            return await anyio.to_thread.run_sync(make), await asgiref.sync.sync_to_async(make)()

        for made in awaited, in_thread:
            self.assertTrue(anyio.run(made))

    def test_middleware_by_rules(self):
        app = fastapi.FastAPI()

        def instead(scope, decision):
            return PLAIN(scope["path"], 418)

        app.get("/a")(self.hello("5/h", name="site"))
        app.get("/b")(lambda: "hello")
        app.add_middleware(weir.asgi.Middleware, rules=["5/h", "2/min"], name="site", client=self.awaited, on_denied=instead)
        ask = self.of_asgi(app)
        self.assertEqual(self.statuses(ask, "/a", "/b", "/a"), [200, 200, 418])
        status, headers, body = ask("/b")
        self.assertEqual((status, headers["retry-after"], body), (418, "30", "/b"))
        self.server.advance(60_000)
        self.assertEqual(self.statuses(ask, "/a", "/b", "/nowhere"), [200, 200, 418])

    def test_views_of_two_modules_share_a_limit_by_name(self):
        app = fastapi.FastAPI()
        for path in "/first", "/second":

            async def view(request: fastapi.Request):
                return PLAIN("hello")

            view.__module__ = path[1:]
            app.get(path)(weir.fastapi.limit("1/h", name="mails", client=self.connect(weir.aio))(view))
        self.assertEqual(self.statuses(self.of_asgi(app), "/first", "/second"), [200, 429])

    def test_one_that_blocks_and_one_that_awaits_charge_a_request_once(self):
        app = fastapi.FastAPI()

        @app.get("/a")
        @weir.fastapi.limit("2/h", name="site", client=self.sync)
        def hello():
            return "hello"

        app.add_middleware(asgi.Middleware, rules="2/h", name="site", client=self.awaited)
        ask = self.of_asgi(app)
        self.assertEqual(self.statuses(ask, "/a", "/a", "/a"), [200, 200, 429])

    def test_a_proxy_that_nobody_trusts_is_told(self):
        scope = {"client": ("10.0.0.1", 1), "headers": [(b"x-forwarded-for", b"192.0.2.1, 192.0.2.2")]}
        asgi.ASGI._told.clear()
        with self.assertLogs("weir") as logged:
            self.assertEqual(asgi.ASGI.client(scope), "10.0.0.1")
        self.assertIn("--forwarded-allow-ips", logged.output[0])


class Django(Asking):
    def limit(self, *words, **options):
        return weir.django.limit(*words, **{"client": self.sync, **options})

    def hello(self, *words, **options):
        @self.limit(*words, **options)
        def hello(request, **_):
            return HttpResponse("hello")

        return hello

    def test_each_url_has_its_own(self):
        one = self.hello("1/h")
        limit = self.limit

        @method_decorator(limit("1/h"), name="dispatch")
        class First(View):
            def get(self, request):
                return HttpResponse("hello")

        class Second(View):
            @method_decorator(limit("1/h"))
            def get(self, request):
                return HttpResponse("hello")

            @method_decorator(limit("1/h"))
            def post(self, request):
                return HttpResponse("hello")

        path = django.urls.path
        ask = self.of_django(
            path("a/<int:id>", one),
            path("b", one, name="b"),
            path("first", First.as_view()),
            path("second", Second.as_view()),
            path(
                "s/<slug:of>/",
                django.urls.include(([path("a/<int:id>", one), path("c", one, name="b")], "inner"), namespace="inner"),
            ),
        )
        self.assertEqual(self.statuses(ask, "/a/1", "/a/2", "/b", "/b"), [200, 429, 200, 429])
        self.assertEqual(self.statuses(ask, "/first", "/second", "/first", "/second"), [200, 200, 429, 429])
        self.assertEqual([ask("/second", REQUEST_METHOD="POST")[0] for _ in range(2)], [200, 429])
        self.assertEqual(self.statuses(ask, "/s/x/a/1", "/s/y/a/2", "/s/x/c"), [200, 429, 200])
        self.assertEqual(ask("/first", REQUEST_METHOD="ANY")[0], 429, "a method that the client chooses changes nothing")

    def test_functions_that_are_async(self):
        for name, function in AWAITED.items():
            passes = 1 if name == "cost" else 2

            @weir.django.limit("2/h", name=name, client=self.awaited, **{name: function})
            async def awaited(request):
                return HttpResponse("hello")

            blocking = self.hello("2/h", **{name: function})
            ask = self.of_django(django.urls.path("a", awaited), django.urls.path("b", blocking), handler=ASGIHandler)
            self.assertEqual(self.statuses(ask, *["/a"] * 3), [200] * passes + [429] * (3 - passes), name)
            with override_settings(DEBUG_PROPAGATE_EXCEPTIONS=True):
                with self.assertRaisesRegex(TypeError, f"{name} answers a coroutine"):
                    ask("/b")

    def test_a_url_is_one_in_all_languages(self):
        path, lazily = django.urls.path, functional.lazy(lambda: translation.get_language() or "source", str)
        inner = path("inner/", django.urls.include([path(lazily(), self.hello("2/h")), path("<int:id>", self.hello("2/h"))]))
        urls = [path("plain", self.hello("2/h")), inner, path("named", self.hello("2/h"), name="named")]
        languages = {
            "LANGUAGE_CODE": "en",
            "LANGUAGES": [("en", "E"), ("de", "D")],
            "MIDDLEWARE": ["django.middleware.locale.LocaleMiddleware"],
        }
        for prefix, unprefixed in ("/en", True), ("", False):
            self.server.ask("WEIR.TIME", "ADVANCE", 7_200_000)
            patterns = i18n.i18n_patterns(*urls, prefix_default_language=unprefixed)
            with override_settings(USE_I18N=True, **languages):
                ask = self.of_django(*patterns, USE_I18N=True, **languages)
                for english, german in (
                    ("/plain", "/de/plain"),
                    ("/inner/en", "/de/inner/de"),
                    ("/inner/1", "/de/inner/2"),
                    ("/named", "/de/named"),
                ):
                    found = self.statuses(ask, prefix + english, german, german, prefix + english)
                    self.assertEqual(found, [200, 200, 429, 429], english)

    def test_who_may_not_ask_is_told_once_by_a_method_too(self):
        limit = weir.django.limit("1/h", client=self.sync, cost=lambda request: 2**63)

        @method_decorator(limit, name="dispatch")
        class Refused(View):
            def get(self, request):
                return HttpResponse("hello")

        ask = self.of_django(django.urls.path("a", Refused.as_view()))
        with self.assertLogs("weir") as logged:
            self.assertEqual(self.statuses(ask, "/a", "/a"), [503, 503])
        self.assertEqual(len(logged.output), 1, logged.output)

    def test_what_a_denial_looks_like(self):
        urls = (django.urls.path("a", self.hello("1/h")), django.urls.path("b", self.hello("1/h", on_denied=self.instead)))
        ask = self.of_django(*urls)
        ask("/a"), ask("/b")
        self.assertEqual(ask("/a")[2], "Too many requests\n")
        status, headers, body = ask("/a", HTTP_ACCEPT="application/json")
        self.assertEqual((status, headers["retry-after"]), (429, "3600"))
        self.assertEqual(flask.json.loads(body), {"error": "Too many requests", "retry_after": 3600.0})
        for accept, expected in (
            ("application/json, text/plain, */*", True),
            ("text/html, application/json", True),
            ("text/plain;q=0.5, application/json;q=0.9", True),
            ("*/*, application/json", True),
            ("text/plain, application/json", False),
            ("application/json;q=0.5, text/*", False),
            ("application/json;q=0", False),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
            ("application/*;q=x, nonsense;;", False),
            ("*/*", False),
            ("", False),
        ):
            is_json = ask("/a", HTTP_ACCEPT=accept)[1]["content-type"] == "application/json"
            self.assertEqual(is_json, expected, accept)
        self.assertEqual(ask("/b")[::2], (418, "wait 3600"))
        folder = self.enterContext(test_web.Folder())
        folder.file("429.html", "<b>slowly</b>")
        templates = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [folder.path]}]
        with override_settings(TEMPLATES=templates):
            status, headers, body = ask("/a")
        self.assertEqual((status, headers["retry-after"], body), (429, "3600", "<b>slowly</b>"))

    def instead(self, request, decision):
        return HttpResponse(f"wait {decision.retry_after:g}", status=418)

    def test_one_that_is_made_in_a_request_is_an_error(self):
        def view(request):
            return self.hello("1/h")(request)

        async def awaited(request):
            return self.hello("1/h")(request)

        urls = django.urls.path("a", view), django.urls.path("b", awaited)
        for handler, path in ((WSGIHandler, "/a"), (ASGIHandler, "/a"), (ASGIHandler, "/b")):
            ask = self.of_django(*urls, handler=handler, DEBUG_PROPAGATE_EXCEPTIONS=True)
            with self.subTest((handler, path)), override_settings(DEBUG_PROPAGATE_EXCEPTIONS=True):
                with self.assertRaisesRegex(RuntimeError, "make it once, outside"):
                    ask(path)

    def test_a_view_that_still_runs_has_given_its_work_away(self):
        found = []

        def make(names):
            found.append(web._handles_a_request(names))

        async def view():
            thread = threading.Thread(target=make, args=({"loop": asyncio.get_running_loop()},))
            thread.start()
            thread.join()

        async def other():
            await view()

        asyncio.run(other())
        with mock.patch.object(web, "_RUNS_VIEWS", {(__name__, "view")}):
            asyncio.run(other())
        self.assertEqual(found, [False, True])

    def test_middleware_by_rules(self):
        class Limited(weir.django.Middleware):
            rules = ("5/h", "2/min")
            client = self.sync

            def exempt(self, request):
                return request.path == "/free"

            def on_denied(self, request, decision):
                return HttpResponse(f"wait {decision.retry_after:g}", status=418)

        test_web.Mine = Limited
        urls = [django.urls.path(name, lambda request: HttpResponse("hello")) for name in ("a", "b", "free")]
        ask = self.of_django(*urls, MIDDLEWARE=["test_web.Mine"])
        self.assertEqual(self.statuses(ask, "/a", "/b", "/a", "/nowhere", "/free"), [200, 200, 418, 418, 200])
        self.assertEqual(ask("/a", ip="192.0.2.2")[0], 200)
        self.assertEqual(ask("/b")[2], "wait 30")

    def test_rest_framework(self):
        throttle = type("Mine", (weir.drf.Throttle,), {"client": self.sync})

        def view(*throttles, **said):
            def get(self, request):
                return rest_framework.response.Response("hello")

            return type(
                f"Of{view.count()}", (rest_framework.views.APIView,), {"get": get, "throttle_classes": throttles, **said}
            )

        class Items(rest_framework.viewsets.ViewSet):
            @method_decorator(self.limit("1/h"))
            def list(self, request):
                return rest_framework.response.Response("hello")

            @method_decorator(self.limit("1/h"))
            def create(self, request):
                return rest_framework.response.Response("hello")

        @rest_framework.decorators.api_view()
        @rest_framework.decorators.throttle_classes([throttle.by("1/h")])
        def search(request):
            return rest_framework.response.Response("hello")

        @rest_framework.decorators.api_view()
        @rest_framework.decorators.throttle_classes([throttle.by("1/h")])
        def login(request):
            return rest_framework.response.Response("hello")

        view.count = iter(range(9)).__next__
        hourly = throttle.by("1/h")
        shared = throttle.by("1/h", name="both")
        path = django.urls.path
        ask = self.of_django(
            path("a", view(hourly).as_view()),
            path("b", view(hourly, hourly).as_view()),
            path("c", view(shared).as_view()),
            path("d", view(shared).as_view()),
            path("e", view(throttle.by("3/h", "1/min")).as_view()),
            path("f", Items.as_view({"get": "list", "post": "create"})),
            path("g", search),
            path("h", login),
        )
        self.assertEqual(self.statuses(ask, "/a", "/b", "/a", "/b"), [200, 200, 429, 429])
        self.assertEqual(self.statuses(ask, "/c", "/d"), [200, 429])
        self.assertEqual(self.statuses(ask, "/g", "/h", "/g", "/h"), [200, 200, 429, 429])
        self.assertEqual(self.statuses(ask, "/e", "/e"), [200, 429])
        self.assertEqual([ask("/f", REQUEST_METHOD=each)[0] for each in ("GET", "POST", "GET")], [200, 200, 429])
        self.assertEqual(self.statuses(ask, "/a", "/a", user="ann"), [200, 429])
        self.assertEqual(ask("/a", ip="192.0.2.2")[0], 200)


class Wsgi(Asking):
    def test_middleware_by_rules(self):
        def hello(environ, start_response):
            start_response("200 OK", [])
            return [b"hello"]

        path, refusal = lambda environ: environ["PATH_INFO"], lambda *_: flask.Response("no", 418)
        options = {}, {"name": "other"}, {"key": path}, {"on_denied": refusal}
        asks = [wsgi_ask(weir.wsgi.Middleware(hello, rules="1/h", client=self.sync, **each)) for each in options]
        self.assertEqual([ask("/a")[0] for ask in asks], [200, 200, 200, 418])
        self.assertEqual([ask("/b")[0] for ask in asks], [429, 429, 200, 418])
        self.assertEqual(asks[-1]("/a")[1]["retry-after"], "3600")
        with self.assertRaisesRegex(TypeError, "name needs a rule"):
            weir.wsgi.Middleware(hello, client=self.sync, name="x")

    def test_a_limits_file_of_its_own(self):
        folder = self.enterContext(test_web.Folder())
        path = folder.file("limits.yaml", "version: 1\nlimits:\n  all: { by: [path], rate: 1/h }\n")
        os.mkdir(folder.file("run"), 0o700)
        environ = {"WEIR_PROGRAM": WEIR, "XDG_RUNTIME_DIR": folder.file("run")}
        with mock.patch.dict(os.environ, environ):
            os.environ.pop("WEIR_URL", None)
            middleware = weir.wsgi.Middleware(flask.Flask("shop"), limits=path, on_error="raise")
            ask = wsgi_ask(middleware)
            self.assertEqual(self.statuses(ask, "/a", "/a", "/b"), [404, 429, 404])
            self.clients.append(middleware._gate._client)
        with self.assertRaisesRegex(TypeError, "connect\\(\\) takes it of yours"):
            weir.wsgi.Middleware(flask.Flask("shop"), limits=path, client=self.sync)


class Functions(Asking):
    def test_each_function_has_its_own(self):
        def made(name):
            def inner():
                return 1

            inner.__qualname__ = name
            return inner

        one = weir.limit("1/h", client=self.sync)
        first, second = one(made("first")), one(made("second"))
        self.assertEqual((first(), second()), (1, 1))
        self.assertRaises(weir.Denied, first)
        other = weir.limit("1/h", client=self.connect(weir, "bar"))(made("first"))
        self.assertEqual(other(), 1)
        shared = [weir.limit("1/h", name="x", client=self.sync)(made(name)) for name in "ab"]
        self.assertEqual(shared[0](), 1)
        self.assertRaises(weir.Denied, shared[1])

    def test_several_rules_a_cost_exempt_and_on_denied(self):
        @weir.limit("4/min", "6/h", cost=lambda n: n, exempt=lambda n: n < 0, on_denied=lambda d: d.by, client=self.sync)
        def call(n):
            return n

        self.assertEqual((call(3), call(-1)), (3, -1))
        self.assertIn(":4/1m,", call(3))
        self.server.advance(60_000)
        self.assertIn(":6/1h,", call(4))

        @weir.limit("1/h", on_denied=lambda d: asyncio.sleep(0, d.retry_after), client=self.awaited)
        async def awaited():
            return 1

        self.assertEqual([self.loop.run_until_complete(awaited()) for _ in range(2)], [1, 3600.0])

    def test_a_wrong_option_is_told_at_once(self):
        for said in {"name": 5}, {"key": 5}, {"cost": -1}, {"cost": "2"}, {"exempt": True}, {"on_denied": 1}, {"max_wait": "5"}:
            with self.subTest(said), self.assertRaisesRegex(TypeError, f"^{next(iter(said))} is "):
                weir.limit("1/h", client=self.sync, **said)
        with self.assertRaisesRegex(ValueError, "in_flight=3 is held"):
            weir.limit("in_flight=3")

    def test_functions_that_are_async(self):
        for name, function in {**AWAITED, "attributes": never}.items():
            rules = () if name == "attributes" else ("2/h",)
            blocking = weir.limit(*rules, client=self.sync, **{name: function})(lambda: 1)
            with self.assertRaisesRegex(TypeError, f"{name} answers a coroutine"):
                blocking()
        for name, function in AWAITED.items():

            @weir.limit("2/h", name=name, client=self.awaited, on_denied=lambda decision: 0, **{name: function})
            async def awaited():
                return 1

            passes = 1 if name == "cost" else 2
            found = [self.loop.run_until_complete(awaited()) for _ in range(3)]
            self.assertEqual(found, [1] * passes + [0] * (3 - passes), name)


if __name__ == "__main__":
    run_at_once()
