"""`conformance_test`: the operators' suite on one backend."""

load("//tools/bazel:testing.bzl", "pytest_test")

SOURCES = [
    "arguments.py",
    "faults.py",
    "recording.py",
    "registry.py",
    "suite.py",
    "table.py",
]

def conformance_test(backend, package, deps, shards = 24):
    """Operators on a backend, against eager and against `<backend>.json`.

    `<backend>_test` takes a fixed sample. `<backend>_all_test` takes every operator, in shards of
    some minutes each, and is there in the full form of the suites only.

    Args:
      backend: its name.
      package: that of the README with its table.
      deps: the backend's library.
      shards: into which the operators are dealt.
    """
    _conformance_test(backend + "_test", backend, package, "sample", deps, size = "large", shard_count = 2)
    _conformance_test(
        backend + "_all_test",
        backend,
        package,
        "all",
        deps,
        size = "enormous",
        shard_count = shards,
        target_compatible_with = select({
            "//tools/bazel:full_suite": [],
            "//conditions:default": ["@platforms//:incompatible"],
        }),
    )

def _conformance_test(name, backend, package, operators, deps, **kwargs):
    pytest_test(
        name = name,
        srcs = SOURCES + ["conformance_test.py"],
        data = [
            backend + ".json",
            "//%s:README.md" % package,
        ],
        env = {
            "EXECUTORCH_BACKENDS_CONFORMANCE": backend,
            "EXECUTORCH_BACKENDS_CONFORMANCE_README": "$(rootpath //%s:README.md)" % package,
            "EXECUTORCH_BACKENDS_CONFORMANCE_OPERATORS": operators,
        },
        deps = deps,
        **kwargs
    )
