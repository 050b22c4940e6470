import subprocess
import sys

import pytest

from qualcomm_backend import sdk


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An SDK with libraries that are none."""
    folder = tmp_path / "lib" / "x86_64-linux-clang"
    folder.mkdir(parents=True)
    for name in ("libQnnHtp.so", "libQnnSystem.so"):
        (folder / name).write_bytes(b"no library")
    monkeypatch.setenv(sdk.VARIABLE, str(tmp_path))
    return tmp_path


def test_the_variable_comes_before_the_wheel(root):
    assert sdk.find() == sdk.Sdk(root / "lib" / "x86_64-linux-clang", f"QNN_SDK_ROOT={root}")


def test_a_folder_that_is_no_sdk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(sdk.VARIABLE, str(tmp_path))
    with pytest.raises(
        sdk.SdkError, match=r"(?s)no libQnnHtp\.so and no libQnnSystem\.so in .*2\.5\.0"
    ):
        sdk.find()


def test_without_an_sdk_the_wheel_is_named(monkeypatch):
    monkeypatch.delenv(sdk.VARIABLE, raising=False)
    monkeypatch.setattr(sdk, "_PACKAGE", "no_such_package")
    with pytest.raises(
        sdk.SdkError, match=r"no QNN SDK here.*\n.*onnxruntime-qnn 2\.5\.0.*QNN_SDK"
    ):
        sdk.find()


def test_a_library_that_cannot_be_loaded_ends_the_child_alone(root):
    with pytest.raises(sdk.SdkError, match=r"cannot be asked for its version \((killed|status)"):
        sdk.version(sdk.find())


@pytest.mark.parametrize("version", ["2.41.0", "2.50.40", "3.49.0"])
def test_another_version_is_refused_with_the_one_that_works(root, monkeypatch, version):
    monkeypatch.setattr(sdk, "version", lambda _: version)
    with pytest.raises(sdk.SdkError) as caught:
        sdk.refuse_other_versions(sdk.find())
    assert all(word in str(caught.value) for word in (version, "2.49", "onnxruntime-qnn 2.5.0"))


def test_the_version_that_works_is_not_refused(root, monkeypatch):
    monkeypatch.setattr(sdk, "version", lambda _: "2.49.40")
    sdk.refuse_other_versions(sdk.find())


def test_importing_the_backend_imports_nothing_heavy():
    program = "import sys, qualcomm_backend; print({'torch', 'executorch'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "set()", found.stderr
