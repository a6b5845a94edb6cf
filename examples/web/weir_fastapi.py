"""A FastAPI application whose requests are limited by weir, or a Starlette one: `pip install weir-client[fastapi]`.

WEIR_URL says where weir is, as in weirs://limits.internal, and WEIR_PASSWORD is its password; without them a weir of this
machine is started. It goes by limits.yaml: `weir serve --limits limits.yaml`.
"""
import weir.asgi
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

app = FastAPI(default_response_class=PlainTextResponse)
app.add_middleware(weir.asgi.Middleware)


@app.middleware("http")  # added after weir's, and so it runs before that
async def authenticate(request, call_next):
    """Whatever you have; weir counts by request.state.user, or by its id."""
    request.state.user = request.headers.get("X-User")
    return await call_next(request)


@app.get("/hello")
def hello():
    return "hello"


@app.get("/healthz")
def healthz():
    return "well"


@app.post("/login")
def login():
    return "login"
