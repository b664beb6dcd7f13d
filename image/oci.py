#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts an OCI image archive together from layers that are there as tar files. No daemon, no privileges; the same input gives the same bytes.

usage: oci.py --out FILE --name NAME:TAG --user UID:GID [--entrypoint WORD]... [--label KEY=VALUE]... [--created SECONDS] LAYER.tar...
"""

import argparse
import gzip
import hashlib
import io
import json
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ARCH = "amd64"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def digest_of(path):
    with open(path, "rb") as f:
        return "sha256:" + hashlib.file_digest(f, "sha256").hexdigest()


class Blobs:
    """What the image is made of, each under its digest."""

    def __init__(self, directory):
        self.dir = directory
        self.dir.mkdir(parents=True)

    def add(self, path, media):
        digest = digest_of(path)
        path.rename(self.dir / digest.removeprefix("sha256:"))
        return {"mediaType": media, "digest": digest, "size": (self.dir / digest.removeprefix("sha256:")).stat().st_size}

    def add_json(self, value, media):
        path = self.dir / "new"
        path.write_text(json.dumps(value, sort_keys=True, separators=(",", ":")))
        return self.add(path, media)


def compress(layer, to):
    with open(layer, "rb") as plain, open(to, "wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)


def put(archive, name, data, is_dir=False):
    member = tarfile.TarInfo(name)
    member.mode = 0o755 if is_dir else 0o644
    member.type = tarfile.DIRTYPE if is_dir else tarfile.REGTYPE
    if is_dir:
        archive.addfile(member)
        return
    member.size = data.stat().st_size if isinstance(data, Path) else len(data)
    with open(data, "rb") if isinstance(data, Path) else io.BytesIO(data) as f:
        archive.addfile(member, f)


def build(args, directory):
    blobs = Blobs(directory / "blobs/sha256")
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(args.created))
    layers, plain = [], []
    for layer in args.layers:
        plain.append(digest_of(layer))
        compress(layer, directory / "layer")
        layers.append(blobs.add(directory / "layer", LAYER))
    config = {
        "created": when,
        "architecture": ARCH,
        "os": "linux",
        "config": {
            "User": args.user,
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "WorkingDir": "/",
            "Labels": dict(label.split("=", 1) for label in args.label),
            **({"Entrypoint": args.entrypoint} if args.entrypoint else {}),
        },
        "rootfs": {"type": "layers", "diff_ids": plain},
        "history": [{"created": when, "created_by": f"sunk dev/image: {Path(layer).name}"} for layer in args.layers],
    }
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": blobs.add_json(config, CONFIG), "layers": layers}
    described = blobs.add_json(manifest, MANIFEST)
    tag = args.name.rpartition(":")[2]
    described["annotations"] = {"org.opencontainers.image.ref.name": tag}
    described["platform"] = {"architecture": ARCH, "os": "linux"}
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [described]}, sort_keys=True).encode()
    with tarfile.open(args.out, "w", format=tarfile.PAX_FORMAT) as archive:
        put(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        put(archive, "index.json", index)
        put(archive, "blobs", None, is_dir=True)
        put(archive, "blobs/sha256", None, is_dir=True)
        for blob in sorted(blobs.dir.iterdir()):
            put(archive, f"blobs/sha256/{blob.name}", blob)
    return described["digest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--entrypoint", action="append", default=[])
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--created", type=int, default=0)
    parser.add_argument("layers", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path(args.out).resolve().parent) as directory:
        print(build(args, Path(directory)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
