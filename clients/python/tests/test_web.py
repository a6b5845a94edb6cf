"""The adapters in their frameworks: Flask, FastAPI, Starlette, Django, Django REST framework, bare ASGI and WSGI."""

import asyncio
import logging
import os
import pathlib
import re
import sys
import types
import unittest
import unittest.mock
from typing import Optional

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parents[2] / "tests/end_to_end")]
import pypi

sys.path.insert(0, str(pypi.installed(HERE / "requirements_adapters.txt", "python_adapters")))
sys.modules["test_web"] = sys.modules[__name__]  # as Django finds it


class Named:
    """Django REST framework's own way to say who it is."""

    def authenticate(self, request):
        user = request.headers.get("X-User")
        return (types.SimpleNamespace(pk=user), None) if user else None

    def authenticate_header(self, request):
        return "Named"


import django
from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="test_web",
    SECRET_KEY="of a test",
    USE_TZ=True,
    DATABASES={},
    INSTALLED_APPS=["rest_framework"],
    LOGGING_CONFIG=None,
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": ["test_web.Named"], "UNAUTHENTICATED_USER": None},
)
django.setup()
import fastapi
import flask
import rest_framework.decorators
import rest_framework.response
import rest_framework.views
import rest_framework.viewsets
import starlette.applications
import starlette.responses
import starlette.routing
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test.utils import override_settings
from django.urls import path
from ports import free_port
from server import PATIENCE, Folder, Server, run_at_once

import weir
import weir.aio
import weir.asgi
import weir.django
import weir.drf
import weir.fastapi
import weir.flask
import weir.shared
import weir.wsgi

LIMITS = """
version: 1
attributes: [ip, method, path, user, tenant, slot]
limits:
  ip: { by: [ip], rate: 1000/s burst 100000 }
  user: { by: [user], rate: 3/h }
  tenant: { by: [tenant], required: true, rate: 1/h }
  slot: { by: [slot], in_flight: 1, hold: { ttl: 60s } }
routes:
  - { when: { path: /tenants }, limits: [tenant] }
  - { when: { path: /slots }, limits: [slot] }
  - { limits: [ip, user] }
"""


def wsgi_ask(app):
    def ask(where, user=None, ip="192.0.2.1", **environ):
        told = []
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": where,
            "SCRIPT_NAME": "",
            "QUERY_STRING": "",
            "SERVER_NAME": "here",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": ip,
            "wsgi.url_scheme": "http",
            "wsgi.input": open(os.devnull, "rb"),
            "wsgi.errors": sys.stderr,
            **environ,
        }
        if user:
            environ.update(HTTP_X_USER=user, REMOTE_USER=user)
        with environ["wsgi.input"]:
            answer = app(environ, lambda *words: told.append(words))
            body = b"".join(answer)
            if hasattr(answer, "close"):
                answer.close()
        return int(told[0][0].split()[0]), {name.lower(): value for name, value in told[0][1]}, body.decode()

    return ask


def asgi_ask(app, loop):
    async def asked(where, user, ip, headers):
        sent = []
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "path": where,
            "query_string": b"",
            "raw_path": where.encode(),
            "root_path": "",
            "scheme": "http",
            "server": ("here", 80),
            "client": (ip, 1) if ip else None,
            "headers": [
                (name.lower().encode(), value.encode())
                for name, value in {**headers, **({"x-user": user} if user else {})}.items()
            ],
        }

        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            return messages.pop() if messages else await asyncio.Event().wait()  # it does not go away

        async def send(message):
            sent.append(message)

        await asyncio.wait_for(app(scope, receive, send), PATIENCE)
        names = [name for name, _ in sent[0]["headers"]]
        assert len(names) == len(set(names)), names
        return (
            sent[0]["status"],
            {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]},
            b"".join(each.get("body", b"") for each in sent[1:]).decode(),
        )

    return lambda where, user=None, ip="192.0.2.1", headers={}: loop.run_until_complete(asked(where, user, ip, headers))


