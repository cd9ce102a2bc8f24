"""Writes the files of MiniLM: `python -m services.embedding.assemble int8 FOLDER`. A process of its own, because what
it needs to assemble is large and needed once; an image assembles while it is built, and then has nothing of it."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import onnx
from safetensors.numpy import load_file

from services.embedding.graph import Encoder
from services.embedding.models import Files, weights_folder


def assemble(precision: str, folder: Path) -> None:
    """Writes each file whole or not at all."""
    weights, files = weights_folder(), Files.of(folder, precision)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".assembling-") as scratch:
        finished = Path(scratch) / "finished"
        shutil.copyfile(weights / "tokenizer.json", finished)
        finished.replace(files.tokenizer)
        onnx.save(_model(weights, quantised=precision == "int8"), finished)
        finished.replace(files.graph)


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
