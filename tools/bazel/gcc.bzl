"""The pinned gcc as an external repository; //tools/bazel/toolchains registers it."""

_BUILD = """\
load("@bazel_tools//tools/cpp:unix_cc_toolchain_config.bzl", "cc_toolchain_config")
load("@rules_cc//cc:defs.bzl", "cc_toolchain")

package(default_visibility = ["//visibility:public"])

filegroup(
    name = "files",
    srcs = {programs} + glob(["lib/**", "root/**"]),
)

cc_toolchain_config(
    name = "config",
    abi_libc_version = "glibc_2.36",
    abi_version = "gcc12",
    compile_flags = [
        "-fstack-protector",
        "-fno-omit-frame-pointer",
        "-Wall",
        "-no-canonical-prefixes",
        "-fno-canonical-system-headers",
    ],
    compiler = "gcc",
    cpu = "k8",
    cxx_builtin_include_directories = {includes},
    cxx_flags = ["-std=c++17"],
    dbg_compile_flags = ["-g"],
    host_system_name = "local",
    link_flags = [
        "-no-canonical-prefixes",
        # Libraries that register kernels or delegates are named by no symbol.
        "-Wl,--no-as-needed",
        "-Wl,-z,relro,-z,now",
        "-pass-exit-codes",
    ],
    link_libs = ["-lstdc++", "-lm"],
    opt_compile_flags = ["-O2", "-DNDEBUG", "-D_FORTIFY_SOURCE=1", "-ffunction-sections", "-fdata-sections"],
    opt_link_flags = ["-Wl,--gc-sections"],
    supports_start_end_lib = False,
    target_libc = "glibc_2.36",
    target_system_name = "x86_64-linux-gnu",
    tool_paths = {tools},
    # Part of every action's key: another compiler rebuilds everything.
    toolchain_identifier = "gcc12-{identity}",
    unfiltered_compile_flags = [
        "-Wno-builtin-macro-redefined",
        "-D__DATE__=\\"redacted\\"",
        "-D__TIMESTAMP__=\\"redacted\\"",
        "-D__TIME__=\\"redacted\\"",
    ],
)

cc_toolchain(
    name = "cc_toolchain",
    all_files = ":files",
    ar_files = ":files",
    as_files = ":files",
    compiler_files = ":files",
    dwp_files = ":files",
    linker_files = ":files",
    objcopy_files = ":files",
    strip_files = ":files",
    toolchain_config = ":config",
)
"""

_TOOLS = ["ar", "as", "cpp", "gcc", "gcov", "ld", "nm", "objcopy", "objdump", "strip"]

def _gcc_repository_impl(repository_ctx):
    script = repository_ctx.path(repository_ctx.attr.script)
    for label in repository_ctx.attr.inputs:
        repository_ctx.path(label)
    repository_ctx.report_progress("installing the pinned gcc (267 MB, once)")
    result = repository_ctx.execute([script], timeout = 1800)
    if result.return_code:
        fail("\n" + result.stderr)
    prefix = result.stdout.strip().split("\n")[-1]
    for name in _TOOLS + ["lib", "root"]:
        repository_ctx.symlink(prefix + "/" + name, name)

    # Relative to the execution root, as the wrapper's dependency files name them.
    root = "external/%s/root/usr/" % repository_ctx.name
    includes = [
        root + "include",
        root + "lib/gcc/x86_64-linux-gnu/12/include",
        root + "lib/gcc/x86_64-linux-gnu/12/include-fixed",
    ]
    tools = {tool: tool for tool in _TOOLS}
    tools.update({"dwp": "objcopy", "llvm-cov": "/bin/false", "llvm-profdata": "/bin/false"})
    repository_ctx.file("BUILD.bazel", _BUILD.format(
        includes = repr(includes),
        programs = repr(_TOOLS),
        tools = repr(tools),
        identity = prefix.rpartition("-")[2],
    ))

gcc_repository = repository_rule(
    implementation = _gcc_repository_impl,
    doc = "Debian's gcc 12 with its own sysroot, installed by tools/bootstrap/install_gcc.sh.",
    attrs = {
        "inputs": attr.label_list(default = ["//tools/bootstrap:debian.sh", "//tools/bootstrap:gcc.lock"]),
        "script": attr.label(default = "//tools/bootstrap:install_gcc.sh"),
    },
    environ = ["EXECUTORCH_BACKENDS_CACHE", "XDG_CACHE_HOME", "HOME"],
)

gcc = module_extension(implementation = lambda module_ctx: gcc_repository(name = "executorch_backends_gcc"))
