"""Tables I to III of the SecureCollaRAG paper, and its Theorem 1 as an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from aggregator.llm import open_llm
from core.config import StrictModel, parse
from core.embedding import open_embedder
from core.embedding.base import Embedder
from core.errors import ConfigError
from core.seeding import derive_seed, generator
from gnn.audit import CommonsenseAuditor
from gnn.scorer import Audit, CredibilityScorer
from gnn.signals import logit
from sim.attacks.base import AttackOptions
from sim.bootstrap import ratio_interval
from sim.certificate import certify, risk
from sim.corpora import load_corpus, select_questions
from sim.experiment import run_experiment
from sim.progress import Progress, counting, open_progress
from sim.reproduce.scr_published import ATTACKS, DEFENSES, MODELS, SOURCE, TABLE_1, TABLE_2, TABLE_3
from sim.reproduce.table import Key, ReproduceOptions, Row, Table
from sim.rounds import PreparedCorpus, prepare
from sim.training_rounds import BENIGN, MALICIOUS, Episode, LabelledRound, episode_rounds, questions_of

_MODELS_DIFFER = "The paper's retrievers (Contriever, ClinicalBERT, FinBERT) are MiniLM here."
_COPIES = (
    "`replication` sources hold each document; the paper partitions a corpus without saying whether sources "
    "overlap, and an altered fact that nobody else tells cannot be found by comparing sources."
)


class ScrSettings(StrictModel):
    """Settings of the SCR tables (`--set KEY=VALUE`).

    `rounds` a trial, `replication` holders of each document, `reader` of Table I and `rival_queries` of its
    questions for the defenses that ask a language model about every document; `low`, `high` bound the
    credibility of audited documents and `weight` is how far the audit is believed.
    """

    sources: int = Field(default=10, ge=2, le=50)
    malicious: float = Field(default=0.4, ge=0, le=0.49)
    replication: int = Field(default=3, ge=1, le=50)
    rounds: int | None = Field(default=None, ge=1)
    trials: int = Field(default=1, ge=1, le=50)
    reader: str = "extractive"
    rival_queries: int = Field(default=4, ge=0)
    low: float = Field(default=0.1, ge=0, le=1)
    high: float = Field(default=0.9, ge=0, le=1)
    weight: float = Field(default=1.0, ge=0, le=10)


def table_1(options: ReproduceOptions, progress: Progress) -> Table:
    """Attack success without defense, with the paper's rivals, and with SCR."""
    settings = parse(ScrSettings, options.setting, "scr-1 --set")
    if options.dataset is None:
        raise ConfigError("scr-1 needs --dataset FOLDER (nq and hotpotqa have published figures)")
    name = Path(options.dataset).name
    rows: list[Row] = []
    for attack in ATTACKS:
        progress.say(f"scr-1: {attack}")
        found = _success(options, settings, attack)
        for defense in DEFENSES:
            asr = found[defense]
            value = asr["value"]
            interval = asr.get("ci95")
            measured = None if value is None else 100.0 * value
            ci = None if interval is None else (100.0 * interval[0], 100.0 * interval[1])
            for model in MODELS:
                published = TABLE_1.get((name, defense, attack, model))
                key: Key = {"dataset": name, "attack": attack, "defense": defense, "model": model}
                rows.append(Row(key, published, measured, "%", ci))
    notes = (
        f"One reader ({settings.reader}) stands beside each of the paper's three language models; the "
        "extractive one ranks sentences and is no language model, so compare defenses, not levels.",
        "Success here is the target answer in the text (for ATA: the right answer gone from it), not the "
        "verdict of a judge model.",
        f"FilterRAG and RobustRAG ask a language model about every document: they got the first "
        f"{settings.rival_queries} questions.",
        _MODELS_DIFFER,
        _COPIES,
    )
    return Table("scr-1", f"Table I, {SOURCE}", _described(options, settings), rows, notes)


def _success(options: ReproduceOptions, settings: ScrSettings, attack: str) -> dict[str, dict[str, Any]]:
    """Defense -> its ASR with interval, by the simulator's own runs."""
    base: dict[str, Any] = {
        "dataset": options.dataset,
        "queries_file": options.queries_file,
        "qrels": options.qrels,
        "poison": options.poison,
        "documents": options.documents,
        "queries": options.queries or 20,
        "embedder": options.embedder,
        "seed": options.seed,
        "cache_dir": options.cache_dir,
        "attack": attack,
        "sources": settings.sources,
        "malicious": settings.malicious,
        "replication": settings.replication,
        "trials": settings.trials,
    }
    quiet = open_progress(True)
    whole = run_experiment(defense=["scr"], reader=settings.reader, compare=True, progress=quiet, **base)
    found = {row["arm"]: row["asr"] for row in whole.comparison.as_json()["rows"]}
    found["scr"] = found["defended"]
    base["queries"] = settings.rival_queries
    llm = options.llm or "smollm2"
    for name, defense, reader in (
        ("filterrag", "filterrag", settings.reader),
        ("robustrag", "none", "robustrag"),
    ):
        found[name] = {"value": None}
        if settings.rival_queries:
            run = run_experiment(
                defense=[defense], reader=reader, llm=llm, compare=False, progress=quiet, **base
            )
            found[name] = run.metrics["asr"]
    return found


