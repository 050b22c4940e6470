"""Python targets of this repository.

Every Python target goes through here: a generated `__init__.py` in a folder named
`openvino` would hide the wheel's package.
"""

load(
    "@rules_python//python:defs.bzl",
    _py_binary = "py_binary",
    _py_library = "py_library",
)

py_library = _py_library

def py_binary(name, **kwargs):
    _py_binary(
        name = name,
        legacy_create_init = 0,
        **kwargs
    )

def _entry_points_impl(ctx):
    # A folder of its own, whose place on the path makes no other module importable.
    folder = "%s/%s-%s.dist-info" % (ctx.label.name, ctx.attr.distribution, ctx.attr.version)
    metadata = ctx.actions.declare_file(folder + "/METADATA")
    ctx.actions.write(metadata, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (ctx.attr.distribution, ctx.attr.version))
    table = ctx.actions.declare_file(folder + "/entry_points.txt")
    ctx.actions.write(table, "[%s]\n%s" % (
        ctx.attr.group,
        "".join(["%s = %s\n" % item for item in sorted(ctx.attr.entries.items())]),
    ))
    files = depset([metadata, table])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

_entry_points = rule(
    implementation = _entry_points_impl,
    attrs = {
        "distribution": attr.string(mandatory = True),
        "entries": attr.string_dict(mandatory = True),
        "group": attr.string(mandatory = True),
        "version": attr.string(default = "0.1.0"),
    },
)

def entry_points(name, distribution, group, entries, **kwargs):
    """The entry points that a wheel would declare, for programs that run from a build tree.

    importlib.metadata finds them in a build tree as it does in an installed one, so there
    is one way to find a backend.

    Args:
      name: of a py_library to depend on.
      distribution: the name that the wheel bears.
      group: the entry-point group.
      entries: {name: "module:object"}.
      **kwargs: visibility, tags.
    """
    _entry_points(
        name = name + "_metadata",
        distribution = distribution,
        entries = entries,
        group = group,
        **kwargs
    )
    _py_library(
        name = name,
        data = [":%s_metadata" % name],
        imports = [name + "_metadata"],
        **kwargs
    )
