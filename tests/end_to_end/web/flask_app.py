"""A Flask application with examples/web/weir_flask.py: flask_app.py PORT FOLDER."""
import sys

from flask import Flask, g, request
from werkzeug.serving import make_server

sys.path.insert(0, sys.argv[2])
import weir_flask  # noqa: E402

app = Flask(__name__)


@app.before_request
def authenticate():
    if "X-User" in request.headers:
        g.user = request.headers["X-User"]


app.before_request(weir_flask.ask_weir)
app.after_request(weir_flask.tell_what_is_left)


@app.get("/hello")
def hello():
    return "hello"


@app.get("/healthz")
def healthz():
    return "well"


@app.post("/login")
def login():
    return "login"


make_server("127.0.0.1", int(sys.argv[1]), app, threaded=True).serve_forever()
