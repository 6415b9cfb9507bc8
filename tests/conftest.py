"""Settings of all tests."""

from hypothesis import settings

# No deadline: a busy machine must not fail a test. The same examples in every run.
settings.register_profile("ethereal", deadline=None, derandomize=True)
settings.load_profile("ethereal")
