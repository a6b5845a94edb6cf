"""A Flask application whose requests are limited by weir: `pip install weir-client[flask]`.

WEIR_URL says where weir is, as in weirs://limits.internal, and WEIR_PASSWORD is its password; without them a weir of this
machine is started. It goes by limits.yaml: `weir serve --limits limits.yaml`.
"""
from flask import Flask, g, request
from weir.flask import Weir

app = Flask(__name__)


@app.before_request
def authenticate():
    """Whatever you have; weir counts by g.user, or by its id."""
    g.user = request.headers.get("X-User")


Weir(app)  # after what sets g.user


@app.get("/hello")
def hello():
    return "hello"


@app.get("/healthz")
def healthz():
    return "well"


@app.post("/login")
def login():
    return "login"
