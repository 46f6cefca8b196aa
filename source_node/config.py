"""Settings of `scr source ingest` and `scr source serve`, as flags or as keys of `--config`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from core.bounds import MAX_DOCUMENTS
from core.config import StrictModel
from core.logs import LogFormat
from source_node.privacy import PrivacyPolicy
from source_node.retrievers import DEFAULT_RETRIEVER


class IngestConfig(StrictModel):
    """What goes into a store.

    `format` None goes by the input's suffix. `id_field`, `text_field`, `title_field` and `category_from`
    name fields (None: `_id` or `id`, `text`, `title`, `category`). `chunk_words` None cuts nothing;
    `chunk_overlap` words stand in two chunks. Documents without a category get one by the patterns of
    `category_rules` or by likeness to `category_descriptions` (YAML files, `source_node.categories`).
    `skip_bad` leaves out what cannot be read, counted, instead of stopping there; `readmit` takes
    withdrawn documents of the input back. `embedder` None takes the one that the store was made with,
    else the default; `none` makes a store without vectors. `batch` rows are embedded and committed at
    once. `seed` has no effect: nothing here is random.
    """

    input: Path
    store: Path
    format: str | None = None
    id_field: str | None = None
    text_field: str | None = None
    title_field: str | None = None
    category_from: str | None = None
    category_rules: Path | None = None
    category_descriptions: Path | None = None
    chunk_words: int | None = None
    chunk_overlap: int = Field(default=0, ge=0)
    skip_bad: bool = False
    embedder: str | None = None
    prune: bool = False
    readmit: bool = False
    batch: int = Field(default=512, ge=1, le=65_536)
    seed: int = 0


class ServeConfig(StrictModel):
    """What a node serves and how.

    `embedder` None takes the one that the store was made with. `privacy` None refuses requests for
    privacy; with a policy, spent budgets are kept in `privacy_ledger` (None: `privacy.sqlite` in the
    store). `sanitize` names a detector whose findings are taken out of what leaves
    (`source_node.sanitize`). `grace_s`: seconds that running calls get when the node is stopped. `seed`
    has no effect: privacy draws fresh randomness, and nothing else is random.

    `policy` names the file of callers (`source_node.access.policy`; None: everybody with a certificate of
    the authority may ask). With `tokens`, callers prove a token in place of a certificate. Every request
    is recorded in the folder `audit` (None: `audit` in the store).
    `listen`, `dial` (an aggregator's HOST:PORT for sources that dial, `aggregator_name` its certified name
    where that is not the host), or both, say how callers reach the node. `metrics` is HOST:PORT.
    `memory_limit_mib`: above it requests are refused until memory is free again.
    """

    store: Path
    source_id: str
    listen: str | None = None
    dial: str | None = None
    aggregator_name: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    insecure: bool = False
    retriever: str = DEFAULT_RETRIEVER
    retriever_options: dict[str, Any] = Field(default_factory=dict)
    embedder: str | None = None
    max_top_k: int = Field(default=50, ge=1, le=MAX_DOCUMENTS)
    sanitize: str | None = None
    workers: int = Field(default=8, ge=1, le=256)
    max_concurrent: int = Field(default=64, ge=1)
    grace_s: float = Field(default=5.0, ge=0.0)
    privacy: PrivacyPolicy | None = None
    privacy_ledger: Path | None = None
    policy: Path | None = None
    tokens: Path | None = None
    audit: Path | None = None
    memory_limit_mib: int | None = Field(default=None, ge=64)
    metrics: str | None = None
    log_format: LogFormat = "text"
    seed: int = 0
