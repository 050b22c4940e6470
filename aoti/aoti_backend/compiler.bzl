"""What lowering compiles programs with: the C++ toolchain's compiler, and headers precompiled."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")

def _compiler_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    place = ctx.actions.declare_file(ctx.label.name + ".txt")
    path = toolchain.compiler_executable
    if path.startswith("external/"):
        path = "../" + path[len("external/"):]
    ctx.actions.write(place, path + "\n")
    return [DefaultInfo(
        files = depset([place]),
        runfiles = ctx.runfiles([place], transitive_files = toolchain.all_files),
    )]

compiler = rule(
    doc = """`<name>.txt`: the path of the toolchain's C++ compiler, from the root of the runfiles' main
repository, or absolute. The compiler itself, with all that it needs, is among the runfiles.""",
    implementation = _compiler_impl,
    attrs = {"_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain")},
    toolchains = use_cpp_toolchain(),
    fragments = ["cpp"],
)

def _precompiled_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add_all([folder], expand_directories = False)
    arguments.add_all(ctx.attr.isas)
    ctx.actions.run(
        executable = ctx.executable._precompile,
        arguments = [arguments],
        outputs = [folder],
        mnemonic = "AotiPrecompile",
        progress_message = "Precompiling the headers of compiled programs",
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

precompiled = rule(
    doc = "A folder of precompiled headers, in which lowering looks before it makes its own.",
    implementation = _precompiled_impl,
    attrs = {
        "isas": attr.string_list(default = ["avx2"]),
        "_precompile": attr.label(
            default = "//aoti/aoti_backend:precompile",
            executable = True,
            # As the programs that use it are built: both run the compiler of their runfiles.
            cfg = "target",
        ),
    },
)
