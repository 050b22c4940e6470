"""Wheels as external repositories: one hash-checked site-packages tree each.

A tree is one source directory for Bazel: one runfiles link a test, not 30,000.
Where packages come from is for pip's own configuration to say.

A workspace that vendors us replaces the lock by its own:

    wheels = use_extension("@executorch_backends//tools/bazel:wheels.bzl", "wheels")
    wheels.lock(file = "//:requirements.txt")                           # Bzlmod
    executorch_backends_dependencies(lock = "//:requirements.txt")      # WORKSPACE
"""

_PLATFORM = "linux_x86_64_cp311"
_TORCH_BUILDS = ["cpu", "cuda13"]
_LOCKS = {build: "//third_party:locks/%s_%s.txt" % (_PLATFORM, build) for build in _TORCH_BUILDS}
QNN_VERSION = "2.5.0"
OPENVINO_VERSIONS = ["2025.1.0", "2025.4.1", "2026.3.1", "2026.4.0"]

_ENVIRONMENT = [
    "EXECUTORCH_BACKENDS_CACHE",
    "EXECUTORCH_BACKENDS_PYTHON",
    "EXECUTORCH_BACKENDS_TORCH",
    "HOME",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "XDG_CACHE_HOME",
]

_TREE_BUILD = """\
load("@rules_python//python:defs.bzl", "py_library")

package(default_visibility = ["//visibility:public"])

filegroup(
    name = "tree",
    srcs = ["site-packages"],
)

py_library(
    name = "site_packages",
    data = [":tree"],
    imports = ["site-packages"],
)
"""

_MAIN_BUILD = """
load("@rules_cc//cc:defs.bzl", "cc_import", "cc_library")
load("@rules_python//python:defs.bzl", "py_runtime", "py_runtime_pair")

py_runtime(
    name = "python",
    interpreter_path = "{python}",
    python_version = "PY3",
)

py_runtime_pair(
    name = "python_pair",
    py3_runtime = ":python",
)

cc_library(
    name = "executorch_headers",
    hdrs = glob([
        "site-packages/executorch/include/**/*.h",
        "site-packages/executorch/include/**/*.hpp",
    ]),
    # The wheel was built with the generated macros of its bundled c10.
    defines = ["C10_USING_CUSTOM_GENERATED_MACROS"],
    includes = [
        "site-packages/executorch/include",
        "site-packages/executorch/include/executorch/runtime/core/portable_type/c10",
    ],
)

[
    cc_import(
        name = "lib" + name,
        shared_library = "site-packages/executorch/lib/lib%s.so" % name,
    )
    for name in [
        "executorch",
        "executorch_kernels_optimized",
        "executorch_kernels_quantized",
        "executorch_threadpool",
        "executorch_etdump",
    ]
]

cc_library(
    name = "executorch_cc",
    deps = [":executorch_headers", ":libexecutorch"],
)

cc_library(
    name = "executorch_kernels",
    deps = [
        ":executorch_cc",
        ":libexecutorch_kernels_optimized",
        ":libexecutorch_kernels_quantized",
        ":libexecutorch_threadpool",
    ],
)

# The C interface that programs compiled by AOTInductor call; no libtorch.
cc_library(
    name = "torch_headers",
    hdrs = glob([
        "site-packages/torch/include/sleef.h",
        "site-packages/torch/include/torch/csrc/inductor/aoti_torch/**/*.h",
        "site-packages/torch/include/torch/csrc/stable/version.h",
        "site-packages/torch/include/torch/headeronly/**/*.h",
    ]),
    includes = ["site-packages/torch/include"],
)

cc_library(
    name = "openvino_c",
    hdrs = glob(["site-packages/openvino/include/openvino/c/**/*.h"]),
    includes = ["site-packages/openvino/include"],
)

# For what links OpenVINO; the delegate finds it at run time.
cc_import(
    name = "openvino_c_shared",
    shared_library = "site-packages/openvino/libs/{openvino_library}",
)

filegroup(
    name = "openvino_library",
    srcs = ["site-packages/openvino/libs/{openvino_library}"],
)

filegroup(
    name = "openvino_libraries",
    srcs = ["site-packages/openvino/libs"],
)

exports_files(["torch_build.txt"])
"""

def _python(repository_ctx):
    """Path of the CPython 3.11 that installs the wheels and runs every Python target."""
    wanted = repository_ctx.os.environ.get("EXECUTORCH_BACKENDS_PYTHON")
    candidates = [wanted] if wanted else [
        str(path)
        for path in [repository_ctx.which("python3.11"), repository_ctx.which("python3")]
        if path
    ]
    tried = []
    for candidate in candidates:
        result = repository_ctx.execute([candidate, "-c", "import os, sys; print('%d.%d' % sys.version_info[:2], os.path.realpath(sys.executable))"])
        version, _, path = result.stdout.strip().partition(" ")
        if not result.return_code and version == "3.11":
            return path
        tried.append("%s is %s" % (candidate, version or "no Python"))
    fail("The wheels are locked for CPython 3.11, and %s. Install Python 3.11, or name one in EXECUTORCH_BACKENDS_PYTHON." %
         (", ".join(tried) or "there is no python3 on PATH"))

