"""What the rounds of a bench say: medians, ratios paired within each round, and whether targets are met."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from bench.load import Sample

CONCURRENCY = (1, 8, 64)

# One interleaved round: every variant at every concurrency.
Round = dict[tuple[str, int], Sample]

# What the mesh must keep against the null gateway: (variant, figure, concurrency, bound, whether more is better).
TARGETS = (
    ("gateway", "p50", 1, 1.4, False),
    ("gateway", "throughput", 64, 0.75, True),
    ("fused", "p50", 1, 1.9, False),
    ("fused", "throughput", 64, 0.55, True),
)


def figures(samples: Sequence[Round], variant: str) -> list[dict[str, float]]:
    """Medians over the rounds, one entry per concurrency."""
    found = []
    for concurrency in CONCURRENCY:
        runs = [row[variant, concurrency] for row in samples]
        found.append(
            {
                "concurrency": concurrency,
                "p50_ms": statistics.median(sample.percentile(0.50) for sample in runs),
                "p99_ms": statistics.median(sample.percentile(0.99) for sample in runs),
                "throughput": statistics.median(sample.throughput for sample in runs),
                "cpu_ms": statistics.median(sample.cpu for sample in runs) * 1000,
            }
        )
    return found


def ratios(samples: Sequence[Round], variant: str) -> dict[str, list[dict[str, float]]]:
    """Medians of the ratios to the null gateway, paired within each round."""

    def paired(value: Callable[[Sample], float]) -> list[dict[str, float]]:
        return [
            {
                "concurrency": concurrency,
                "ratio": statistics.median(
                    value(row[variant, concurrency]) / value(row["null", concurrency]) for row in samples
                ),
            }
            for concurrency in CONCURRENCY
        ]

    return {
        "p50": paired(lambda sample: sample.percentile(0.5)),
        "p99": paired(lambda sample: sample.percentile(0.99)),
        "throughput": paired(lambda sample: sample.throughput),
        "cpu": paired(lambda sample: sample.cpu),
    }


def report(samples: Sequence[Round], memory: dict[str, float]) -> dict[str, Any]:
    """Everything measured, as one object."""
    compared = {variant: ratios(samples, variant) for variant in ("gateway", "fused")}
    return {
        "floor": {variant: figures(samples, variant) for variant in ("fan-out", "null")},
        "gateway": {variant: figures(samples, variant) for variant in ("gateway", "fused")},
        "ratios": compared["fused"] | {"without_fusion": compared["gateway"]},
        "memory_mb": memory,
        "rounds": len(samples),
    }


def verdicts(result: dict[str, Any]) -> list[tuple[str, float, float, bool]]:
    """Each target with its measured ratio and whether it is met."""
    found = []
    for variant, figure, concurrency, bound, more in TARGETS:
        source = result["ratios"] if variant == "fused" else result["ratios"]["without_fusion"]
        value = next(entry["ratio"] for entry in source[figure] if entry["concurrency"] == concurrency)
        found.append(
            (f"{variant}: {figure} at {concurrency}", value, bound, value >= bound if more else value <= bound)
        )
    return found


def page(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    lines = [
        "# Bench",
        "",
        f"Medians of {result['rounds']} interleaved rounds; see `bench/main.py` for the variants.",
        "",
    ]
    lines += [
        "| variant | concurrency | p50 ms | p99 ms | answers/s | CPU ms per answer |",
        "|---|---|---|---|---|---|",
    ]
    for variant, rows in (result["floor"] | result["gateway"]).items():
        lines += [
            f"| {variant} | {row['concurrency']} | {row['p50_ms']:.2f} | {row['p99_ms']:.2f} "
            f"| {row['throughput']:.0f} | {row['cpu_ms']:.2f} |"
            for row in rows
        ]
    lines += ["", "| ratio to the null gateway | measured | target | met |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {value:.2f} | {bound} | {'yes' if met else 'NO'} |" for name, value, bound, met in verdicts(result)
    ]
    lines += ["", "| resident at rest, MB | |", "|---|---|"]
    lines += [f"| {name} | {size:.0f} |" for name, size in result["memory_mb"].items()]
    return "\n".join(lines) + "\n"
