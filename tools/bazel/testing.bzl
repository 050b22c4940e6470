"""`pytest_test`: one test target, one or more files of pytest tests."""

load("@rules_python//python:defs.bzl", "py_test")

def pytest_test(name, srcs, deps = [], data = [], args = [], size = "medium", tags = [], env = {}, **kwargs):
    """Runs test files under pytest, with Bazel's filter, shards and XML report.

    Args:
      name: of the target.
      srcs: the test files; a conftest.py among them serves the others.
      deps: as py_test; pytest itself comes with //third_party:torch.
      data: as py_test.
      args: further arguments for pytest.
      size: as py_test.
      tags: as py_test; Python tests never run under the sanitizers.
      env: as py_test.
      **kwargs: as py_test.
    """
    tests = [src for src in srcs if src.endswith("_test.py")]
    if not tests:
        fail("pytest_test(name = %r) needs a source that ends in _test.py; without one pytest would collect the whole tree" % name)
    py_test(
        name = name,
        size = size,
        srcs = srcs + [Label("//tools/bazel:pytest_main.py")],
        main = Label("//tools/bazel:pytest_main.py"),
        args = args + ["$(location %s)" % test for test in tests],
        data = data,
        tags = tags + ["no_sanitizer"],
        deps = deps + [Label("//third_party:pytest")],
        # What EXECUTORCH_BACKENDS_SUITE says decides between a suite's short and full form.
        env = select({
            Label("//tools/bazel:full_suite"): env | {"EXECUTORCH_BACKENDS_SUITE": "full"},
            "//conditions:default": env | {"EXECUTORCH_BACKENDS_SUITE": "short"},
        }),
        legacy_create_init = 0,
        **kwargs
    )
