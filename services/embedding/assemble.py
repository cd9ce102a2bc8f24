"""Writes the ONNX file of MiniLM: `python -m services.embedding.assemble int8 FILE`. A process of its own, because what
it needs to assemble is large and needed once."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import onnx
from safetensors.numpy import load_file

from services.embedding.graph import Encoder
from services.embedding.models import weights_folder


def assemble(precision: str, target: Path) -> None:
    """Writes the file whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".assembling-") as folder:
        finished = Path(folder) / target.name
        onnx.save(_model(weights_folder(), quantised=precision == "int8"), finished)
        finished.replace(target)


def _model(folder: Path, *, quantised: bool) -> onnx.ModelProto:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    encoder = Encoder(
        load_file(folder / "model.safetensors"),
        heads=config["num_attention_heads"],
        epsilon=config["layer_norm_eps"],
        quantised=quantised,
    )
    return encoder.model(config["num_hidden_layers"])


if __name__ == "__main__":
    assemble(sys.argv[1], Path(sys.argv[2]))
