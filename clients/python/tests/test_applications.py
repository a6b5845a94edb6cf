"""By what name an application counts, and a function that no framework names."""

import collections
import os
import pathlib
import sys
import types
import unittest
from unittest import mock

import fastapi
import flask
import starlette.routing
from world import Folder, weir

from weir import application, web


class TestApplications(unittest.TestCase):
    def test_what_is_nearest(self):
        folder = self.enterContext(Folder())
        for file in "bar/app.py", "bar/config/__init__.py", "bar/config/settings.py", "bar/src/main.py":
            os.makedirs(os.path.dirname(os.path.join(folder.path, file)), exist_ok=True)
            folder.file(file, "def view(): ...\n")
        named = {"app": "bar/app.py", "config": "bar/config/__init__.py", "main": "bar/src/main.py"}
        modules = {name: types.SimpleNamespace(__file__=os.path.join(folder.path, file)) for name, file in named.items()}
        application.of_module.cache_clear()
        self.addCleanup(application.of_module.cache_clear)
        with mock.patch.dict(sys.modules, modules):
            for name, expected in (
                ("shop.web.views", "shop"),
                ("app", "bar"),
                ("app.views", "bar"),
                ("config.settings", "bar"),
                ("main", "bar"),
            ):
                self.assertEqual(application.of_module(name), expected, name)
        self.assertEqual(application.of_import_name("shop.web"), "shop.web")
        self.assertEqual(application.of_object(flask.Flask("bar").wsgi_app), "bar")

        def view(request):
            pass

        view.__module__ = "shop.views"
        app = fastapi.FastAPI(routes=[starlette.routing.Route("/", view)])
        self.assertEqual(application.of_object(types.SimpleNamespace(app=app.router)), "shop")
        router = fastapi.APIRouter()
        router.get("/")(view)
        app = fastapi.FastAPI()
        app.include_router(router)
        self.assertEqual(application.of_object(app), "shop")

    def test_the_folder_s_name(self):
        for folder, expected in (
            ("/srv/shop", "shop"),
            ("/srv/shop/src/app", "shop"),
            ("/shop/app", "shop"),
            ("/usr/src/app", "app"),
            ("/srv/app/app", "app"),
            ("/var/www/app", "app"),
            ("/app", "app"),
            ("/", "app"),
        ):
            self.assertEqual(application._folder_name(pathlib.PurePosixPath(folder)), expected, folder)

    def test_a_framework_s_or_a_server_s_name_is_skipped(self):
        class Falcon:
            pass

        Falcon.__module__ = "falcon.app"
        folder = self.enterContext(Folder())
        os.mkdir(folder.file("bar"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.join(folder.path, "bar"))
        application.of_module.cache_clear()
        self.addCleanup(application.of_module.cache_clear)
        uvicorn = types.SimpleNamespace(__spec__=types.SimpleNamespace(name="uvicorn.__main__"))
        program = types.SimpleNamespace(__spec__=None, __file__="/usr/local/bin/gunicorn")
        with mock.patch.dict(os.environ):
            os.environ.pop("DJANGO_SETTINGS_MODULE", None)
            for main in uvicorn, program:
                application.of_module.cache_clear()
                with mock.patch.dict(sys.modules, {"__main__": main}):
                    self.assertEqual(application.of_object(Falcon()), "bar")

    def test_what_is_said_counts_and_a_guess_is_told_once(self):
        client = collections.namedtuple("Client", "app is_remote")
        application._told.clear()
        with mock.patch.dict(os.environ):
            os.environ.pop("WEIR_APP", None)
            with self.assertNoLogs("weir"):
                self.assertEqual(application.named(client("mine", True), lambda: "guess"), "mine")
                self.assertEqual(application.named(client(None, False), lambda: "guess"), "guess")
            with self.assertLogs("weir") as logged:
                self.assertEqual([application.named(client(None, True), lambda: "guess") for _ in range(2)], ["guess"] * 2)
            self.assertEqual(len(logged.output), 1)
            self.assertIn("'guess', guessed to be this application's name: set WEIR_APP", logged.output[0])
            os.environ["WEIR_APP"] = "said"
            self.assertEqual(application.named(client(None, True), lambda: "guess"), "said")
            self.assertEqual(application.named(client("mine", True), lambda: "guess"), "mine")
        with self.assertRaisesRegex(ValueError, "app is the name of the application, and not empty"):
            weir.connect("weir://localhost", app="")

    def test_a_script_is_named_by_its_file(self):
        script = types.SimpleNamespace(__module__="__main__", __qualname__="call")
        with mock.patch.object(sys.modules["__main__"], "__file__", "/srv/jobs.py"):
            self.assertEqual(web.place_of(script), "jobs.call")


if __name__ == "__main__":
    unittest.main()
