"""Trains the credibility model: relation scorer, content channel, network, calibration; resumable.

Each step writes its result below the output folder and is skipped when it is there already and was made
with the same settings, so that an interrupted training goes on where it stopped.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel
from core.embedding.base import Embedder
from core.paths import write_atomic
from core.seeding import derive_seed
from core.text import content_hash
from gnn.baselines.trees import fit_trees
from gnn.calibration import clean_threshold, fit_platt
from gnn.categories import DEFAULT_CATEGORIES
from gnn.checkpoint import Checkpoint
from gnn.content import content_features
from gnn.fit import fit_mlp
from gnn.graph import Graph, build_graph
from gnn.model import NetworkConfig
from gnn.models import document_rows
from gnn.network import export
from gnn.paper import PaperGraph, category_vectors, paper_graph
from gnn.paper_model import PaperConfig
from gnn.paper_training import PaperEpisode, export_paper, train_paper
from gnn.relations.scorer import MLP, LexicalRelationScorer
from gnn.scorer import SCHEMAS
from gnn.signals import Channels
from gnn.training import GraphSample, round_weight, train_network
from sim.corpora.records import Corpus
from sim.judged import figures_of, judged
from sim.rounds import PreparedCorpus, prepare
from sim.training_relations import train_relations
from sim.training_rounds import (
    BENIGN,
    MALICIOUS,
    UNLABELLED,
    LabelledRound,
    Split,
    draw_episodes,
    episode_rounds,
    questions_of,
)

Report = Callable[[str], None]
_PaperEpisodes = list[list[tuple[PaperGraph, NDArray[np.int8]]]]
_FIRST = "r000000"  # request id that opens an episode


class TrainingConfig(StrictModel):
    """Sizes of a training run.

    `documents`: used of each data set, those that answer its questions first, each up to the sentence that
    reaches `words` words; `pair_questions`: small rounds per data set for the relation scorer;
    `world_rounds`: rounds of each of `worlds` synthetic worlds for it, where the synthetic world is among
    the data; `episodes` per data set, of `rounds` rounds each, for the other parts; `clean_cost`: share of
    clean documents that the content threshold rejects; `baselines`: whether the paper's network and the
    row models are trained too.
    """

    seed: int = 0
    documents: int = Field(default=600, ge=50)
    words: int = Field(default=100, ge=20)
    pair_questions: int = Field(default=30, ge=4)
    world_rounds: int = Field(default=60, ge=1)
    worlds: int = Field(default=4, ge=1)
    episodes: int = Field(default=16, ge=8)
    validation_episodes: int = Field(default=8, ge=8)
    rounds: int = Field(default=5, ge=1)
    clean_cost: float = Field(default=0.005, gt=0.0, lt=0.5)
    hidden: int = Field(default=48, ge=8)
    heads: int = Field(default=4, ge=1)
    epochs: int = Field(default=10, ge=1)
    paper_epochs: int = Field(default=8, ge=1)
    baselines: bool = True


@dataclass(frozen=True)
class Trained:
    """A finished checkpoint and the figures of its validation rounds."""

    checkpoint: Checkpoint
    figures: dict[str, float]


class Trainer:
    """Runs the steps of a training over several data sets.

    Args:
        corpora: data sets, each with at least a few training questions.
        embedder: cached; the time of a first run goes mostly there.
        out: folder for intermediate results, None keeps nothing.
        report: told each step.
    """

    def __init__(
        self,
        corpora: Sequence[Corpus],
        embedder: Embedder,
        config: TrainingConfig,
        out: Path | None = None,
        report: Report = lambda line: None,
    ) -> None:
        self.config = config
        self.embedder = embedder
        self.report = report
        self.out = out
        self.prepared: list[PreparedCorpus] = []
        for corpus in corpora:
            report(f"embedding {corpus.name}: {len(corpus.documents)} documents")
            self.prepared.append(prepare(corpus, embedder))

    def run(self) -> Trained:
        """Train everything and return the checkpoint with its validation figures."""
        relations = self.relations()
        content, threshold = self.content()
        return self.network(relations, content, threshold)

    def relations(self) -> LexicalRelationScorer:
        """The relation scorer: its networks for pairs of sentences and for pairs of documents."""
        stored = self._load("relations")
        if stored is not None:
            return LexicalRelationScorer.from_arrays(stored)
        config = self.config
        scorer = train_relations(
            self.prepared, self.embedder, config.seed, pair_questions=config.pair_questions,
            worlds=config.worlds, world_rounds=config.world_rounds, report=self.report,
        )  # fmt: skip
        self._save("relations", scorer.to_arrays())
        return scorer

    def content(self) -> tuple[MLP, float]:
        """The content network and its threshold at the stated clean cost."""
        stored = self._load("content")
        if stored is not None:
            return MLP.from_arrays(stored, "content"), float(stored["threshold"])
        x, y, weight, validation, clean = [], [], [], [], []
        for held, labelled in self._all_rounds():
            given = labelled.prepared
            features = content_features(given)
            # tampered documents count as sound: the channel must not learn the style of an edit, nor take
            # near-duplicates that honest sources hold for copies of a poison
            sound = (labelled.labels != MALICIOUS) | (not labelled.injected)
            x.append(features)
            y.append(sound)
            weight.append(np.where(sound, 0.5 / max(1, sound.sum()), 0.5 / max(1, (~sound).sum())))
            validation.append(np.full(len(sound), held))
            if held:
                clean.append((len(x) - 1, sound))
        features = np.concatenate(x)
        network = fit_mlp(
            features, np.concatenate(y).astype(np.int64), hidden=(32,), classes=1,
            seed=derive_seed(self.config.seed, "content"), weight=np.concatenate(weight).astype(np.float32),
            validation=np.concatenate(validation), epochs=80, decay=1e-3,
        )  # fmt: skip
        logits = np.concatenate([network(x[i])[:, 0][sound] for i, sound in clean]).astype(np.float64)
        threshold = clean_threshold(logits, self.config.clean_cost)
        self._save("content", {**network.to_arrays("content"), "threshold": np.array(threshold)})
        return network, threshold

    def network(self, relations: LexicalRelationScorer, content: MLP, threshold: float) -> Trained:
        """The graph network on top of the channels, and the calibration of its probabilities.

        It is trained and calibrated with beliefs carried through an episode and without them: what a single
        round says is less sure than it looks to a network that knows the sources.
        """
        channels = Channels(relations, content)
        samples: dict[bool, list[GraphSample]] = {False: [], True: []}
        carried: list[GraphSample] = []
        single: list[GraphSample] = []
        paper: _PaperEpisodes = []
        for held, labelled, graphs in self.graphs(channels, threshold):
            made = [GraphSample(graph, labelled.labels) for graph in graphs]
            samples[held] += made
            if held:
                carried.append(made[0])
                single += made[1:]
            if self.config.baselines and not held:
                self._add_paper(paper, labelled)
        sizes = NetworkConfig(hidden=self.config.hidden, heads=self.config.heads)
        model = train_network(
            samples[False], samples[True], sizes, epochs=self.config.epochs,
            seed=derive_seed(self.config.seed, "network"), report=self.report,
        )  # fmt: skip
        known, unknown = judged(model, carried), judged(model, single)
        logits, truth = (np.concatenate(both) for both in zip(known, unknown, strict=True))
        slope, offset = fit_platt(logits, truth)[0], 0.0  # a decision at logit 0 stays one at probability .5
        figures = {
            **figures_of("validation", known, slope),
            **figures_of("validation_single", unknown, slope),
        }
        meta = {
            "schemas": SCHEMAS,
            "threshold": threshold,
            "network": sizes.to_dict(),
            "calibration": {"slope": slope, "offset": offset},
            "embedder": self.embedder.identity,
            "training": {
                "data": [p.corpus.name for p in self.prepared],
                "seed": self.config.seed,
                "config": self.config.model_dump(),
                "figures": figures,
            },
        }
        arrays: dict[str, NDArray[Any]] = {
            **relations.to_arrays(),
            **content.to_arrays("content"),
            **export(model),
        }
        if self.config.baselines:
            arrays.update(self._row_models(samples[False]))
            trained, sizes_of_paper = self._paper(paper)
            arrays.update(trained)
            meta["paper"] = sizes_of_paper
        return Trained(Checkpoint(arrays, meta), figures)

    def _row_models(self, samples: Sequence[GraphSample]) -> dict[str, NDArray[Any]]:
        """Logistic regression and boosted trees on single documents, the same inputs as the network's."""
        rows = np.concatenate([document_rows(s.graph.documents, s.graph.base) for s in samples])
        labels = np.concatenate([s.labels for s in samples])
        weight = np.concatenate([round_weight(s.labels) for s in samples])
        known = labels != UNLABELLED
        rows, sound, weight = rows[known], labels[known] == BENIGN, weight[known]
        seed = derive_seed(self.config.seed, "row models")
        logistic = fit_mlp(
            rows, sound.astype(np.int64), hidden=(), classes=1, seed=seed, weight=weight.astype(np.float32),
            epochs=40,
        )  # fmt: skip
        self.report("row models trained")
        trees = fit_trees(rows, sound, weight, seed)
        return {**logistic.to_arrays("logistic"), **trees.to_arrays("boosted-trees")}

    def _paper(self, episodes: Sequence[PaperEpisode]) -> tuple[dict[str, NDArray[Any]], dict[str, float]]:
        """The paper's network on the same training episodes."""
        sizes = PaperConfig()
        network = train_paper(
            episodes, sizes, epochs=self.config.paper_epochs,
            seed=derive_seed(self.config.seed, "paper"), report=self.report,
        )  # fmt: skip
        return {**export_paper(network), "paper_categories": self._categories}, sizes.to_dict()

    def paper_episodes(self) -> tuple[list[PaperEpisode], list[PaperEpisode]]:
        """Training and validation episodes as the paper's network sees them."""
        found: dict[bool, _PaperEpisodes] = {False: [], True: []}
        for held, labelled in self._all_rounds():
            self._add_paper(found[held], labelled)
        return list(found[False]), list(found[True])

    def _add_paper(self, episodes: _PaperEpisodes, labelled: LabelledRound) -> None:
        if not episodes or labelled.simulated.request_id == _FIRST:
            episodes.append([])
        episodes[-1].append((paper_graph(labelled.prepared, self._categories), labelled.labels))

    @cached_property
    def _categories(self) -> NDArray[np.float32]:
        return category_vectors(self.embedder, tuple(DEFAULT_CATEGORIES.values()))

    def graphs(
        self, channels: Channels, threshold: float
    ) -> Iterator[tuple[bool, LabelledRound, list[Graph]]]:
        """Every training and validation round with its graphs.

        The first has beliefs carried through the episode; the second none, but in an episode's first round,
        where it would be the same.
        """
        state = None
        for held, labelled in self._all_rounds():
            given = labelled.prepared
            observed = channels.observe(given, threshold)
            fresh = channels.start(given.sources)
            first = state is None or labelled.simulated.request_id == _FIRST
            signals = channels.judge(given, observed, fresh if first or state is None else state)
            state = signals.prior
            found = [build_graph(signals)]
            if not first:
                found.append(build_graph(channels.judge(given, observed, fresh)))
            yield held, labelled, found

    def _all_rounds(self) -> Iterator[tuple[bool, LabelledRound]]:
        """(validation?, round) of all episodes in a fixed order; texts come from the embedding cache."""
        plans: tuple[tuple[Split, int], ...] = (
            ("train", self.config.episodes),
            ("validation", self.config.validation_episodes),
        )
        for split, count in plans:
            episodes = draw_episodes(len(self.prepared), count, derive_seed(self.config.seed, split))
            for k, episode in enumerate(episodes):
                prepared = self.prepared[episode.dataset]
                questions = questions_of(prepared, split)
                for labelled in episode_rounds(
                    episode, prepared, questions, self.embedder, self.config.rounds
                ):
                    yield split == "validation", labelled
                if k % 16 == 15:
                    self.report(f"{split} episodes: {k + 1} of {len(episodes)}")

    def _key(self) -> str:
        names = [(p.corpus.name, len(p.corpus.documents)) for p in self.prepared]
        return content_hash(json.dumps([self.config.model_dump(), names, self.embedder.identity, SCHEMAS]))

    def _load(self, step: str) -> dict[str, NDArray[Any]] | None:
        if self.out is None:
            return None
        path = self.out / f"{step}.npz"
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if arrays.pop("key").tobytes().decode() != self._key():
            return None
        self.report(f"{step}: taken from {path}")
        return arrays

    def _save(self, step: str, arrays: dict[str, Any]) -> None:
        if self.out is None:
            return
        buffer = io.BytesIO()
        np.savez(buffer, **{**arrays, "key": np.frombuffer(self._key().encode(), np.uint8)})
        write_atomic(self.out / f"{step}.npz", buffer.getvalue())
