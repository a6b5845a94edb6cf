"""A Flask application with examples/web/weir_flask_login.py: flask_login_app.py PORT FOLDER.

Each look at a password is a line of the file CHECKED. While the file HOLDS is there, it takes its time."""
import os
import pathlib
import sys
import time

from flask import Flask, request
from werkzeug.serving import make_server

sys.path.insert(0, sys.argv[2])
import weir_flask_login  # noqa: E402

app = Flask(__name__)


def check_password(account, password):
    with open(os.environ["CHECKED"], "a") as checked:
        checked.write(f"{account}\n")
    while pathlib.Path(os.environ["HOLDS"]).exists():
        time.sleep(0.01)
    return password == "right"


@app.post("/login")
def login():
    account, password = request.headers["X-Account"], request.headers["X-Password"]
    right = weir_flask_login.guess(account, lambda: check_password(account, password))
    return ("welcome", 200) if right else ("wrong", 401)


make_server("127.0.0.1", int(sys.argv[1]), app, threaded=True).serve_forever()