class Weirs:
    """One weir with the limits above, and one that wants a password; a port where none is."""

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(Folder())
        limits = folder.file("limits.yaml", LIMITS)
        cls.server = cls.enterClassContext(Server("--limits", limits, "--threads", "1"))
        cls.locked = cls.enterClassContext(Server("--limits", limits, "--threads", "1", "--password", "right"))
        cls.loop = asyncio.new_event_loop()
        cls.addClassCleanup(cls.loop.close)

    def setUp(self):
        self.clients = []
        with self.server.client() as client:
            for user in ("ann", "bob"):
                client.ask("WEIR.RESET", "AS", f"user={user}")
        self.addCleanup(self.close)

    def close(self):
        for client in self.clients:
            closed = client.close()
            if closed is not None:
                self.loop.run_until_complete(closed)

    def connect(self, where=None, **options):
        module = weir.aio if self.awaits else weir
        client = module.connect(where or f"weir://127.0.0.1:{self.server.port}", **{"timeout": PATIENCE, **options})
        self.clients.append(client)
        return client

    def to_nobody(self, **options):
        return self.connect(f"weir://127.0.0.1:{free_port()}", timeout=0.1, **options)


class Middleware(Weirs):
    """`app(**options)` is an application of the framework with its middleware; it answers 200 to /hello and /tenants. Its user
    is what X-User says."""

    awaits = False
    passwords: tuple = (None,)  # weir answers a wrong one after a second

    def app(self, **options):
        raise NotImplementedError

    def ask_of(self, **options):
        return self.asks(self.app(**{"client": self.connect(), **options}))

    def asks(self, app):
        return asgi_ask(app, self.loop) if self.awaits else wsgi_ask(app)

    def text(self, body):
        return body.strip()

    def test_clients_are_told_what_is_left_and_when_to_come_again(self):
        ask = self.ask_of()
        for left in (2, 1, 0):
            status, headers, body = ask("/hello", "ann")
            self.assertEqual((status, body), (200, "hello"))
            self.assertIn('"user";q=3;w=3600', headers["ratelimit-policy"])
            self.assertIn(f'"user";r={left};t=', headers["ratelimit"])
            self.assertNotIn("retry-after", headers)
        status, headers, body = ask("/hello", "ann")
        self.assertEqual((status, self.text(body)), (429, "Too many requests"))
        self.assertTrue(1100 <= int(headers["retry-after"]) <= 1200, headers)
        self.assertIn(f'"user";r=0;t={headers["retry-after"]}', headers["ratelimit"])
        self.assertEqual(ask("/hello", "bob")[0], 200, "another user")
        self.assertEqual(ask("/hello")[0], 200, "nobody")

    def test_a_request_that_lacks_a_required_attribute_is_400(self):
        ask = self.ask_of()
        status, _, body = ask("/tenants")
        self.assertEqual((status, self.text(body)), (400, "Bad request"))

    def test_attributes_are_what_a_function_says(self):
        ask = self.ask_of(attributes=lambda request: {"tenant": self.id(), "path": "/tenants", "user": None})
        self.assertEqual([ask("/hello")[0] for _ in range(2)], [200, 429])

    def test_where_no_attribute_is_there_it_is_asked_about_all_the_same(self):
        for none in ({}, {"tenant": None}):
            with self.subTest(none):
                ask = self.ask_of(attributes=lambda request, none=none: none)
                self.assertEqual(ask("/hello")[0], 200, "no limit requires one")

    def test_who_may_not_ask_answers_503_and_says_so_once(self):
        for password in self.passwords:
            client = self.connect(f"weir://127.0.0.1:{self.locked.port}", password=password)
            ask = self.ask_of(client=client, on_error="allow")
            with self.assertLogs("weir", logging.ERROR) as logged:
                answers = [ask("/hello") for _ in range(2)]
            self.assertEqual([(status, self.text(body)) for status, _, body in answers], [(503, "Service unavailable")] * 2)
            self.assertEqual(len(logged.output), 1, logged.output)
            self.assertIn("weir cannot be asked like this, requests get 503", logged.output[0])
            self.assertNotIn("wrong", logged.output[0].replace("WRONGPASS", ""))

    def test_without_an_answer_on_error_decides(self):
        questions = []

        def decide(error, question):
            questions.append((type(error), dict(question.attributes)["path"]))
            return False

        for clients, ours, expected in (
            ("allow", None, 200),
            ("deny", None, 503),
            ("raise", "allow", 200),
            ("allow", "deny", 503),
            ("deny", "allow", 200),
            ("allow", decide, 503),
        ):
            ask = self.ask_of(client=self.to_nobody(on_error=clients), on_error=ours)
            status, headers, _ = ask("/hello", "ann")
            self.assertEqual(status, expected, (clients, ours))
            self.assertEqual(headers.get("retry-after"), "1" if expected == 503 else None)
            self.assertNotIn("ratelimit", headers)
        self.assertEqual(questions, [(weir.Unavailable, "/hello")])

    def test_a_wrong_option_is_told_at_once(self):
        with self.assertRaisesRegex(ValueError, "on_error is 'allow', 'deny', 'raise' or a function, not 'pass'"):
            self.app(client=self.connect(), on_error="pass")

    def test_an_option_that_there_is_none_of_is_an_error_there(self):
        with self.assertRaisesRegex(TypeError, "^unknown option 'max_wait'; known: attributes, client, .*on_error, rules$"):
            weir.wsgi.Middleware(None, rules="1/s", max_wait=1)
        with self.assertRaisesRegex(TypeError, "^unknown option 'limits'; known: attributes, .*max_wait, name, on_denied"):
            weir.flask.limit("1/s", limits="limits.yaml")(lambda: "hello")

    def test_without_an_address_there_is_no_counter_for_it(self):
        self.assertEqual(self.ask_of()("/hello", "bob", ip="")[0], 200)


