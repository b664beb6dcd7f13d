# SPDX-License-Identifier: GPL-2.0-or-later
"""What a service account may do (manifests of roles and bindings) and what it did (an audit log), in the same terms: a right is
(API group, resource or resource/subresource, verb). The audit log may be sunk-lite's or a real API server's (level Metadata)."""

import json
from pathlib import Path

import yaml


def granted(manifests, ns, account):
    """All rights that the bindings give to a service account."""
    documents = [d for d in yaml.safe_load_all(manifests) if d]
    roles = {(d["kind"], d["metadata"].get("namespace", ""), d["metadata"]["name"]): d for d in documents if d["kind"].endswith("Role")}
    rights = set()
    for binding in documents:
        if not binding["kind"].endswith("RoleBinding"):
            continue
        if not any((s["kind"], s["namespace"], s["name"]) == ("ServiceAccount", ns, account) for s in binding["subjects"]):
            continue
        ref = binding["roleRef"]
        where = binding["metadata"].get("namespace", "") if ref["kind"] == "Role" else ""
        for rule in roles[ref["kind"], where, ref["name"]]["rules"]:
            assert "*" not in str(rule), f"not least privilege: {rule}"
            rights |= {(g, r, v) for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
    return rights


def requests(log, ns, account):
    """Its requests for resources: the lines of the audit log."""
    user = f"system:serviceaccount:{ns}:{account}"
    for line in Path(log).read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["user"]["username"] == user and "objectRef" in event:
            yield event


def right(event):
    ref = event["objectRef"]
    sub = ref.get("subresource", "")
    return ref.get("apiGroup", ""), ref["resource"] + (f"/{sub}" if sub else ""), event["verb"]


def asked(log, ns, account):
    return {right(e) for e in requests(log, ns, account)}


def refused(log, ns, account):
    return {right(e) for e in requests(log, ns, account) if e.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"}
