from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from sim.live import SourceWatch, open_view

states = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([None, "deadline", "refused"]))


@given(st.lists(states, max_size=6))
def test_changes_tell_exactly_who_is_down(rounds):
    watch, down = SourceWatch(), set()
    for one in rounds:
        for change in watch.see(one):
            source = change.split()[0]
            (down.add if "is down" in change else down.remove)(source)
        down &= one.keys()
        assert down == watch.down.keys() == {source for source, kind in one.items() if kind}
    assert sum(watch.failures.values()) == sum(kind is not None for one in rounds for kind in one.values())


def test_lines_name_some_and_count_the_rest():
    watch = SourceWatch()
    assert watch.lines() == []
    watch.see({"a": None})
    assert watch.lines() == ["sources: 1 of 1 up"]
    watch.see({f"s{i:02d}": "refused" for i in range(10)})
    first, second = watch.lines()
    assert first.startswith("sources: 0 of 10 up, down: s00 (refused), ")
    assert first.endswith(" and 2 more")
    assert second == "failures so far: refused 10"


def test_the_view_shows_rate_time_left_and_sources():
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    watch = SourceWatch()
    watch.see({"a": None, "b": "deadline"})
    view = open_view(console, watch)
    view.add_task("trial 1 of 1", total=4, completed=2, note="")
    console.print(*view.get_renderables())
    shown = console.file.getvalue()
    assert "2/4" in shown
    assert "left" in shown
    assert "sources: 1 of 2 up, down: b (deadline)" in shown
