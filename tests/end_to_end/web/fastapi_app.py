"""examples/web/weir_fastapi.py, served: fastapi_app.py PORT FOLDER. PATIENCE is another timeout, in seconds."""
import os
import sys

import uvicorn

sys.path.insert(0, sys.argv[2])
import weir.shared  # noqa: E402
import weir_fastapi  # noqa: E402

if "PATIENCE" in os.environ:
    weir.shared.renew(timeout=float(os.environ["PATIENCE"]))
uvicorn.run(weir_fastapi.app, host="127.0.0.1", port=int(sys.argv[1]))
