"""What only our own checkout uses: the pinned compiler, the toolchains, the linters."""

load("//tools/bazel:buildifier.bzl", "buildifier_repository")
load("//tools/bazel:gcc.bzl", "gcc_repository")

def executorch_backends_development():
    gcc_repository(name = "executorch_backends_gcc")
    buildifier_repository(name = "executorch_backends_buildifier")
    native.register_toolchains("//tools/bazel/toolchains:all")
