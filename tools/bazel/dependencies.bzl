"""The WORKSPACE form of what MODULE.bazel asks the extensions for."""

load("//tools/bazel:wheels.bzl", "wheel_repositories")

def executorch_backends_dependencies(lock = None):
    """Declares the repositories that our packages use.

    Args:
      lock: label of a wheel lock that replaces ours, or None.
    """
    wheel_repositories(lock = lock)