def table_2(options: ReproduceOptions, progress: Progress) -> Table:
    """Rates of right decisions with and without the commonsense audit."""
    lab = _Lab(options, "scr-2")
    llm = options.llm or "smollm2"
    settings = lab.settings
    rows: list[Row] = []
    audited: dict[str, int] = {}
    for attack in ATTACKS:
        auditor = CommonsenseAuditor(open_llm(llm))
        audit = Audit(auditor, settings.low, settings.high, settings.weight)
        scorers = {"with": CredibilityScorer(audit=audit), "without": CredibilityScorer()}
        counts: dict[str, list[tuple[int, int, int, int]]] = {name: [] for name in scorers}
        states: dict[str, Any] = dict.fromkeys(scorers)
        for labelled in lab.rounds(attack, progress):
            for name, scorer in scorers.items():
                scored = scorer.score(labelled.prepared, states[name])
                states[name] = scored.state
                counts[name].append(_counts(scored.kept, labelled.labels))
        audited[attack] = auditor.count.asked
        for name, rounds in counts.items():
            published = TABLE_2[(attack, name)]
            for metric, right, total, value in (("tpr", 0, 1, published[0]), ("tnr", 2, 3, published[1])):
                rows.append(
                    lab.share(
                        {"attack": attack, "audit": name, "metric": metric}, value, rounds, right, total
                    )
                )
            for metric, of in (("fnr", rows[-2]), ("fpr", rows[-1])):
                rows.append(_complement({"attack": attack, "audit": name, "metric": metric}, of))
    notes = (
        f"The auditor is {llm}; the paper's model for it is not named. It was asked about "
        + ", ".join(f"{count} documents under {attack}" for attack, count in audited.items())
        + f" (credibility between {settings.low} and {settings.high}).",
        "The published figures are for MediNote with DeepSeek-V3. Positive means benign: FPR is the share of "
        "malicious documents that pass.",
        _COPIES,
    )
    return lab.table("scr-2", "Table II", rows, notes)


def table_3(options: ReproduceOptions, progress: Progress) -> Table:
    """Mean reliability of honest and malicious sources after all rounds."""
    lab = _Lab(options, "scr-3")
    rows: list[Row] = []
    for attack in ATTACKS:
        scorer = CredibilityScorer()
        state = None
        smoothed: dict[str, float] = {}
        for labelled in lab.rounds(attack, progress):
            scored = scorer.score(labelled.prepared, state)
            state = scored.state
            _smooth(smoothed, labelled, scored.credibility)
        liars = labelled.simulated.malicious
        for kind, values in (("filter", scored.reliability), ("smoothed", smoothed)):
            means = [
                float(np.mean([v for s, v in values.items() if (s in liars) == lying]))
                for lying in (False, True)
            ]
            for dataset in ("medinote", "finance-alpaca"):
                for side, published, measured in zip(
                    ("benign", "malicious"), TABLE_3[(dataset, attack)], means, strict=True
                ):
                    key: Key = {
                        "published on": dataset,
                        "attack": attack,
                        "sources": side,
                        "reliability": kind,
                    }
                    rows.append(Row(key, published, measured, "reliability"))
    notes = (
        "filter is the source filter's probability that a source is honest, smoothed is Eq. 13 over the "
        "documents' credibility (momentum .9, start .5).",
        f"Measured on {lab.name}; the published figures are those of the data set named in each row.",
        _COPIES,
    )
    return lab.table("scr-3", "Table III", rows, notes)


