"""Wheels are installed once, checked, and never half; pip itself is replaced here."""

import subprocess

import install_wheels
import pytest

HASH = "0" * 64


class FakePip(install_wheels.Pip):
    """Installs metadata alone; `offers` are the torch versions that it can find."""

    def __init__(self, offers=(), version="1.0", fails=False):
        super().__init__(None)
        self.offers, self.version, self.fails, self.installs = offers, version, fails, 0

    def run(self, *arguments):
        found = arguments[-1].removeprefix("torch===") in self.offers
        return subprocess.CompletedProcess(arguments, 0 if found else 1, "", "")

    def install(self, lock, target):
        self.installs += 1
        (target / "thing-1.0.dist-info").mkdir(parents=True)
        if self.fails:
            raise install_wheels.InstallError("the network is gone")
        metadata = f"Metadata-Version: 2.1\nName: Thing\nVersion: {self.version}\n\ntext"
        (target / "thing-1.0.dist-info" / "METADATA").write_text(metadata)
        (target / "BUILD").write_text("not for Bazel")
        (target / "thing.py").write_text("x = 1\n")


@pytest.fixture
def lock(tmp_path):
    path = tmp_path / "lock.txt"
    path.write_text(f"# made by\nthing==1.0 --hash=sha256:{HASH}\n")
    return path


def test_the_second_install_finds_the_first(lock, tmp_path):
    pip = FakePip()
    site = install_wheels.install(lock, tmp_path / "cache", pip)
    assert (site / "thing.py").exists() and not (site / "BUILD").exists()
    assert list(site.glob("__pycache__/thing.*.pyc"))
    assert install_wheels.install(lock, tmp_path / "cache", pip) == site
    assert pip.installs == 1


def test_an_interrupted_install_leaves_nothing_that_counts(lock, tmp_path):
    with pytest.raises(install_wheels.InstallError, match="the network is gone"):
        install_wheels.install(lock, tmp_path / "cache", FakePip(fails=True))
    site = install_wheels.install(lock, tmp_path / "cache", FakePip())
    assert (site / "thing.py").exists()


def test_another_version_than_the_locked_one_is_refused(lock, tmp_path):
    with pytest.raises(install_wheels.InstallError, match=r"has thing 2\.0.*says 1\.0"):
        install_wheels.install(lock, tmp_path / "cache", FakePip(version="2.0"))


def test_another_lock_is_another_folder(lock, tmp_path):
    first = install_wheels.install(lock, tmp_path / "cache", FakePip())
    lock.write_text(lock.read_text() + "# more\n")
    assert install_wheels.install(lock, tmp_path / "cache", FakePip()) != first


def test_a_line_without_a_hash_is_refused(lock):
    lock.write_text("thing==1.0\n")
    with pytest.raises(install_wheels.InstallError, match=r"thing==1\.0"):
        install_wheels.locked_packages(lock)


@pytest.mark.parametrize(
    ("offers", "choice"), [(("2.13.0+cpu", "2.13.0"), "cpu"), (("2.13.0",), "cuda13")]
)
def test_the_small_torch_is_taken_where_pip_offers_it(
    tmp_path, monkeypatch, capsys, offers, choice
):
    for name, version in (("cpu", "2.13.0+cpu"), ("cuda13", "2.13.0")):
        (tmp_path / name).write_text(f"torch=={version} --hash=sha256:{HASH}\n")
    monkeypatch.setattr(install_wheels, "Pip", lambda wheel: FakePip(offers=offers))
    monkeypatch.setattr(install_wheels, "check", lambda lock, site: None)
    locks = [f"--lock={name}={tmp_path / name}" for name in ("cpu", "cuda13")]
    monkeypatch.setattr("sys.argv", ["install_wheels", f"--cache={tmp_path}", *locks])
    assert install_wheels.main() == 0
    assert capsys.readouterr().out.split()[0] == choice


def test_an_unknown_choice_lists_the_known_ones(lock, tmp_path, monkeypatch, capsys):
    arguments = [f"--cache={tmp_path}", f"--lock=cpu={lock}", "--choose=rocm"]
    monkeypatch.setattr("sys.argv", ["install_wheels", *arguments])
    assert install_wheels.main() == 1
    assert "'rocm' is not one of auto, cpu" in capsys.readouterr().err
