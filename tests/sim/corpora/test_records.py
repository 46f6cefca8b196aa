from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.records import Document
from sim.corpora.records import Corpus, Poison, Question, select_questions


def corpus(texts: list[str], poisoned: set[int]) -> Corpus:
    questions = [Question(f"q{i}", text, ("a",)) for i, text in enumerate(texts)]
    poisons = {f"q{i}": Poison(f"q{i}", "x", ("t",)) for i in poisoned if i < len(texts)}
    return Corpus("c", [Document("d", "t")], questions, poisons=poisons)


def test_poisoned_questions_come_first_then_file_order_without_doubles() -> None:
    made = corpus(["one", "two", "  TWO ", "three", "four"], {2, 3})
    assert [q.query_id for q in select_questions(made)] == ["q2", "q3", "q0", "q4"]
    assert [q.query_id for q in select_questions(made, 2)] == ["q2", "q3"]
    assert len(select_questions(made, 99)) == 4


@given(
    st.lists(st.sampled_from(["a", "b", "c", "A", "d e", "d  e"]), max_size=12),
    st.sets(st.integers(0, 12)),
    st.integers(0, 12),
)
def test_selection_is_a_prefix_of_the_whole_and_has_no_text_twice(
    texts: list[str], poisoned: set[int], n: int
) -> None:
    made = corpus(texts, poisoned)
    whole = select_questions(made)
    assert select_questions(made, n) == whole[:n]
    keys = [" ".join(q.text.casefold().split()) for q in whole]
    assert len(keys) == len(set(keys))
    marks = [q.query_id not in made.poisons for q in whole]
    assert marks == sorted(marks)


def test_a_corpus_is_equal_to_itself_only_and_hashable() -> None:
    a, b = corpus(["x"], set()), corpus(["x"], set())
    assert a == a
    assert a != b
    assert len({a, b}) == 2
    assert a.texts() == {"d": "t"}
