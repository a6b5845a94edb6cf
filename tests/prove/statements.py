"""All statements, in the order in which they are proved."""
import gcra  # noqa: F401
import quota  # noqa: F401
import moment  # noqa: F401
