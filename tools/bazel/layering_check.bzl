"""A C++ target may include only headers of its own and of its direct deps.

gcc has no module maps, so Bazel's own layering check does nothing with it; this aspect
does the same for our headers. .bazelrc applies it to every build of this checkout.
"""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

_PREFIX = "executorch_backends/"

def _include_names(headers):
    """How sources spell these headers: the part of the path from the include prefix on."""
    return [
        _PREFIX + header.path.rpartition("/" + _PREFIX)[2]
        for header in headers
        if "/" + _PREFIX in header.path
    ]

def _layering_check_impl(target, ctx):
    if CcInfo not in target or not hasattr(ctx.rule.attr, "deps"):
        return []
    sources = [
        file
        for attribute in ["srcs", "hdrs"]
        for file in getattr(ctx.rule.files, attribute, [])
        if file.is_source and file.extension in ["h", "cc"]
    ]
    if not sources or target.label.workspace_name:
        return []
    allowed = _include_names(target[CcInfo].compilation_context.direct_headers)
    for dep in ctx.rule.attr.deps:
        if CcInfo in dep:
            allowed += _include_names(dep[CcInfo].compilation_context.direct_public_headers)
    allowed_file = ctx.actions.declare_file(target.label.name + ".includes_allowed")
    ctx.actions.write(allowed_file, "\n".join(sorted(allowed)) + "\n")
    passed = ctx.actions.declare_file(target.label.name + ".layering_checked")
    ctx.actions.run_shell(
        inputs = sources + [allowed_file],
        outputs = [passed],
        command = """
allowed=$1 passed=$2 label=$3
shift 3
grep -noE '^#include "%s[^"]+"' /dev/null "$@" | awk -F'"' -v label="$label" '
  NR == FNR { known[$1] = 1; next }
  !($2 in known) { split($1, at, ":"); printf "%%s:%%s: %%s includes \\"%%s\\", which none of its deps offers; add the dep\\n", at[1], at[2], label, $2; bad = 1 }
  END { exit bad }
' "$allowed" - >&2 && touch "$passed"
""" % _PREFIX,
        arguments = [allowed_file.path, passed.path, str(target.label)] + [file.path for file in sources],
        mnemonic = "LayeringCheck",
        progress_message = "Checking the includes of %s" % target.label,
    )
    return [OutputGroupInfo(_validation = depset([passed]))]

layering_check = aspect(
    implementation = _layering_check_impl,
    attr_aspects = ["deps"],
)
