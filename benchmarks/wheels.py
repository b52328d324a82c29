"""Checks for which other processors and Pythons the package index has wheels of all requirements of ropes.

    python -m benchmarks.wheels [--out FILE]

For each platform and Python the requirements of pyproject.toml are followed, with the markers that apply there, as pip
would resolve them. Nothing is downloaded or installed. The existence of a wheel does not mean that it works.
"""

import json
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.figures import described, options
from ropes.common.files import write_json
from ropes.common.progress import progress

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: Of glibc 2.17 to 2.35, that of Ubuntu 22.04.
_LINUX = ("manylinux2014_{0}", *(f"manylinux_2_{minor}_{{0}}" for minor in range(17, 36)))
#: Name → what pip calls it, and the values of markers there.
PLATFORMS = {
    "Linux, x86-64": (
        tuple(tag.format("x86_64") for tag in _LINUX),
        {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"},
    ),
    "Linux, ARM": (
        tuple(tag.format("aarch64") for tag in _LINUX),
        {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "aarch64", "os_name": "posix"},
    ),
    "macOS, Apple silicon": (
        ("macosx_14_0_arm64",),
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64", "os_name": "posix"},
    ),
}
_PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_AT_ONCE = 8


def project_requirements() -> list[Requirement]:
    """What ropes needs."""
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    return [Requirement(line) for line in project["dependencies"]]


def wheel(requirement: Requirement, tags: tuple[str, ...], python: str) -> dict[str, Any] | None:
    """Metadata of the wheel that pip would take for a platform; None where there is none."""
    bare = Requirement(str(requirement))
    bare.marker = None
    where = [word for tag in tags for word in ("--platform", tag)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary=:all:", "--quiet", "--quiet"]
        words += ["--disable-pip-version-check", "--target", folder, "--python-version", python, *where]
        command = [sys.executable, "-m", "pip", *words, "--report", str(report), str(bare)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            if "No matching distribution" not in done.stderr:
                raise RuntimeError(f"pip cannot tell of {bare}: {done.stderr[-300:]}")
            return None
        metadata: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))["install"][0]["metadata"]
        return metadata


def missing(begin: list[Requirement], platform: str, python: str) -> tuple[list[str], int]:
    """Distributions without a wheel there, and how many were looked at."""
    tags, values = PLATFORMS[platform]
    environment = {**values, "python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    waiting = [one for one in begin if one.marker is None or one.marker.evaluate(environment)]
    found: dict[str, dict[str, Any] | None] = {}
    asked: dict[str, set[str]] = {}  # distribution → its extras
    while waiting:
        new = {canonicalize_name(one.name): one for one in waiting if canonicalize_name(one.name) not in found}
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            found |= zip(new, threads.map(lambda one: wheel(one, tags, python), new.values()), strict=True)
        following: list[Requirement] = []
        for one in waiting:
            name = canonicalize_name(one.name)
            extras = one.extras | ({""} if name in new else set())
            for line in (found[name] or {}).get("requires_dist", ()) if extras - asked.get(name, set()) else ():
                further = Requirement(line)
                if further.marker is None or any(further.marker.evaluate({**environment, "extra": e}) for e in extras):
                    following.append(further)
            asked[name] = asked.get(name, set()) | extras
        waiting = following
    return sorted(name for name, metadata in found.items() if metadata is None), len(found)


def main() -> None:
    """Ask, and print the table."""
    arguments, began = options(__doc__).parse_args(), time.monotonic()
    needed = project_requirements()
    found: dict[str, dict[str, Any]] = {}
    pairs = [(platform, python) for platform in PLATFORMS for python in PYTHONS]
    with progress("platforms", len(pairs)) as update:
        for done, (platform, python) in enumerate(pairs, start=1):
            lacking, count = missing(needed, platform, python)
            simulation, _ = missing([Requirement("pybullet")], platform, python)
            found[f"{platform}, Python {python}"] = {"looked_at": count, "missing": lacking, "simulation": simulation}
            update(done, platform)
    print("| platform | distributions | without a wheel | for simulation |\n|---|---:|---|---|")
    for name, one in found.items():
        print(f"| {name} | {one['looked_at']} | {' '.join(one['missing'])} | {' '.join(one['simulation'])} |")
    if arguments.out:
        write_json(arguments.out, {**described(began), "platforms": found})


if __name__ == "__main__":
    main()
