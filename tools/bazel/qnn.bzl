"""Where tests on QNN's emulator run."""

# For `target_compatible_with`: on platforms with the emulator, unless --//tools/bazel:qnn=off.
QNN_EMULATOR = select({
    Label("//tools/bazel:without_qnn"): ["@platforms//:incompatible"],
    "//conditions:default": [Label("//tools/bazel/constraints:qnn_emulator")],
})