class Limited(Weirs):
    """`view(path, decorator)` puts a view that answers "hello" into `self.ask`'s application, an async one where `awaits` says
    so; `limit` is the framework's."""

    awaits = False
    limit = None
    RULE = "2/h"

    def limited(self, *words, **options):
        return type(self).limit(*words, **{"client": self.connect(app=self.id()), **options})

    def test_each_address_has_a_counter_for_each_view(self):
        first, second = self.views(self.limited(self.RULE), self.limited(self.RULE))
        for view in first, second:
            answers = [view() for _ in range(3)]
            self.assertEqual([status for status, *_ in answers], [200, 200, 429])
            self.assertEqual(
                [headers["ratelimit"][:13] for _, headers, _ in answers], ['"limit";r=1;t', '"limit";r=0;t', '"limit";r=0;t']
            )
            self.assertIn("hello", answers[0][2])
            self.assertTrue(1700 <= int(answers[2][1]["retry-after"]) <= 1800, answers[2])
            self.assertIn("Too many requests", answers[2][2])
            self.assertEqual(view(ip="192.0.2.2")[0], 200)

    def test_a_key_says_what_is_counted_together(self):
        views = self.views(*(self.limited(self.RULE, key=key, name="both") for key in (lambda request: "one", "one")))
        self.assertEqual([view(ip=f"192.0.2.{i}")[0] for i, view in enumerate(views * 2)], [200, 200, 429, 429])

    def test_by_the_limits_file(self):
        (view,) = self.views(self.limited(attributes=lambda request: {"tenant": self.id(), "path": "/tenants"}))
        self.assertEqual([view()[0] for _ in range(2)], [200, 429])

    def test_with_max_wait_it_waits_for_its_moment_and_holds_it_while_it_runs(self):
        (view,) = self.views(self.limited("10/s burst 1", key=self.id(), max_wait=5))
        self.assertEqual([view()[0] for _ in range(3)], [200] * 3)
        (view,) = self.views(self.limited(attributes=lambda request: {"slot": self.id(), "path": "/slots"}, max_wait=0))
        self.assertEqual([view()[0] for _ in range(3)], [200] * 3, "its slot is free when the view has ended")
        (view,) = self.views(self.limited("1/h burst 1", key=self.id() + "never", max_wait=1))
        self.assertEqual([view()[0] for _ in range(2)], [200, 429])

    def test_without_an_answer_on_error_decides(self):
        for on_error, expected in (("allow", 200), ("deny", 503)):
            for max_wait in None, 1:
                (view,) = self.views(self.limited("1/h", client=self.to_nobody(), on_error=on_error, max_wait=max_wait))
                self.assertEqual(view()[0], expected)

    def test_a_wrong_limit_is_told_at_once(self):
        with self.assertRaises(ValueError):
            self.views(self.limited("often"))
        with self.assertRaisesRegex(TypeError, "key needs a rule"):
            self.views(self.limited(key="k"))
        with self.assertRaisesRegex(ValueError, "in_flight=3 is held for as long as a call takes, which is client.slot"):
            self.views(self.limited("in_flight=3"))
        for said in (
            *({"name": wrong} for wrong in (5, "")),
            *({"key": wrong} for wrong in (5, True)),
            *({"cost": wrong} for wrong in ("2", -1, 1.5, True, None)),
            *({name: wrong} for name in ("exempt", "on_denied") for wrong in (True, "x")),
            *({"max_wait": wrong} for wrong in ("5", -1)),
            {"client": "weir://localhost"},
            {"attributes": lambda request: {}},
        ):
            with self.subTest(said), self.assertRaisesRegex(TypeError, f"^{next(iter(said))}=? is "):
                self.views(self.limited("2/h", **said))


