"""A Django site with examples/web/weir_django.py: django_app.py PORT FOLDER."""
import socketserver
import sys
import types
import wsgiref.simple_server

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

sys.path.insert(0, sys.argv[2])


def authenticate(get_response):
    def handle(request):
        if "X-User" in request.headers:
            request.user = types.SimpleNamespace(pk=request.headers["X-User"])
        return get_response(request)

    return handle


urlpatterns = [path("hello", lambda request: HttpResponse("hello")), path("healthz", lambda request: HttpResponse("well")),
               path("login", lambda request: HttpResponse("login"))]
settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", SECRET_KEY="of a test", USE_TZ=True,
                   MIDDLEWARE=["__main__.authenticate", "weir_django.Weir"])
django.setup()


class Threads(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


wsgiref.simple_server.make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), Threads).serve_forever()
