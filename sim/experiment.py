"""A whole experiment: corpus in, rounds through every arm, metrics and comparison out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from aggregator.policies import POLICIES, open_policy, split
from aggregator.readers import READERS
from aggregator.reputation import Reputation
from aggregator.stages import STAGES, build_stages
from core.embedding import EMBEDDERS, open_embedder
from core.embedding.base import Vectors
from core.errors import CheckpointError, DataError
from core.paths import cache_dir
from core.stage import Resources
from sim.arms import Arm, plan_arms, stage_specs
from sim.attacks import ATTACKS
from sim.attacks.base import AttackContext, open_attack
from sim.attacks.view import view_of
from sim.behaviors import open_behavior
from sim.cluster import Federation, ray_session
from sim.comparison import Comparison, compare
from sim.config import RunConfig, resolve
from sim.corpora import Corpus, Question, load_corpus, select_questions
from sim.metrics import summarise
from sim.models import run_reader, stage_model
from sim.output import RunFolder
from sim.partition import cluster_labels
from sim.progress import Progress, open_progress
from sim.query_streams import summarise_traffic
from sim.round_record import RoundRecord
from sim.rounds import CLUSTERS, share_warning, source_names
from sim.shards import NAME as SHARDS
from sim.shards import shard_table, with_trial
from sim.trial import plan_trial
from sim.trial_run import Dialer, TrialRun
from source_node.retrievers import RETRIEVERS

_DATA_FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv", "qrels/test.tsv", "poison.jsonl")


@dataclass(frozen=True)
class RunResult:
    """What an experiment found.

    `metrics` has the schema of design 5.2, `rounds` are the rounds of the chosen defense, and
    `comparison` holds one row an arm (one row where nothing was compared).
    """

    config: RunConfig
    metrics: Mapping[str, Any]
    comparison: Comparison
    rounds: Sequence[RoundRecord]


def run_experiment(
    config: RunConfig | None = None,
    *,
    progress: Progress | None = None,
    fresh: bool = False,
    **settings: Any,
) -> RunResult:
    """Run the experiment that `config` and `settings` (keys of `RunConfig`) describe.

    With `out` it leaves its files there, and goes on where an earlier attempt was cut off.

        result = run_experiment(attack="poisonedrag", defense=["scr"], queries=30)
        print(result.metrics["asr"])

    Args:
        progress: where it reports; None: a bar or lines on stderr.
        fresh: remove an earlier run in `out` first.

    Raises:
        ConfigError: an unknown name, a wrong setting, or an `out` that holds another run.
        DataError: a data file is missing or malformed.
        LLMError: the reader's model failed; the rounds so far are kept.
    """
    config = resolve(config, None, settings)
    report = progress if progress is not None else open_progress()
    with cache_folder(config.cache_dir):
        return _run(config, report, fresh)


def _run(config: RunConfig, report: Progress, fresh: bool) -> RunResult:
    reader = check_names(config)
    corpus, questions = load_data(config, report)
    try_parts(config)
    comparing = config.compare
    if comparing is None:
        comparing = bool(getattr(reader, "simulated", False)) and not getattr(reader, "forced_choice", False)
    arms = plan_arms(config, comparing)
    main = arms[-1]
    identity = {**config.identity(), "compare": comparing, **digests(config)}
    folder = RunFolder(config.out, main.name, [arm.name for arm in arms], identity, fresh)
    try:
        folder.write("config.yaml", config.as_yaml())
        total = len(questions) * config.trials
        if folder.done:
            report.say(f"{folder.done} of {total} rounds are in {config.out} already")
        if folder.done < total:
            _ask_all(config, corpus, questions, arms, folder, report)
        rounds = folder.rounds[main.name]
        stages = [name for name in config.stage_names if name not in POLICIES]
        metrics = summarise(rounds, config.as_json(), stages, main.attacked)
        comparison = compare(
            [(arm, folder.rounds[arm.name]) for arm in arms],
            seed=config.seed,
            reader=config.reader,
            simulated=bool(getattr(reader, "simulated", False)),
            forced_choice=bool(getattr(reader, "forced_choice", False)),
            dataset=corpus.name,
            synthetic=corpus.synthetic,
        )
        folder.write("metrics.json", metrics)
        folder.write("comparison.json", comparison.as_json())
        if any(record.probes for record in rounds):
            folder.write("traffic.json", summarise_traffic(config.behavior, rounds))
        folder.finish()
        return RunResult(config, metrics, comparison, tuple(folder.rounds[main.name]))
    finally:
        folder.close()


@contextmanager
def cache_folder(path: Path | None) -> Iterator[None]:
    """`path` as the one cache folder meanwhile, for this process and those that it starts."""
    if path is None:
        yield
        return
    before = os.environ.get("SCR_CACHE")
    os.environ["SCR_CACHE"] = str(path.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ["SCR_CACHE"]
        else:
            os.environ["SCR_CACHE"] = before


def _ask_all(
    config: RunConfig,
    corpus: Corpus,
    questions: Sequence[Question],
    arms: Sequence[Arm],
    folder: RunFolder,
    report: Progress,
) -> None:
    """Start the federation and go through every trial that is not done."""
    report.say(f"starting {config.sources} sources")
    with ExitStack() as stack:
        local = stack.enter_context(ray_session(config.ray_address, config.object_store_mb))
        federation = Federation(
            source_names(config.sources),
            embedder=config.embedder,
            retriever=config.retriever,
            cache_dir=cache_dir(),
            local=local,
            progress=report,
        )
        stack.callback(federation.close)
        vectors = federation.embed_corpus(corpus.documents, report)
        categories = _categories(corpus, vectors)
        dialer = Dialer(federation.addresses, config.deadline)
        stack.callback(dialer.close)
        llm = stage_model(config)
        reader = run_reader(config, federation.embedder)
        for number in range(folder.done // len(questions), config.trials):
            trial = plan_trial(number, config, corpus, categories, questions)
            folder.write(SHARDS, with_trial(folder.path(SHARDS), shard_table(trial, categories)))
            federation.load(corpus.documents, vectors, trial.members, dict(trial.schedule), report)
            run = TrialRun(config, corpus, trial, dialer, federation.embedder, reader, llm, folder)
            run.work(arms, report)


def check_names(config: RunConfig) -> Any:
    """Look every plug-in up before anything is loaded; returns the reader's class or factory."""
    ATTACKS.get(config.attack)
    open_behavior(config.behavior)
    for name in config.stage_names:
        if name not in POLICIES:
            STAGES.get(name)
    EMBEDDERS.get(config.embedder.partition(":")[0])
    RETRIEVERS.get(config.retriever)
    if config.checkpoint is not None and not config.checkpoint.is_file():
        raise CheckpointError(f"{config.checkpoint}: no such checkpoint")
    return READERS.get(config.reader.partition(":")[0])