class Flask(Middleware, unittest.TestCase):
    def app(self, **options):
        app = flask.Flask("test")

        @app.before_request
        def authenticate():
            if "X-User" in flask.request.headers:
                flask.g.user = flask.request.headers["X-User"]

        weir.flask.Weir(app, **options)
        app.add_url_rule("/hello", "hello", lambda: "hello")
        app.add_url_rule("/tenants", "tenants", lambda: "hello")
        return app

    def text(self, body):
        return re.search("<p>(.*)</p>", body)[1]  # of Flask's own page

    def test_what_is_not_there_is_limited_too(self):
        ask = self.ask_of()
        self.assertEqual([ask("/nowhere", "ann")[0] for _ in range(4)], [404, 404, 404, 429])

    def test_a_view_s_own_limit_is_told_and_not_twice(self):
        app = self.app(client=self.connect())
        app.add_url_rule("/limited", "limited", weir.flask.limit("2/h", client=self.connect())(lambda: "hello"))
        app.config["TESTING"] = True
        with app.test_client() as client:
            answers = [client.get("/limited") for _ in range(3)]
        self.assertEqual([answer.status_code for answer in answers], [200, 200, 429])
        self.assertEqual([len(answer.headers.get_all("RateLimit")) for answer in answers], [1, 1, 1])
        self.assertTrue(answers[0].headers["RateLimit"].startswith('"limit";r=1'))

    def test_a_user_is_named_by_an_id(self):
        ask = self.ask_of()
        with self.assertRaisesRegex(TypeError, "the user is a dict without an id"):
            weir.flask.user_id({"name": "ann"})
        self.assertEqual(weir.flask.user_id(types.SimpleNamespace(id=7)), "7")
        self.assertEqual(ask("/hello")[0], 200)


class FlaskLimit(Limited, unittest.TestCase):
    limit = staticmethod(weir.flask.limit)

    def views(self, *decorators):
        app = flask.Flask("test")
        ask = wsgi_ask(app)
        for at, decorate in enumerate(decorators):

            def hello():
                return "hello"

            app.add_url_rule(f"/{at}", f"{at}", decorate(hello))
        return [lambda ip="192.0.2.1", at=at: ask(f"/{at}", ip=ip) for at in range(len(decorators))]


