"""Where shared libraries are looked for."""

import pytest

from backend_common import libraries


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in a tree; the variable is not set."""
    monkeypatch.delenv(libraries.FOLDER_VARIABLE, raising=False)
    (tmp_path / "common" / "package").mkdir(parents=True)
    return tmp_path / "common" / "package" / "module.py"


def put(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lib.so").write_bytes(b"")
    return folder / "lib.so"


def test_in_a_build_tree(package):
    there = put(package.parent.parent / "runtime")
    assert libraries.find("lib.so", str(package)) == there


def test_a_wheels_own_comes_before_a_build_trees(package):
    put(package.parent.parent / "runtime")
    there = put(package.parent / "lib")
    assert libraries.find("lib.so", str(package)) == there


def test_a_named_folder_comes_first(package, tmp_path, monkeypatch):
    put(package.parent / "lib")
    there = put(tmp_path / "named")
    monkeypatch.setenv(libraries.FOLDER_VARIABLE, str(tmp_path / "named"))
    assert libraries.find("lib.so", str(package)) == there


def test_links_are_not_followed(package, tmp_path):
    """A build tree consists of links to files elsewhere."""
    elsewhere = tmp_path / "elsewhere" / "module.py"
    elsewhere.parent.mkdir()
    elsewhere.write_text("")
    package.symlink_to(elsewhere)
    there = put(package.parent.parent / "runtime")
    assert libraries.find("lib.so", str(package)) == there


def test_the_error_lists_the_places(package):
    with pytest.raises(libraries.LibraryNotFoundError) as caught:
        libraries.find("lib.so", str(package))
    text = str(caught.value)
    assert str(package.parent / "lib" / "lib.so") in text
    assert str(package.parent.parent / "runtime" / "lib.so") in text
    assert libraries.FOLDER_VARIABLE in text
