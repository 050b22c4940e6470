"""What only our own checkout uses: the pinned compiler, the toolchains, the linters."""

load("//tools/bazel:buildifier.bzl", "buildifier_repository")
load("//tools/bazel:gcc.bzl", "gcc_repository")

# buildifier: disable=unnamed-macro
def executorch_backends_development():
    """Declares and registers them; WORKSPACE calls this, a workspace that vendors us does not."""
    gcc_repository(name = "executorch_backends_gcc")
    buildifier_repository(name = "executorch_backends_buildifier")
    native.register_toolchains("//tools/bazel/toolchains:all")
