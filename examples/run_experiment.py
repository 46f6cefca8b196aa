"""A small federated experiment from Python: an attack, undefended and defended, under the same seed.

python examples/run_experiment.py [QUESTIONS]
"""

from __future__ import annotations

import sys

from sim import RunResult, run_experiment


def main(questions: int = 6) -> RunResult:
    """Run it and print what happened to the documents; returns the result."""
    result = run_experiment(
        documents=600,
        attack="poisonedrag",
        defense=["scr"],
        sources=5,
        malicious=0.4,
        queries=questions,
        compare=True,
        seed=0,
    )
    documents = result.metrics["documents"]
    sys.stdout.write(
        f"questions {result.metrics['n_queries']} (synthetic world)\n"
        f"honest documents kept (TPR): {documents['tpr']:.2f} of {documents['n_benign']}\n"
        f"poison rejected (TNR): {documents['tnr']:.2f} of {documents['n_malicious']}\n"
        f"attack success with the simulated reader: {result.metrics['asr']['value']:.2f}\n"
    )
    return result


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
