"""`kernels`: the list of what a shim library exports, read from the built library."""

def _kernels_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".json")
    library = ctx.file.library
    arguments = ctx.actions.args()
    arguments.add(library)
    arguments.add(out)
    ctx.actions.run(
        executable = ctx.executable._list,
        arguments = [arguments],
        inputs = [library],
        outputs = [out],
        mnemonic = "ShimKernels",
        progress_message = "Listing the kernels of %{input}",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

kernels = rule(
    doc = "`<name>.json`: `{\"kernels\": [symbol, ...], \"library\": SONAME}` of a shim library.",
    implementation = _kernels_impl,
    attrs = {
        "library": attr.label(allow_single_file = [".so"], mandatory = True),
        "_list": attr.label(
            default = "//aoti/shims:list_kernels",
            executable = True,
            cfg = "exec",
        ),
    },
)