class FlaskAsyncLimit(FlaskLimit):
    def views(self, *decorators):
        def of_async(decorate):
            def decorated(view):
                async def hello():
                    await asyncio.sleep(0)
                    return "hello"

                return decorate(hello)

            return decorated

        return super().views(*map(of_async, decorators))


class Wsgi(Middleware, unittest.TestCase):
    passwords = ("wrong", None)

    def app(self, **options):
        def hello(environ, start_response):
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [b"hello"]

        return weir.wsgi.Middleware(hello, **options)

    def test_an_on_error_that_would_have_to_be_awaited_is_an_error(self):
        async def no(error, question):
            return False

        with self.assertRaisesRegex(TypeError, "on_error is not awaited"):
            weir.wsgi.Middleware(None, on_error=no)
        ask = self.ask_of(client=self.to_nobody(), on_error=lambda error, question: no(error, question))
        with self.assertRaisesRegex(TypeError, "on_error answers a coroutine"):
            ask("/hello")


class Asgi(Middleware, unittest.TestCase):
    awaits = True
    passwords = ("wrong", None)

    def app(self, **options):
        async def hello(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"hello"})

        inner = weir.asgi.Middleware(hello, **options)

        async def authenticated(scope, receive, send):
            user = dict(scope["headers"]).get(b"x-user")
            await inner({**scope, "state": {"user": user.decode()} if user else {}}, receive, send)

        return authenticated

    def test_other_kinds_of_connection_pass(self):
        seen = []

        async def app(scope, receive, send):
            seen.append(scope["type"])

        for kind in "websocket", "lifespan":
            self.loop.run_until_complete(
                weir.asgi.Middleware(app, client=self.to_nobody(on_error="deny"))({"type": kind}, None, None)
            )
        self.assertEqual(seen, ["websocket", "lifespan"])


class FastApi(Middleware, unittest.TestCase):
    awaits = True

    def app(self, **options):
        app = fastapi.FastAPI(default_response_class=fastapi.responses.PlainTextResponse)
        app.add_middleware(weir.asgi.Middleware, **options)

        @app.middleware("http")
        async def authenticate(request, call_next):
            request.state.user = request.headers.get("X-User")
            return await call_next(request)

        app.get("/hello")(lambda: "hello")
        app.get("/tenants")(lambda: "hello")
        return app

    def test_a_wrong_option_is_told_at_once(self):
        pass  # Starlette makes its middleware at the first request

    def test_a_view_s_own_limit_is_told_and_not_twice(self):
        app = self.app(client=self.connect())
        app.get("/limited")(
            weir.fastapi.limit("2/h", client=weir.connect(f"weir://127.0.0.1:{self.server.port}"))(lambda: "hello")
        )
        ask = self.asks(app)
        answers = [ask("/limited") for _ in range(3)]
        self.assertEqual([status for status, *_ in answers], [200, 200, 429])
        self.assertTrue(all(headers["ratelimit"].startswith('"limit";') for _, headers, _ in answers), answers)


class FastApiLimit(Limited, unittest.TestCase):
    awaits = True
    limit = staticmethod(weir.fastapi.limit)

    def view(self):
        async def hello(q: "Optional[int]" = None):
            await asyncio.sleep(0)
            return f"hello {q}"

        return hello

    def views(self, *decorators):
        app = fastapi.FastAPI()
        ask = asgi_ask(app, self.loop)
        for at, decorate in enumerate(decorators):
            hello = self.view()
            app.get(f"/{at}")(decorate(hello))
        return [lambda ip="192.0.2.1", at=at: ask(f"/{at}", ip=ip) for at in range(len(decorators))]

    def test_the_view_s_own_parameters_are_as_they_were(self):
        decorated = self.limited("2/h")(self.view())
        app = fastapi.FastAPI()
        app.get("/")(decorated)
        parameters = app.openapi()["paths"]["/"]["get"]["parameters"]
        self.assertEqual([each["name"] for each in parameters], ["q"])


