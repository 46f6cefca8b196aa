"""Rounds to train and to judge the credibility model on: episodes under drawn attacks and controls.

An episode is a federation that answers several questions in a row, so that beliefs about its sources
have something to settle on. Splits are by question: a question serves training, validation or test in
every data set and episode alike.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aggregator.fusion import fuse
from core.embedding.base import Embedder
from core.records import Query
from core.seeding import derive_seed, generator
from gnn.round import VerificationRound, document_sentences, prepare_round
from sim.attacks.base import AttackOptions
from sim.corpora.records import Question, select_questions
from sim.rounds import PreparedCorpus, RoundFactory, SimulatedRound

Split = Literal["train", "validation", "test"]
BENIGN, MALICIOUS, UNLABELLED = 1, 0, -1
_AHEAD = 16  # rounds whose texts are embedded together
_CYCLE = (
    "none", "poisonedrag", "ata", "saa", "poisonedrag", "saa", "ata", "poisonedrag",
    "none", "poisonedrag", "ata", "saa", "poisonedrag", "none", "ata", "poisonedrag",
)  # fmt: skip


@dataclass(frozen=True)
class Episode:
    """One federation: which data set, who attacks how, and the seed of everything drawn."""

    dataset: int
    attack: str = "none"
    options: AttackOptions = field(default_factory=AttackOptions)
    n_sources: int = 10
    malicious: float = 0.4
    replication: int = 1
    behavior: str = "steady"
    warmup: int = 0
    seed: int = 0


@dataclass(frozen=True)
class LabelledRound:
    """A prepared round with one label per distinct text (see `fused_labels`).

    `injected`: whether attack texts were made for the question (the content channel learns from these).
    """

    prepared: VerificationRound
    labels: NDArray[np.int8]
    simulated: SimulatedRound
    injected: bool
    attacked: bool


def split_of(question: Question) -> Split:
    """60 % train, 20 % validation, 20 % test, by a hash of the question's text."""
    draw = zlib.crc32(question.text.casefold().encode()) % 10
    return "train" if draw < 6 else "validation" if draw < 8 else "test"


def questions_of(prepared: PreparedCorpus, split: Split) -> list[Question]:
    """Questions of one split, those with a prepared poison first."""
    return [q for q in select_questions(prepared.corpus) if split_of(q) == split]


def draw_episodes(n_datasets: int, per_dataset: int, seed: int) -> list[Episode]:
    """Episodes over all attacks and controls of the issue, the same number for every data set.

    Of each sixteen: three clean, three SAA, six PoisonedRAG (camouflage, length and prefix drawn), four
    ATA (swap, copies or rewording drawn).
    """
    episodes = []
    for d in range(n_datasets):
        for k in range(per_dataset):
            rng = generator(seed, "episode", d, k)
            attack = _CYCLE[k % len(_CYCLE)]
            reword = bool(rng.random() < 0.35)
            collude = bool(rng.random() < 0.7)
            if attack == "ata":
                swap = collude and bool(rng.random() < 0.4)
                options = AttackOptions(collude=collude, reword=reword, swap=swap)
            elif attack == "none":
                options = AttackOptions()
            else:
                per_source = (None, 1, 3, None)[int(rng.integers(4))]
                matched = bool(rng.random() < 0.6)
                prefix = attack == "saa" or bool(rng.random() < 0.3)
                length: Literal["matched", "as-is"] = "matched" if matched else "as-is"
                options = AttackOptions(collude=collude, length=length, per_source=per_source, prefix=prefix)
            replication = int(rng.choice([2, 3, 3, 3, 5] if attack == "ata" else [1, 1, 2, 3, 5]))
            n_sources = int(rng.choice([5, 7, 8, 10, 10, 10, 12]))
            malicious = float(rng.uniform(0.1, 0.49)) if attack != "none" else 0.0
            episodes.append(
                Episode(
                    d, attack, options, n_sources, max(malicious, 1.01 / n_sources) if malicious else 0.0,
                    min(replication, n_sources), seed=derive_seed(seed, "episode", d, k),
                )
            )  # fmt: skip
    return episodes


def episode_rounds(
    episode: Episode,
    prepared: PreparedCorpus,
    questions: Sequence[Question],
    embedder: Embedder,
    n_rounds: int,
    top_k: int = 5,
) -> Iterator[LabelledRound]:
    """`n_rounds` rounds (and `episode.warmup` clean ones before) over drawn `questions`."""
    rng = generator(episode.seed, "questions")
    order = rng.permutation(len(questions))
    wanted = n_rounds + episode.warmup
    chosen = [questions[int(order[i % len(order)])] for i in range(wanted)]
    if episode.attack == "poisonedrag":
        # written poisons are scarcer than questions and closer to real attacks: half the rounds use them
        written = [q for q in questions if q.query_id in prepared.corpus.poisons]
        for i in range(episode.warmup, wanted):
            if written and rng.random() < 0.6:
                chosen[i] = written[int(rng.integers(len(written)))]
    factory = RoundFactory(
        prepared,
        embedder,
        n_sources=episode.n_sources,
        malicious=episode.malicious,
        replication=episode.replication,
        top_k=top_k,
        attack=episode.attack,
        options=episode.options,
        behavior=episode.behavior,
        seed=episode.seed,
    )
    rounds = factory.rounds(chosen, warmup=episode.warmup)
    while some := list(islice(rounds, _AHEAD)):
        _embed_ahead(some, embedder)
        for simulated in some:
            yield labelled_round(simulated, embedder, sources=factory.sources, attack=episode.attack)


def _embed_ahead(rounds: Sequence[SimulatedRound], embedder: Embedder) -> None:
    """Fill the embedder's cache with all texts and sentences of `rounds`: one large call has full batches."""
    replies = [reply for simulated in rounds for reply in simulated.replies]
    texts = dict.fromkeys(document.text for reply in replies for document in reply.documents)
    embedder.embed([*texts, *(sentence for text in texts for sentence in document_sentences(text))])


def labelled_round(
    simulated: SimulatedRound, embedder: Embedder, sources: Sequence[str] | None, attack: str
) -> LabelledRound:
    """Fuse, prepare and label one simulated round."""
    fused = fuse(simulated.replies, Query(simulated.question.text, simulated.request_id), embedder)
    if sources is not None:
        sources = sorted({*sources, *(reply.source_id for reply in simulated.replies)})
    prepared = prepare_round(
        simulated.question.text,
        fused.candidates,
        embedder,
        sources=sources,
        vectors=fused.vectors,
        question_vector=fused.query_vector,
    )
    return LabelledRound(
        prepared,
        fused_labels(simulated, prepared),
        simulated,
        injected=attack not in ("none", "ata"),
        attacked=simulated.attacked,
    )


def fused_labels(simulated: SimulatedRound, prepared: VerificationRound) -> NDArray[np.int8]:
    """(n,) one label per distinct text: that of its holders where they do not contradict each other."""
    labels = np.full(len(prepared.candidates), UNLABELLED, dtype=np.int8)
    for i, candidate in enumerate(prepared.candidates):
        found = {simulated.labels.get(holder) for holder in candidate.holders}
        if "malicious" in found and "benign" not in found:
            labels[i] = MALICIOUS
        elif "benign" in found and "malicious" not in found:
            labels[i] = BENIGN
    return labels
