"""AdvRAGgen's preference training (RAGPart paper, section B.1): online DPO of a local causal model.

In each round the writer paraphrases every document twice, the three rewards say which of the two is
preferred, and the pairs train the writer by DPO (Rafailov et al. 2023, through the library trl). The
paper trains Mistral-7B; the embedded SmolLM2 has a fiftieth of its parameters, so what comes out is
AdvRAGgen-lite as well. Learning rate, beta and number of rounds are not published: ours.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from core.config import StrictModel
from core.embedding.base import Embedder
from core.errors import ConfigError, MissingPackageError
from core.seeding import derive_seed, generator
from sim.attacks.advraggen import RewardWeights, rewards
from sim.attacks.writers import LLMWriter, writing_prompt
from sim.progress import Progress, counting

_ROLES = ("prompt", "chosen", "rejected")


class PreferenceConfig(StrictModel):
    """`rounds` of paraphrasing and training; `beta` of DPO; `max_tokens` of a paraphrase."""

    rounds: int = Field(default=1, ge=1)
    beta: float = Field(default=0.1, gt=0.0)
    learning_rate: float = Field(default=5e-6, gt=0.0)
    epochs: int = Field(default=1, ge=1)
    max_tokens: int = Field(default=120, ge=8)
    weights: RewardWeights = RewardWeights()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two paraphrases of one document, the better one first, and their rewards."""

    question: str
    document: str
    chosen: str
    rejected: str
    reward_chosen: float
    reward_rejected: float

    def as_chat(self) -> dict[str, list[dict[str, str]]]:
        """The pair as trl takes it."""
        prompt = [
            {"role": message.role, "content": message.content}
            for message in writing_prompt(self.question, self.document)
        ]
        answers = (self.chosen, self.rejected)
        told = [[{"role": "assistant", "content": answer}] for answer in answers]
        return dict(zip(_ROLES, [prompt, *told], strict=True))


@dataclass(frozen=True, slots=True)
class Trained:
    """Where the writer lies, and per round the mean reward of all its paraphrases and DPO's loss."""

    folder: Path
    rewards: tuple[float, ...]
    losses: tuple[float, ...]


def preference_pairs(
    writer: LLMWriter,
    documents: Sequence[tuple[str, str]],
    embedder: Embedder,
    weights: RewardWeights,
    rng: np.random.Generator,
    progress: Progress,
) -> list[Pair]:
    """A pair for each (question, document) of which the writer gave two different paraphrases."""
    pairs: list[Pair] = []
    with counting(progress, "paraphrasing twice", len(documents)):
        for question, document in documents:
            written = writer.write(question, document, 2, rng)
            progress.advance()
            if len(written) < 2 or written[0] == written[1]:
                continue
            total = rewards(question, document, written, embedder).total(weights)
            better = int(np.argmax(total))
            pairs.append(
                Pair(
                    question,
                    document,
                    written[better],
                    written[1 - better],
                    float(total[better]),
                    float(total[1 - better]),
                )
            )
    return pairs


def train_writer(
    base: Path,
    out: Path,
    documents: Sequence[tuple[str, str]],
    embedder: Embedder,
    config: PreferenceConfig,
    seed: int,
    progress: Progress,
) -> Trained:
    """Train the causal model in the folder `base` on (question, document) pairs; the writer goes to `out`.

    Use it as `transformers:OUT`.

    Raises:
        ConfigError: `out` exists, or the model wrote no two different paraphrases of any document.
        MissingPackageError: trl is not installed.
    """
    if out.exists():
        raise ConfigError(f"{out} exists already; give a folder that does not")
    _trl()
    from aggregator.llm.transformers_llm import TransformersLLM

    out.parent.mkdir(parents=True, exist_ok=True)
    current, work = base, Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    means, losses = [], []
    try:
        for number in range(config.rounds):
            writer = LLMWriter(TransformersLLM(str(current)), config.max_tokens)
            rng = generator(seed, "preference", number)
            pairs = preference_pairs(writer, documents, embedder, config.weights, rng, progress)
            if not pairs:
                raise ConfigError("the writer gave no two different paraphrases of any document")
            means.append(float(np.mean([(p.reward_chosen + p.reward_rejected) / 2 for p in pairs])))
            progress.say(f"round {number + 1}: {len(pairs)} pairs, mean reward {means[-1]:.3f}")
            current = work / str(number)
            losses.append(
                _train(base if not number else work / str(number - 1), current, pairs, config, seed)
            )
        current.rename(out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Trained(out, tuple(means), tuple(losses))


def _train(base: Path, out: Path, pairs: Sequence[Pair], config: PreferenceConfig, seed: int) -> float:
    """One round of DPO; returns its mean loss (log 2 before anything was learnt)."""
    trl = _trl()
    import torch
    from datasets import Dataset  # type: ignore[import-untyped]
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, local_files_only=True)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # trl and its libraries warn of what does not concern a user here
        settings = trl.DPOConfig(
            output_dir=scratch,
            beta=config.beta,
            learning_rate=config.learning_rate,
            num_train_epochs=config.epochs,
            per_device_train_batch_size=1,
            max_length=1024,
            seed=derive_seed(seed, "dpo") % 2**31,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            gradient_checkpointing=False,
            bf16=False,
        )
        trainer = trl.DPOTrainer(
            model=model,
            args=settings,
            train_dataset=Dataset.from_list([pair.as_chat() for pair in pairs]),
            processing_class=tokenizer,
        )
        done = trainer.train()
        trainer.model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    return float(done.training_loss)


def _trl() -> Any:
    try:
        import trl
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"training a writer needs the package {error.name!r}: pip install 'securecollarag[attacks]'"
        ) from error
    return trl
