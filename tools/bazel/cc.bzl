"""C++ targets of this repository: rules_cc's rules with one include prefix and one set of warnings.

A header `common/layout/layout.h` is included as `executorch_backends/common/layout/layout.h`,
here and in a workspace that vendors us. Only the headers of a target's own deps can be seen.
"""

load(
    "@rules_cc//cc:defs.bzl",
    _cc_binary = "cc_binary",
    _cc_library = "cc_library",
    _cc_test = "cc_test",
)

_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wnon-virtual-dtor",
    "-Wshadow",
    "-Wno-missing-field-initializers",
]

def cc_library(name, copts = [], **kwargs):
    """rules_cc's cc_library under the include prefix `executorch_backends/`."""
    _cc_library(
        name = name,
        copts = _COPTS + copts,
        include_prefix = "executorch_backends/" + native.package_name(),
        strip_include_prefix = "/" + native.package_name(),
        **kwargs
    )

def cc_binary(name, copts = [], **kwargs):
    _cc_binary(
        name = name,
        copts = _COPTS + copts,
        **kwargs
    )

def cc_test(name, copts = [], deps = [], size = "small", **kwargs):
    """A GoogleTest; it runs under the sanitizers too unless it is tagged no_sanitizer."""
    _cc_test(
        name = name,
        size = size,
        copts = _COPTS + copts,
        linkstatic = True,
        deps = deps,
        **kwargs
    )

def cc_shared_library(name, exports, deps, linkopts = [], srcs = [], **kwargs):
    """A shared library that shows only the symbols of a version script.

    Args:
      name: the file's name, which is its SONAME too: `libexecutorch_backend_openvino.so`.
      exports: the version script (.lds).
      deps: what it is linked from; targets with `alwayslink` register themselves.
      linkopts: further linker options.
      srcs: sources beside the deps.
      **kwargs: as cc_binary.
    """
    _cc_binary(
        name = name,
        srcs = srcs,
        additional_linker_inputs = [exports],
        copts = _COPTS,
        linkopts = linkopts + [
            "-Wl,-soname," + name,
            "-Wl,--version-script=$(location %s)" % exports,
        ] + select({
            # A sanitizer's runtime is in the program that loads the library.
            str(Label("//tools/bazel:sanitized")): [],
            "//conditions:default": ["-Wl,-z,defs"],
        }),
        linkshared = True,
        deps = deps,
        **kwargs
    )
