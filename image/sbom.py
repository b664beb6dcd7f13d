#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what is in an image as SPDX 2.3 (JSON): the Debian packages that its dpkg knows, sunk itself, and what is linked into it.

usage: sbom.py --name NAME --version VERSION --created SECONDS [--static PACKAGE=VERSION=ARCHITECTURE] ROOTFS.tar >sbom.spdx.json
"""

import argparse
import hashlib
import json
import re
import sys
import tarfile
import time
import urllib.parse

STATUS = "var/lib/dpkg/status"


def paragraphs(text):
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", block, re.M))
        if fields.get("Status") == "install ok installed":
            yield fields


def installed(rootfs):
    with tarfile.open(rootfs) as archive:
        for member in archive:
            if member.name.removeprefix("./") == STATUS:
                return list(paragraphs(archive.extractfile(member).read().decode("utf-8", "replace")))
    raise SystemExit(f"sbom.py: {rootfs}: no {STATUS}")


def package(fields):
    name, version, arch = fields["Package"], fields["Version"], fields["Architecture"]
    quote = urllib.parse.quote
    found = {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"deb-{name}-{arch}"),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}?arch={arch}",
            }
        ],
    }
    if "Source" in fields:
        found["sourceInfo"] = "built from the Debian source package " + fields["Source"]
    return found


def document(name, version, created, packages, static):
    own = {
        "SPDXID": "SPDXRef-sunk",
        "name": "sunk",
        "versionInfo": version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "GPL-2.0-or-later",
        "licenseDeclared": "GPL-2.0-or-later",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }
    body = json.dumps([packages, static], sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://sunk.invalid/sbom/{name}/{hashlib.sha256((version + body).encode()).hexdigest()}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)), "creators": ["Tool: sunk-image-sbom"]},
        "packages": [own, *packages, *static],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-sunk"},
            *(
                {"spdxElementId": "SPDXRef-sunk", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": p["SPDXID"]}
                for p in packages
            ),
            *(
                {"spdxElementId": "SPDXRef-sunk", "relationshipType": "STATIC_LINK", "relatedSpdxElement": p["SPDXID"]}
                for p in static
            ),
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--created", type=int, default=0)
    parser.add_argument("--static", action="append", default=[])
    parser.add_argument("rootfs")
    args = parser.parse_args()
    packages = [package(f) for f in sorted(installed(args.rootfs), key=lambda f: f["Package"])]
    static = [package(dict(zip(("Package", "Version", "Architecture"), s.split("="), strict=True))) for s in args.static]
    json.dump(document(args.name, args.version, args.created, packages, static), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
