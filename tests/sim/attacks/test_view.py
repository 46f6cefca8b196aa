from __future__ import annotations

import pickle

from sim.attacks.view import domain_of, view_of
from tests.sim.small_corpus import small_corpus


def test_the_view_of_a_corpus() -> None:
    corpus = small_corpus()
    view = view_of(corpus)
    assert view is view_of(corpus)
    assert view.median_words == len(corpus.documents[0].text.split())
    assert view.domain == "general"
    assert all(len(run) == 4 for run in view.runs)
    assert "2/plain" in view.lexicon.names


def test_what_travels_to_a_source_is_small_plain_data() -> None:
    view = view_of(small_corpus()).for_source()
    assert view.runs == ()
    assert view.answers.questions == ()
    assert pickle.loads(pickle.dumps(view)) == view
    assert len(pickle.dumps(view)) < 10_000


def test_domains() -> None:
    assert domain_of(["Patients with the disease had surgery and therapy for the infection."]) == "medical"
    assert domain_of(["Revenue and net income rose; the company holds cash, stock and debt."]) == "finance"
    assert domain_of(["The song was sung by a choir in the old town hall."]) == "general"
    assert domain_of([]) == "general"