class FastApiSyncLimit(FastApiLimit):
    awaits = False

    def view(self):
        def hello(q: "Optional[int]" = None, *, response: fastapi.Response):
            response.headers["X-Mine"] = "1"
            return f"hello {q}"

        return hello


class FastApiResponseLimit(FastApiLimit):
    """A view that makes its answer itself."""

    def view(self):
        async def hello(request: fastapi.Request):
            return fastapi.responses.PlainTextResponse("hello")

        return hello

    def test_the_view_s_own_parameters_are_as_they_were(self):
        pass


class StarletteLimit(Limited, unittest.TestCase):
    awaits = True
    limit = staticmethod(weir.fastapi.limit)

    def views(self, *decorators):
        routes = []
        for at, decorate in enumerate(decorators):

            async def hello(request):
                return starlette.responses.PlainTextResponse("hello")

            routes.append(starlette.routing.Route(f"/{at}", decorate(hello)))
        ask = asgi_ask(starlette.applications.Starlette(routes=routes), self.loop)
        return [lambda ip="192.0.2.1", at=at: ask(f"/{at}", ip=ip) for at in range(len(decorators))]


urlpatterns = []


def authenticate(get_response):
    def of(request):
        if "X-User" in request.headers:
            request.user = types.SimpleNamespace(pk=request.headers["X-User"])
        return request

    if asyncio.iscoroutinefunction(get_response):

        async def handle_async(request):
            return await get_response(of(request))

        return handle_async
    return lambda request: get_response(of(request))


authenticate.async_capable = authenticate.sync_capable = True


class Django(Middleware, unittest.TestCase):
    handler = WSGIHandler

    def app(self, **options):
        said = {
            name: staticmethod(value) if callable(value) else value for name, value in options.items() if name != "attributes"
        }
        if "attributes" in options:
            said["attributes"] = lambda self, request: options["attributes"](request)
        type(self).Mine = type("Mine", (weir.django.Middleware,), said)
        self.Mine({}.get)  # tells now what is wrong with an option
        globals()["Mine"] = self.Mine
        urlpatterns[:] = self.urls()
        django.urls.clear_url_caches()
        with override_settings(MIDDLEWARE=["test_web.authenticate", "test_web.Mine"]):
            return self.handler()

    def urls(self):
        return [path("hello", lambda request: HttpResponse("hello")), path("tenants", lambda request: HttpResponse("hello"))]

    def test_attributes_beside_rules_are_an_error(self):
        with self.assertRaisesRegex(TypeError, "attributes= is for a limits file"):
            self.app(rules="2/h", attributes=lambda request: {})
        self.app(rules="2/h")


class DjangoAsync(Django):
    awaits = True
    handler = ASGIHandler

    def urls(self):
        async def hello(request):
            return HttpResponse("hello")

        return [path("hello", hello), path("tenants", hello)]


class DjangoLimit(Limited, unittest.TestCase):
    limit = staticmethod(weir.django.limit)

    def view(self):
        return lambda request: HttpResponse("hello")

    def views(self, *decorators):
        urlpatterns.clear()
        for at, decorate in enumerate(decorators):
            hello = self.view()
            urlpatterns.append(path(f"{at}", decorate(hello)))
        django.urls.clear_url_caches()
        with override_settings(MIDDLEWARE=[]):
            ask = asgi_ask(ASGIHandler(), self.loop) if self.awaits else wsgi_ask(WSGIHandler())
        return [lambda ip="192.0.2.1", at=at: ask(f"/{at}", ip=ip) for at in range(len(decorators))]


class DjangoAsyncLimit(DjangoLimit):
    awaits = True

    def view(self):
        async def hello(request):
            return HttpResponse("hello")

        return hello


