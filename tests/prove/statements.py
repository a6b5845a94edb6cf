"""All statements, in the order in which they are proved: the longest first, so that two processes end together."""
import gcra  # noqa: F401
