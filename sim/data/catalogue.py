"""The data sets that `scr data get` knows by name, where they come from and under which licence."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import ConfigError


@dataclass(frozen=True)
class DataSet:
    """One data set.

    `form` names the reader of its files. `fetched`: `ir_datasets ID`, `datasets ID CONFIG SPLIT`, or "" where
    it is only read from a path. `licence` is what its publishers state; whoever uses it must agree to that.
    """

    name: str
    title: str
    licence: str
    form: str
    fetched: str = ""


_ALL = (
    DataSet("nq", "Natural Questions (BEIR)", "CC BY-SA 3.0", "beir", "ir_datasets beir/nq"),
    DataSet("hotpotqa", "HotpotQA (BEIR)", "CC BY-SA 4.0", "beir", "ir_datasets beir/hotpotqa/test"),
    DataSet(
        "msmarco",
        "MS MARCO passages (BEIR)",
        "Microsoft's terms: non-commercial research only",
        "beir",
        "ir_datasets beir/msmarco/test",
    ),
    DataSet(
        "fiqa",
        "FiQA-2018, financial questions (BEIR)",
        "none stated by its publishers: research use",
        "beir",
        "ir_datasets beir/fiqa/test",
    ),
    DataSet("pubmedqa", "PubMedQA", "MIT", "pubmedqa", "datasets qiaojin/PubMedQA pqa_labeled train"),
    DataSet(
        "triviaqa",
        "TriviaQA, Wikipedia pages",
        "Apache 2.0 for the questions; the pages keep their own licence",
        "triviaqa",
        "datasets mandarjoshi/trivia_qa rc.wikipedia validation",
    ),
    DataSet("medinote", "clinical notes in MediNote's form", "that of your file", "medinote"),
    DataSet("finance-alpaca", "instructions in Finance-Alpaca's form", "that of your file", "alpaca"),
)
DATA_SETS = {one.name: one for one in _ALL}


def find(name: str) -> DataSet:
    """The data set called `name`.

    Raises:
        ConfigError: there is none.
    """
    if name not in DATA_SETS:
        raise ConfigError(f"no data set {name!r}; known: {', '.join(DATA_SETS)}")
    return DATA_SETS[name]
