"""examples/web/weir_flask.py, served: flask_app.py PORT FOLDER. PATIENCE is another timeout, in seconds."""
import os
import sys

from werkzeug.serving import make_server

sys.path.insert(0, sys.argv[2])
import weir.shared  # noqa: E402
import weir_flask  # noqa: E402

if "PATIENCE" in os.environ:
    weir.shared.renew(timeout=float(os.environ["PATIENCE"]))
make_server("127.0.0.1", int(sys.argv[1]), weir_flask.app, threaded=True).serve_forever()
