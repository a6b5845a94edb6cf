"""examples/web/weir_django.py, served: django_app.py PORT FOLDER. PATIENCE is another timeout, in seconds."""
import os
import socketserver
import sys
import wsgiref.simple_server

sys.path.insert(0, sys.argv[2])
import django  # noqa: E402
import weir.shared  # noqa: E402
import weir_django  # noqa: E402, F401
from django.core.wsgi import get_wsgi_application  # noqa: E402

if "PATIENCE" in os.environ:
    weir.shared.renew(timeout=float(os.environ["PATIENCE"]))
django.setup()


class Threads(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


wsgiref.simple_server.make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), Threads).serve_forever()