def try_parts(config: RunConfig) -> None:
    """Make every stage and the reader once: a wrong option, or a model that cannot do what it must, is told
    before anything is started. No weights are loaded by this.
    """
    embedder = open_embedder(config.embedder, memory_only=True)
    run_reader(config, embedder)
    resources = Resources(embedder=embedder, llm=stage_model(config), seed=config.seed)
    floor, policy = split(stage_specs(config))
    build_stages(floor, resources, Reputation())
    if policy is not None:
        open_policy(policy, resources, Reputation(), floor=floor).close()


def load_data(config: RunConfig, report: Progress) -> tuple[Corpus, list[Question]]:
    """The corpus and the questions under test, both checked against the settings.

    Raises:
        DataError: a file is missing or malformed, or there is no question.
        ConfigError: unknown attack, or an option that it does not read.
    """
    corpus = load_corpus(
        config.dataset,
        config.queries_file,
        config.qrels,
        config.poison,
        config.documents,
        config.seed,
        config.replication,
    )
    for note in corpus.notes:
        report.warn(note)
    questions = select_questions(corpus, config.queries)
    if not questions:
        raise DataError(f"{config.dataset}: there is no question to ask")
    if len(questions) < config.queries:
        report.warn(f"{corpus.name} has {len(questions)} questions, {config.queries} were asked for")
    if config.sources > len(corpus.documents):
        raise DataError(f"{config.sources} sources but {len(corpus.documents)} documents in {corpus.name}")
    label = f"{corpus.name} (synthetic)" if corpus.synthetic else corpus.name
    report.say(f"{label}: {len(corpus.documents)} documents, {len(questions)} questions under test")
    open_attack(config.attack, AttackContext(view_of(corpus), config.attack_option))
    if config.attacked:
        warning = share_warning(int(config.malicious * config.sources + 1e-9), config.sources)
        if warning is not None:
            report.warn(warning)
    return corpus, questions


def _categories(corpus: Corpus, vectors: Vectors) -> Sequence[Hashable]:
    """The category of each document, or its cluster where the corpus names none."""
    named = [document.category for document in corpus.documents]
    if all(category is not None for category in named):
        return named
    return [int(label) for label in cluster_labels(vectors, CLUSTERS, seed=0)]


def digests(config: RunConfig) -> dict[str, str]:
    """Hashes of the files that decide the results: a run does not go on with other data or weights."""
    data = [config.queries_file, config.qrels, config.poison]
    if config.dataset != "synthetic":
        data += [Path(config.dataset) / name for name in _DATA_FILES]
    weights = [config.checkpoint]
    if config.checkpoint is None and config.stage_names:
        shipped = Path(str(resources.files("gnn"))) / "checkpoints"
        weights = [*sorted(shipped.glob("*.npz"))]
    return {"data": _digest(data), "weights": _digest(weights)}


def _digest(paths: Sequence[Path | None]) -> str:
    """Hash of the contents of those `paths` that are files, in order."""
    parts = []
    for path in paths:
        if path is None or not path.is_file():
            parts.append(b"")
            continue
        with path.open("rb") as file:
            parts.append(hashlib.file_digest(file, "sha256").digest())
    return hashlib.sha256(b"/".join(parts)).hexdigest()[:16]
