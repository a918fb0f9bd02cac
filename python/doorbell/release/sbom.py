# SPDX-License-Identifier: Apache-2.0
"""What the archive holds that others wrote, and with which tools it was made: a CycloneDX 1.5 document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from doorbell import paths
from doorbell.qemu.packages import locked

INSIDE = {"pythondata-cpu-picorv32": "ISC"}
"""Packages whose files are in the archive, and their licence. All others of requirements.lock only make or check it."""
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def pinned(lock: Path) -> list[tuple[str, str, list[str]]]:
    """Name, version and hashes of each package."""
    text = lock.read_text()
    starts = [*PIN.finditer(text)]
    ends = [m.start() for m in starts[1:]] + [len(text)]
    return [(m[1], m[2], HASH.findall(text[m.end() : end])) for m, end in zip(starts, ends)]


def sbom(version: str) -> str:
    components: list[dict[str, Any]] = []
    for name, pin, hashes in pinned(paths.ROOT / "requirements.lock"):
        inside = name in INSIDE
        component: dict[str, Any] = {
            "type": "library",
            "name": name,
            "version": pin,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{pin}",
            "scope": "required" if inside else "excluded",
        }
        if inside:
            component["licenses"] = [{"license": {"id": INSIDE[name]}}]
        if hashes:  # of its files at PyPI: a wheel for each system
            component["externalReferences"] = [
                {
                    "type": "distribution",
                    "url": f"https://pypi.org/project/{name}/{pin}/",
                    "hashes": [{"alg": "SHA-256", "content": h} for h in sorted(hashes)],
                }
            ]
        components.append(component)
    for (name, pin), digest in sorted(locked().items()):  # only guests are made of these
        components.append(
            {
                "type": "library",
                "name": name,
                "version": pin,
                "purl": f"pkg:deb/debian/{quote(name)}@{quote(pin)}?distro=trixie",
                "scope": "excluded",
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        )
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": "doorbell",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
    }
    return json.dumps(document, indent=1) + "\n"
