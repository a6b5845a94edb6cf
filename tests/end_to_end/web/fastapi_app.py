"""A FastAPI application with examples/web/weir_fastapi.py: fastapi_app.py PORT FOLDER."""
import sys

import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

sys.path.insert(0, sys.argv[2])
import weir_fastapi  # noqa: E402

app = FastAPI(default_response_class=PlainTextResponse)
app.middleware("http")(weir_fastapi.ask_weir)


@app.middleware("http")
async def authenticate(request, call_next):
    if "X-User" in request.headers:
        request.state.user = request.headers["X-User"]
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


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]))
