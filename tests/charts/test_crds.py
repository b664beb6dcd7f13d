# SPDX-License-Identifier: GPL-2.0-or-later
"""The definitions of our kinds, before any server sees them."""

import helm
import pytest
import yaml

# What a schema may say (JSONSchemaProps of apiextensions.k8s.io/v1), as far as we use it. A comma in a description without quotes makes others.
WORDS = {
    "additionalProperties", "anyOf", "default", "description", "enum", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum",
    "minItems", "minLength", "minProperties", "minimum", "nullable", "oneOf", "pattern", "properties", "required", "type", "uniqueItems",
    "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
}  # fmt: skip


def schemas(schema, path):
    yield path, schema
    for name, sub in schema.get("properties", {}).items():
        yield from schemas(sub, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from schemas(schema[word], f"{path}[]")


@pytest.mark.parametrize("file", sorted((helm.CHARTS / "sunk/crds").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_word_of_a_schema_is_one(file):
    crd = yaml.safe_load(file.read_text())
    for version in crd["spec"]["versions"]:
        for path, schema in schemas(version["schema"]["openAPIV3Schema"], crd["spec"]["names"]["kind"]):
            assert set(schema) <= WORDS, path
            assert path.count(".") == 0 or "description" in schema or path.endswith(("[]", ".apiVersion", ".kind", ".metadata")), f"{path} is not explained"


def test_a_template_gets_no_defaults():
    """One that comes with a later definition would change every template, and so replace every slurmd, though nobody asked for that."""
    crd = yaml.safe_load((helm.CHARTS / "sunk/crds/nodesets.yaml").read_text())
    for version in crd["spec"]["versions"]:
        template = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["template"]
        assert [path for path, schema in schemas(template, "template") if "default" in schema] == []
