"""A Django site whose requests are limited by weir: `pip install weir-client[django]`.

WEIR_URL says where weir is, as in weirs://limits.internal, and WEIR_PASSWORD is its password; without them a weir of this
machine is started. It goes by limits.yaml: `weir serve --limits limits.yaml`.
"""
import types

from django.conf import settings
from django.http import HttpResponse
from django.urls import path

settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="of an example", USE_TZ=True,
                   MIDDLEWARE=["weir_django.authenticate", "weir.django.Middleware"])


def authenticate(get_response):
    """In your site AuthenticationMiddleware; weir counts by the key of request.user."""
    def handle(request):
        if "X-User" in request.headers:
            request.user = types.SimpleNamespace(pk=request.headers["X-User"])
        return get_response(request)

    return handle


urlpatterns = [path("hello", lambda request: HttpResponse("hello")), path("healthz", lambda request: HttpResponse("well")),
               path("login", lambda request: HttpResponse("login"))]
