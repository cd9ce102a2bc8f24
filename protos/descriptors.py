"""Writes the descriptor set from which Envoy transcodes JSON; run by `make protos` and diffed in CI."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2, status_pb2
from lanemesh.v1 import search_pb2

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "helm" / "files" / "lanemesh.binpb"
# The front door, and the types of the details that an error of it may carry.
ROOTS: tuple[FileDescriptor, ...] = (search_pb2.DESCRIPTOR, status_pb2.DESCRIPTOR, error_details_pb2.DESCRIPTOR)


def descriptor_set() -> bytes:
    """Every file of the front door, imports before importers, its methods with their HTTP rules."""
    files: dict[str, FileDescriptorProto] = {}
    for root in ROOTS:
        _collect(root, files)
    rules = ParseDict(yaml.safe_load((HERE / "http.yaml").read_text(encoding="utf-8")), http_pb2.Http())
    for rule in rules.rules:
        _annotate(files, rule)
    return FileDescriptorSet(file=files.values()).SerializeToString(deterministic=True)


def _collect(file: FileDescriptor, found: dict[str, FileDescriptorProto]) -> None:
    if file.name in found:
        return
    for needed in file.dependencies:
        _collect(needed, found)
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    found[file.name] = proto


def _annotate(files: dict[str, FileDescriptorProto], rule: http_pb2.HttpRule) -> None:
    for file in files.values():
        for service in file.service:
            for method in service.method:
                if f"{file.package}.{service.name}.{method.name}" == rule.selector:
                    kept = method.options.Extensions[annotations_pb2.http]
                    kept.CopyFrom(rule)
                    kept.ClearField("selector")
                    return
    sys.exit(f"http.yaml: {rule.selector} is no method of the contract")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_bytes(descriptor_set())
