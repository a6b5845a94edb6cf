"""All statements, in the order in which they are proved."""
import gcra  # noqa: F401
import quota  # noqa: F401
import windows  # noqa: F401
import log  # noqa: F401
import guarantee  # noqa: F401
import duration  # noqa: F401
import charge  # noqa: F401
import slots  # noqa: F401
import calendar_windows  # noqa: F401
import grants  # noqa: F401
