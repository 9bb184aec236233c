"""The licences in SECURITY.md are those that the packages state."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]


def direct_dependencies() -> dict[str, str]:
    """Each package that Levelled uses, with the extra that installs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        re.split(r"[\[><=]", one)[0]: extra
        for extra, requirements in groups.items()
        if extra not in ("all", "dev")
        for one in requirements
    }


def stated_licence(package: str) -> str | None:
    """The licence in the metadata of an installed package, in one line."""
    try:
        about = metadata(package)
    except PackageNotFoundError:
        return None
    kinds = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    if "License-Expression" in about:
        return about["License-Expression"]
    return kinds[0].rpartition(":: ")[2] if kinds else about["License"]


def test_every_direct_dependency_is_listed_with_the_licence_that_it_states() -> None:
    rows = re.findall(r"^\| (\S+) \| (\S*) \| (.+) \|$", (ROOT / "SECURITY.md").read_text(), re.M)
    listed = {package: (extra, licence) for package, extra, licence in rows if package != "package"}
    wanted = direct_dependencies()
    assert {package: extra for package, (extra, _) in listed.items()} == wanted
    stated = {package: stated_licence(package) for package in wanted}
    differing = {
        package: (listed[package][1], licence)
        for package, licence in stated.items()
        if licence not in (None, listed[package][1])
    }
    assert differing == {}