class Drf(Weirs, unittest.TestCase):
    awaits = False

    def ask_of(self, throttle):
        class Hello(rest_framework.views.APIView):
            throttle_classes = [throttle]

            def get(self, request):
                return rest_framework.response.Response("hello")

        urlpatterns[:] = [path("hello", Hello.as_view()), path("tenants", Hello.as_view())]
        django.urls.clear_url_caches()
        with override_settings(MIDDLEWARE=[]):
            return wsgi_ask(WSGIHandler())

    def throttle(self, **said):
        return type("Mine", (weir.drf.Throttle,), {"client": self.connect(app=self.id()), **said})

    def test_by_the_limits_file(self):
        ask = self.ask_of(self.throttle())
        self.assertEqual([ask("/hello", "ann")[0] for _ in range(3)], [200] * 3)
        status, headers, body = ask("/hello", "ann")
        self.assertEqual(status, 429)
        self.assertIn("throttled", body)
        self.assertTrue(1100 <= int(headers["retry-after"]) <= 1200, headers)
        self.assertIn(f'"user";r=0;t={headers["retry-after"]}', headers["ratelimit"])
        self.assertEqual(ask("/tenants")[0], 400)

    def test_by_a_rule(self):
        ask = self.ask_of(self.throttle().by("2/h"))
        self.assertEqual([ask("/hello", user)[0] for user in ("ann", "ann", "bob", "ann", None)], [200, 200, 200, 429, 200])
        ask = self.ask_of(self.throttle().by("2/h", key=lambda request, view: self.id()))
        self.assertEqual([ask("/hello", user)[0] for user in ("ann", "bob", "cy")], [200, 200, 429])
        ask = self.ask_of(self.throttle().by("3/h", key="all", cost=lambda request, view: 2, exempt=self.is_root))
        self.assertEqual([ask("/hello", user)[0] for user in ("ann", "root", "bob")], [200, 200, 429])
        ask = self.ask_of(
            self.throttle(rule="3/h", name="x", cost=lambda self, request, view: 2, exempt=staticmethod(self.is_root))
        )
        self.assertEqual([ask("/hello", user)[0] for user in ("ann", "root", "ann")], [200, 200, 429])
        for rule in "often", "in_flight=3":
            with self.assertRaises(ValueError):
                self.throttle().by(rule)
            with self.assertRaises(ValueError):
                self.throttle(rule=rule)
        with self.assertRaisesRegex(TypeError, "attributes= is for a limits file"):
            self.throttle(rule="2/h", attributes=lambda self, request, view: {})

    def is_root(self, request, view):
        return request.user is not None and request.user.pk == "root"

    def test_who_may_not_ask_answers_503(self):
        ask = self.ask_of(self.throttle(client=self.connect(f"weir://127.0.0.1:{self.locked.port}")))
        with self.assertLogs("weir", logging.ERROR):
            self.assertEqual(ask("/hello")[0], 503)

    def test_without_an_answer_on_error_decides(self):
        for on_error, expected in (("allow", 200), ("deny", 503)):
            ask = self.ask_of(self.throttle(client=self.to_nobody(), on_error=on_error))
            self.assertEqual(ask("/hello")[0], expected)


class Shared(unittest.TestCase):
    def test_a_process_has_one_client_made_at_its_first_call(self):
        self.addCleanup(weir.shared.renew)
        weir.shared.renew(timeout=PATIENCE)
        with (
            Server("--threads", "1") as server,
            unittest.mock.patch.dict(os.environ, WEIR_URL=f"weir://127.0.0.1:{server.port}"),
        ):
            app = flask.Flask("test")
            app.add_url_rule("/", "hello", weir.flask.limit("1/h")(lambda: "hello"))
            ask = wsgi_ask(app)
            self.assertEqual([ask("/")[0] for _ in range(2)], [200, 429])
            self.assertIs(weir.shared.client(), weir.shared.client())


if __name__ == "__main__":
    run_at_once()
