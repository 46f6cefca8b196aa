"""Trains the relation scorer: one network for pairs of sentences, one for the documents around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.seeding import derive_seed, generator
from gnn.fit import fit_mlp
from gnn.relations.combine import pair_features
from gnn.relations.features import N_FEATURES
from gnn.relations.scorer import AGREE, CONFLICT, MLP, LexicalRelationScorer, softmax
from sim.corpora.synthetic import build_world
from sim.rounds import PreparedCorpus, prepare
from sim.training_pairs import UNKNOWN, LabelledPairs, labelled_pairs
from sim.training_rounds import Split, questions_of
from sim.world_pairs import world_pairs

_WORLD_SHARE = 0.4  # weight of the rounds of synthetic worlds among all pairs
_WORLDS = -1  # their part of the data; the data sets are parts 0, 1, ...
_WORLD_DOCUMENTS = 300  # of a world besides the one among the data: most documents of a round share facts
_HELD = 10  # every so many world rounds one is held out
_SPLITS: tuple[tuple[Split, float], ...] = (("train", 1.0), ("validation", 0.25))


def train_relations(
    corpora: Sequence[PreparedCorpus],
    embedder: Embedder,
    seed: int,
    *,
    pair_questions: int,
    worlds: int,
    world_rounds: int,
    report: Callable[[str], None],
) -> LexicalRelationScorer:
    """A relation scorer from labelled sentence pairs.

    Args:
        corpora: each gives `pair_questions` small rounds of documents in several versions.
        worlds: synthetic worlds, one of them in `corpora`, of which `world_rounds` rounds are used
            each; no world where none is in `corpora`.
    """
    features = LexicalRelationScorer(_untrained()).features
    rows, given, held, part = [], [], [], []
    for number, validation, pairs in _all_pairs(
        corpora, embedder, seed, pair_questions, worlds, world_rounds, report
    ):
        rows.append(features(pairs.pairs))
        given.append(pairs)
        held.append(validation)
        part.append(number)
    labels = [pairs.label for pairs in given]
    sentences = _fit(rows, labels, held, part, (48, 24), derive_seed(seed, "relations"), report)
    judged = [softmax(sentences(x)) for x in rows]
    combined = [
        pair_features(p[:, AGREE], p[:, CONFLICT], pairs.pairs)
        for p, pairs in zip(judged, given, strict=True)
    ]
    labels = [pairs.documents for pairs in given]
    documents = _fit(combined, labels, held, part, (12,), derive_seed(seed, "document relations"), report)
    return LexicalRelationScorer(sentences, documents)


def _all_pairs(
    corpora: Sequence[PreparedCorpus],
    embedder: Embedder,
    seed: int,
    pair_questions: int,
    worlds: int,
    world_rounds: int,
    report: Callable[[str], None],
) -> Iterator[tuple[int, bool, LabelledPairs]]:
    """(part of the data, held out?, pairs)."""
    for number, prepared in enumerate(corpora):
        name = prepared.corpus.name
        count = 0
        for split, share in _SPLITS:
            questions = questions_of(prepared, split)
            rng = generator(seed, "pair questions", name, split)
            wanted = int(pair_questions * share)
            chosen = [questions[i].text for i in rng.permutation(len(questions))[:wanted]]
            for pairs in labelled_pairs(prepared, chosen, embedder, derive_seed(seed, "pairs", split)):
                count += len(pairs.label)
                yield number, split == "validation", pairs
        report(f"{count} sentence pairs of {name}")
        if prepared.corpus.world is None:
            continue
        size = min(_WORLD_DOCUMENTS, len(prepared.corpus.documents))
        for k in range(worlds):
            world = (
                prepared if k == 0 else prepare(build_world(size, derive_seed(seed, "world", k)), embedder)
            )
            rounds = world_pairs(
                world, questions_of(world, "train"), embedder, derive_seed(seed, "rounds", k), world_rounds
            )
            for r, pairs in enumerate(rounds):
                yield _WORLDS, r % _HELD == _HELD - 1, pairs
            report(f"sentence pairs of {world_rounds} rounds of synthetic world {k + 1} of {worlds}")


def _fit(
    rows: Sequence[NDArray[np.float32]],
    labels: Sequence[NDArray[np.int64]],
    held: Sequence[bool],
    part: Sequence[int],
    hidden: tuple[int, ...],
    seed: int,
    report: Callable[[str], None],
) -> MLP:
    """A network to neutral, agree or conflict; data sets weigh alike, the worlds `_WORLD_SHARE`."""
    size = [len(y) for y in labels]
    x, y = np.concatenate(rows), np.concatenate(labels)
    validation, parts = np.repeat(held, size), np.repeat(part, size)
    known = y != UNKNOWN
    x, y, validation, parts = x[known], y[known], validation[known], parts[known]
    counts = np.bincount(y, minlength=3)
    weight = (len(y) / (3 * np.maximum(1, counts)))[y] ** 0.5
    share_of_worlds = _WORLD_SHARE if (parts == _WORLDS).any() else 0.0
    data_sets = max(1, len(np.unique(parts[parts != _WORLDS])))
    for number in np.unique(parts):
        mine = parts == number
        share = share_of_worlds if number == _WORLDS else (1.0 - share_of_worlds) / data_sets
        weight[mine] *= share * len(y) / weight[mine].sum()
    network = fit_mlp(
        x, y, hidden=hidden, classes=3, seed=seed, weight=weight.astype(np.float32), validation=validation,
        epochs=60, batch=1024, decay=1e-3,
    )  # fmt: skip
    truth, guessed = y[validation], network(x[validation]).argmax(axis=1)
    recall = [(guessed[truth == c] == c).mean() if (truth == c).any() else np.nan for c in range(3)]
    what = "sentences" if x.shape[1] == N_FEATURES else "documents"
    report(f"{what}, validation recall neutral/agree/conflict: " + " / ".join(f"{r:.3f}" for r in recall))
    return network


def _untrained() -> MLP:
    """Stands in where only the features of a scorer are wanted."""
    return MLP(
        np.zeros(N_FEATURES, np.float32),
        np.ones(N_FEATURES, np.float32),
        (np.zeros((N_FEATURES, 3), np.float32),),
        (np.zeros(3, np.float32),),
    )
