"""The set-up of the ADO tables: data sets, federation, policies, probes, and the finished table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic import Field

from aggregator.config import StageSpec
from core.config import StrictModel, parse
from core.embedding import open_embedder
from core.llm import LLM
from core.records import PrivacyRequest
from core.seeding import generator
from sim.attacks.base import AttackOptions
from sim.bootstrap import ratio_interval
from sim.cloze import ClozeModel, LocalLLM
from sim.leakage import LeakPrompt, make_prompts
from sim.local_federation import LocalFederation
from sim.membership import Probe, mba_probe
from sim.progress import Progress
from sim.reproduce.ado_published import SOURCE
from sim.reproduce.ado_stream import Measures, Parts, Policy, attacked_requests, make_stream, run_policy
from sim.reproduce.ado_world import Sizes, World, open_worlds
from sim.reproduce.table import ReproduceOptions, Row, Table

_NOTES = (
    "Metrics are stand-ins without a judge model: contextual recall is the share of questions for which a "
    "gold passage or the answer itself is among the documents read; the other three count sentences by "
    "cosines above a threshold (`sim.answer_metrics`).",
    "dp is the rule of ADO's implementation (a noisy threshold at epsilon 3 per source), which proves no "
    "differential privacy; laplace is a mechanism that does, at the same epsilon.",
)
_FEDERATION = (
    "Measured in a federation: every source adds its own noise, and malicious sources return their poison "
    "whatever privacy is asked for, so noise on honest sources helps the attacker; the paper has one index."
)


class AdoSettings(StrictModel):
    """Settings of the ADO tables (`--set KEY=VALUE`): the federation, and what ADO asks for.

    `sybil`: the prober takes a new name for every probe.
    """

    sources: int = Field(default=5, ge=1, le=100)
    malicious: float = Field(default=0.4, ge=0, le=1)
    top_k: int = Field(default=3, ge=1, le=50)
    reader_k: int = Field(default=5, ge=1, le=50)
    prefix: bool = True
    epsilon: float = Field(default=3.0, gt=0)
    probes: int | None = Field(default=None, ge=2)
    sybil: bool = False


class Lab:
    """The options of a run turned into worlds, parts and policies."""

    def __init__(self, options: ReproduceOptions, table: str, progress: Progress) -> None:
        self.options = options
        self.settings = parse(AdoSettings, options.setting, f"{table} --set")
        self.progress = progress
        self.embedder = open_embedder(options.embedder, options.cache_dir)
        n = options.queries or (50 if options.full else 40)
        probes = self.settings.probes or (50 if options.full else 20)
        self.sizes = Sizes(
            documents=options.documents or 700,
            benign=n,
            poisoned=n,
            members=round(0.6 * probes),
            strangers=probes - round(0.6 * probes),
        )
        self.llm: LLM | None = None
        if options.llm is not None:
            from aggregator.llm import open_llm

            self.llm = open_llm(options.llm, cache_dir=options.cache_dir)

    def worlds(self) -> list[World]:
        """The data sets, cut to size and embedded."""
        self.progress.say("reading and embedding the data")
        return open_worlds(self.options.dataset, self.embedder, self.sizes, self.options.seed)

    def parts(self, world: World, *, attack: bool) -> Parts:
        """Federation and reader over `world`; the reader is forced choice where an LLM was named."""
        from aggregator.readers import open_reader

        chosen = self.settings
        federation = LocalFederation(
            world.prepared,
            self.embedder,
            n_sources=chosen.sources,
            malicious=chosen.malicious,
            attack="poisonedrag" if attack and world.poisoned else "none",
            options=AttackOptions(prefix=chosen.prefix),
            attacked=attacked_requests(world) if attack else (),
            top_k=chosen.top_k,
            seed=self.options.seed,
        )
        spec = "extractive" if self.options.llm is None else f"choice:{self.options.llm}"
        reader = open_reader(spec, self.embedder, cache_dir=self.options.cache_dir)
        return Parts(world, self.embedder, reader, federation, self.llm, chosen.reader_k, self.options.seed)

    def cloze(self) -> ClozeModel:
        """The attacker's language model: the run's, else the embedded one."""
        from aggregator.llm import open_llm

        llm = self.llm or open_llm("smollm2", cache_dir=self.options.cache_dir)
        return ClozeModel(cast("LocalLLM", llm), cache_dir=self.options.cache_dir)

    def probes(self, world: World, cloze: ClozeModel) -> list[Probe]:
        """Mask-based probes of members and strangers."""
        told = [(document, True) for document in world.members] + [(d, False) for d in world.strangers]
        return [mba_probe(document, member, cloze) for document, member in told]

    def policies(self, names: Sequence[str]) -> list[Policy]:
        """The named policies; those with the attention filter only where an LLM was named."""
        return [self.policy(name) for name in names if self.llm is not None or "av" not in name.split("+")]

    def policy(self, name: str) -> Policy:
        """`none`, `dp`, `laplace`, `trustrag`, `av`, joined by `+`; `all`; `ado`."""
        if name == "ado":
            plan = {"filter_parameters": {"variant": "ado"}}
            return Policy("ado", ado={"plan": plan})
        wanted = name.split("+")
        if name == "all":
            wanted = ["dp", "trustrag"] + (["av"] if self.llm is not None else [])
        made = Policy(name)
        for part in wanted:
            if part in ("dp", "laplace"):
                mechanism = "noisy-threshold" if part == "dp" else "laplace"
                made = replace(made, privacy=PrivacyRequest(mechanism, self.settings.epsilon))
            elif part == "trustrag":
                made = replace(
                    made, stages=(*made.stages, StageSpec(name="trustrag", options={"variant": "ado"}))
                )
            elif part == "av":
                made = replace(made, stages=(*made.stages, StageSpec(name="attention_variance")))
        return made

    def prompts(self, world: World) -> list[LeakPrompt]:
        """Leak prompts about members, as many as there are membership probes."""
        n = self.sizes.members + self.sizes.strangers
        documents = world.prepared.corpus.documents
        return make_prompts(documents, n, generator(self.options.seed, "leak prompts", world.name))

    def run(
        self,
        names: Sequence[str],
        world: World,
        *,
        attack: bool,
        probes: Sequence[Probe] = (),
        prompts: Sequence[LeakPrompt] = (),
    ) -> dict[str, Measures]:
        """Every named policy over the same stream."""
        parts = self.parts(world, attack=attack)
        part = world if attack else replace(world, poisoned=())
        seed, sybil = self.options.seed, self.settings.sybil
        stream = make_stream(part, probes, seed, prompts=prompts, sybil=sybil)
        policies = self.policies(names)
        self.progress.begin(world.name, len(policies))
        found = {}
        for policy in policies:
            found[policy.name] = run_policy(policy, parts, stream)
            self.progress.advance(note=policy.name)
        self.progress.end()
        return found

    def interval(self, flags: Sequence[bool], scale: float = 1.0) -> tuple[float, float] | None:
        """95 % bootstrap interval of a share."""
        ones = [1.0] * len(flags)
        rng = generator(self.options.seed, "ado intervals")
        found = ratio_interval([float(flag) for flag in flags], ones, range(len(flags)), rng)
        return None if found is None else (scale * found[0], scale * found[1])

    def table(self, name: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> Table:
        """The finished table."""
        shown: dict[str, Any] = {
            **self.settings.model_dump(),
            "documents": self.sizes.documents,
            "questions": self.sizes.benign,
            "embedder": self.options.embedder,
            "llm": self.options.llm or "none (extractive reader, no attention filter)",
            "seed": self.options.seed,
        }
        number = name.rpartition("-")[2]
        return Table(name, f"{SOURCE}, Table {number}", shown, rows, (*notes, *_NOTES, _FEDERATION))