def _cache(repository_ctx):
    environment = repository_ctx.os.environ
    home = environment.get("XDG_CACHE_HOME") or environment.get("HOME", "") + "/.cache"
    return environment.get("EXECUTORCH_BACKENDS_CACHE") or home + "/executorch_backends"

def _pip_options(repository_ctx, python):
    if repository_ctx.execute([python, "-m", "pip", "--version"]).return_code == 0:
        return []
    repository_ctx.report_progress("bringing pip")
    result = repository_ctx.execute([repository_ctx.path(repository_ctx.attr._pip_installer)])
    if result.return_code:
        fail("\n" + result.stderr)
    return ["--pip", result.stdout.strip()]

def _install(repository_ctx, python, locks, choice):
    """Returns (name of the lock taken, path of its site-packages)."""
    command = [
        python,
        repository_ctx.path(repository_ctx.attr._installer),
        "--cache",
        _cache(repository_ctx),
        "--choose",
        choice,
    ]
    for name, label in locks.items():
        command += ["--lock", "%s=%s" % (name, repository_ctx.path(label))]
    command += _pip_options(repository_ctx, python)
    repository_ctx.report_progress("installing wheels from %s (once, shared between checkouts)" % ", ".join(locks))
    result = repository_ctx.execute(command, timeout = 3600)
    if result.return_code:
        fail("\n" + result.stderr)
    name, _, path = result.stdout.strip().partition(" ")
    return name, path

_INSTALLER = {
    "_installer": attr.label(default = "//tools/bootstrap:install_wheels.py"),
    "_pip_installer": attr.label(default = "//tools/bootstrap:install_pip.sh"),
}

def _wheels_repository_impl(repository_ctx):
    python = _python(repository_ctx)
    if repository_ctx.attr.lock:
        locks = {"own": repository_ctx.attr.lock}
        choice = "own"
    else:
        locks = {build: Label(_LOCKS[build]) for build in _TORCH_BUILDS}
        choice = repository_ctx.os.environ.get("EXECUTORCH_BACKENDS_TORCH", "auto")
    build, site = _install(repository_ctx, python, locks, choice)
    repository_ctx.symlink(site, "site-packages")
    libraries = [
        path.basename
        for path in repository_ctx.path(site + "/openvino/libs").readdir()
        if path.basename.startswith("libopenvino_c.so.")
    ]
    if len(libraries) != 1:
        fail("%s/openvino/libs holds %d files libopenvino_c.so.*, and 1 was expected" % (site, len(libraries)))
    repository_ctx.file("torch_build.txt", build + "\n")
    repository_ctx.file("BUILD.bazel", _TREE_BUILD + _MAIN_BUILD.format(
        python = python,
        openvino_library = libraries[0],
    ))

wheels_repository = repository_rule(
    implementation = _wheels_repository_impl,
    doc = "torch, executorch, openvino and what they need, as one tree.",
    attrs = {
        "lock": attr.label(doc = "A lock in place of ours; it must hold torch, executorch and openvino."),
    } | _INSTALLER,
    environ = _ENVIRONMENT,
)

def _tree_repository_impl(repository_ctx):
    python = _python(repository_ctx)
    _, site = _install(repository_ctx, python, {"tree": repository_ctx.attr.lock}, "tree")
    repository_ctx.symlink(site, "site-packages")
    repository_ctx.file("BUILD.bazel", _TREE_BUILD)

tree_repository = repository_rule(
    implementation = _tree_repository_impl,
    doc = "A small lock alone: the QNN SDK, another version of OpenVINO for tests, or a tool of the build.",
    attrs = {"lock": attr.label(mandatory = True)} | _INSTALLER,
    environ = _ENVIRONMENT,
)

def wheel_repositories(lock = None):
    """Declares every wheel repository.

    Args:
      lock: label of a lock that replaces ours, or None.
    """
    wheels_repository(
        name = "executorch_backends_wheels",
        lock = lock,
    )
    for version in OPENVINO_VERSIONS:
        tree_repository(
            name = "executorch_backends_openvino_" + version.replace(".", "_"),
            lock = Label("//third_party:locks/openvino_%s.txt" % version),
        )
    tree_repository(
        name = "executorch_backends_qnn",
        lock = Label("//third_party:locks/qnn_%s.txt" % QNN_VERSION),
    )
    tree_repository(
        name = "executorch_backends_npm",
        lock = Label("//third_party:locks/npm.txt"),
    )

def _wheels_impl(module_ctx):
    # The root module's own lock wins; ours is the default.
    locks = [lock.file for module in module_ctx.modules if module.is_root for lock in module.tags.lock]
    if len(locks) > 1:
        fail("wheels.lock was given %d times: %s; one lock serves the whole build" % (len(locks), ", ".join([str(lock) for lock in locks])))
    wheel_repositories(lock = locks[0] if locks else None)

wheels = module_extension(
    implementation = _wheels_impl,
    tag_classes = {"lock": tag_class(attrs = {"file": attr.label(mandatory = True)})},
)
