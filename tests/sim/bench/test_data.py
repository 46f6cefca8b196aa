from __future__ import annotations

from sim.bench.data import texts_and_questions
from sim.corpora import load_corpus


def test_every_data_set_gives_equally_many_questions_and_at_least_one():
    one, other = (load_corpus("synthetic", n_documents=40, seed=seed) for seed in (1, 2))
    for asked, each in ((1, 1), (4, 2), (5, 2)):
        texts, questions = texts_and_questions([one, other], 50, asked)
        assert len(texts) == 50
        assert questions == [q.text for corpus in (one, other) for q in corpus.questions[:each]]