def certificate(options: ReproduceOptions, progress: Progress) -> Table:
    """Theorem 1: margin and failure estimated on validation questions, bound and risk on test questions."""
    lab = _Lab(options, "scr-certificate")
    rows: list[Row] = []
    for attack in ATTACKS:
        sides = []
        for split in ("validation", "test"):
            scorer = CredibilityScorer()
            state, logits, malicious = None, [], []
            for labelled in lab.rounds(attack, progress, split):
                scored = scorer.score(labelled.prepared, state)
                state = scored.state
                known = (labelled.labels == BENIGN) | (labelled.labels == MALICIOUS)
                logits.append(logit(np.clip(scored.credibility[known], 1e-9, 1 - 1e-9)))
                malicious.append(labelled.labels[known] == MALICIOUS)
            sides.append((np.concatenate(logits), np.concatenate(malicious)))
        made = certify(*sides[0])
        for quantity, value in (
            ("margin", made.margin),
            ("failure", made.failure),
            ("bound of Theorem 1", made.bound),
            ("limit claimed for many rounds", made.limit),
            ("measured risk", risk(*sides[1])),
        ):
            rows.append(
                Row(
                    {"attack": attack, "quantity": quantity},
                    None,
                    value,
                    "logit" if quantity == "margin" else "share",
                )
            )
    notes = (
        "The bound rests on assumptions (separation with a margin but for a share of failures, the same in "
        "the rounds to come); it is no guarantee against an attacker who adapts.",
        "The paper's proof shows risk <= failure and then loosens it; that the risk tends to e^-margin is "
        "argued in words and does not follow from its lemmas: where the measured risk lies above that limit, "
        "the table shows it.",
        _COPIES,
    )
    return lab.table("scr-certificate", "Theorem 1", rows, notes)


class _Lab:
    """One data set, its questions by split, and rounds of any attack over them."""

    def __init__(self, options: ReproduceOptions, table: str) -> None:
        self.options = options
        self.settings = parse(ScrSettings, options.setting, f"{table} --set")
        self.embedder: Embedder = open_embedder(options.embedder, options.cache_dir)
        corpus = load_corpus(
            options.dataset or "synthetic",
            options.queries_file,
            options.qrels,
            options.poison,
            options.documents,
            options.seed,
            self.settings.replication,
        )
        self.name = corpus.name
        self.prepared: PreparedCorpus = prepare(corpus, self.embedder)

    def rounds(self, attack: str, progress: Progress, split: str = "test") -> Iterator[LabelledRound]:
        """Rounds under `attack` over questions of a split, or over all where a file of questions is given."""
        own = self.options.queries_file is not None and split == "test"
        questions = select_questions(self.prepared.corpus) if own else questions_of(self.prepared, split)  # type: ignore[arg-type]
        wanted = self.settings.rounds or self.options.queries or 50
        seed = derive_seed(self.options.seed, "scr tables", attack, split)
        given = self.settings
        episode = Episode(
            0, attack, AttackOptions(), given.sources, given.malicious, given.replication, seed=seed
        )
        with counting(progress, f"{attack}, {split} questions", wanted):
            for labelled in episode_rounds(episode, self.prepared, questions, self.embedder, wanted):
                yield labelled
                progress.advance()

    def share(
        self, key: Key, published: float, rounds: Sequence[tuple[int, ...]], right: int, total: int
    ) -> Row:
        """A row of `right` over `total`, by column of `rounds`, resampled by round."""
        over, of = [r[right] for r in rounds], [r[total] for r in rounds]
        rng = generator(self.options.seed, "intervals")
        interval = ratio_interval(over, of, list(range(len(rounds))), rng)
        measured = 100.0 * sum(over) / sum(of) if sum(of) else None
        ci = None if interval is None else (100.0 * interval[0], 100.0 * interval[1])
        return Row(key, published, measured, "%", ci)

    def table(self, name: str, what: str, rows: Sequence[Row], notes: Sequence[str]) -> Table:
        """The finished table."""
        return Table(name, f"{what}, {SOURCE}", _described(self.options, self.settings), rows, notes)


def _described(options: ReproduceOptions, settings: ScrSettings) -> dict[str, Any]:
    return {
        "dataset": options.dataset or "synthetic",
        "embedder": options.embedder,
        "seed": options.seed,
        **settings.model_dump(),
    }


def _counts(kept: NDArray[np.bool_], labels: NDArray[np.int8]) -> tuple[int, int, int, int]:
    """Benign kept, benign, malicious dropped, malicious."""
    benign, malicious = labels == BENIGN, labels == MALICIOUS
    return int((kept & benign).sum()), int(benign.sum()), int((~kept & malicious).sum()), int(malicious.sum())


def _complement(key: Key, of: Row) -> Row:
    published = None if of.published is None else 100.0 - of.published
    measured = None if of.measured is None else 100.0 - of.measured
    ci = None if of.ci95 is None else (100.0 - of.ci95[1], 100.0 - of.ci95[0])
    return Row(key, published, measured, of.unit, ci)


def _smooth(smoothed: dict[str, float], labelled: LabelledRound, credibility: NDArray[np.float64]) -> None:
    """Eq. 13 over the sources that answered."""
    held = labelled.prepared.holders
    for j, name in enumerate(labelled.prepared.sources):
        before = smoothed.setdefault(name, 0.5)
        if held[:, j].any():
            smoothed[name] = 0.9 * before + 0.1 * float(credibility[held[:, j]].mean())
