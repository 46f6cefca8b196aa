"""How this aggregator reaches a source, by its address: over its own connection, or over one of ours."""

from __future__ import annotations

from dataclasses import dataclass, field

from aggregator.source_client import SourceClient
from aggregator.source_tokens import TokenShelf
from aggregator.tunnel import DIALLED, TunnelHub
from core.errors import ConfigError
from core.tls import TlsFiles


@dataclass(frozen=True)
class Dialling:
    """What every connection to a source is made from.

    `tls`: the aggregator's own files, None dials without TLS. `hub`: where sources dial in, None where
    they cannot. `tokens`: what sources gave us to prove who asks.
    """

    tls: TlsFiles | None = None
    deadline_s: float = 5.0
    hub: TunnelHub | None = None
    tokens: TokenShelf = field(default_factory=TokenShelf)

    def client(self, source_id: str, address: str) -> SourceClient:
        """A client of the source at `address` (HOST:PORT, or `DIALLED`).

        Raises:
            ConfigError: bad address or TLS files, a token without TLS, or nowhere to dial in.
        """
        if address != DIALLED:
            return SourceClient(
                source_id, address, self.tls, self.deadline_s, token=self.tokens.get(source_id)
            )
        if self.hub is None:
            raise ConfigError(f"source {source_id!r} dials: --accept-dialled HOST:PORT is missing")
        return SourceClient(
            source_id, address, deadline_s=self.deadline_s, channel=self.hub.channel(source_id)
        )
