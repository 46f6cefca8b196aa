from __future__ import annotations

from pathlib import Path

from core.text import sentences
from sim.corpora import load_corpus
from sim.training_corpus import training_corpus
from tests.sim.tiny_world import write_world


def test_documents_end_with_the_sentence_that_reaches_the_words() -> None:
    whole = {d.doc_id: d.text for d in load_corpus("synthetic", n_documents=90, seed=0).documents}
    cut = training_corpus("synthetic", 90, 0, words=20)
    shorter = 0
    for document in cut.documents:
        before = whole[document.doc_id]
        assert before.startswith(document.text)
        if document.text != before:
            shorter += 1
            *rest, _ = sentences(document.text)
            assert len(" ".join(rest).split()) < 20 <= len(document.text.split())
    assert shorter > len(cut.documents) // 2


def test_no_limit_leaves_the_texts_alone() -> None:
    whole = load_corpus("synthetic", n_documents=60, seed=0)
    assert training_corpus("synthetic", 60, 0).texts() == whole.texts()
    assert training_corpus("synthetic", 60, 0, words=1000).texts() == whole.texts()


def test_a_cut_data_set_keeps_what_answers_its_questions(tmp_path: Path) -> None:
    folder = str(write_world(tmp_path, n=60))
    cut = training_corpus(folder, 30, 0)
    kept = {document.doc_id for document in cut.documents}
    assert len(kept) == 30
    assert all(
        question.query_id in cut.poisons or kept & set(cut.qrels.get(question.query_id, ()))
        for question in cut.questions
    )
    assert [d.doc_id for d in training_corpus(folder, 30, 0).documents] == [d.doc_id for d in cut.documents]
