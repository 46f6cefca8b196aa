"""The gRPC face of an aggregator for its operator: sources added, drained and removed while it serves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc

from aggregator.aggregator import Aggregator
from aggregator.dialling import Dialling
from aggregator.fan_out import FanOut, SourceStanding
from aggregator.tunnel import DIALLED
from core import bounds
from core.errors import AccessError, ConfigError, StoreError, WireError
from core.records import NodeDescription, SourceFailure
from core.rpc import parse_address, status_of, translating
from core.text import clean
from core.tls import TlsFiles, peer_identities
from core.tokens import Token, given_token
from protos import operator_pb2, operator_pb2_grpc

_LOG = logging.getLogger(__name__)
OPERATOR_NAME = operator_pb2.DESCRIPTOR.services_by_name["AggregatorOperator"].full_name


class OperatorServicer(operator_pb2_grpc.AggregatorOperatorServicer):  # type: ignore[misc]  # generated
    """List, Add, Drain and Remove over one `Aggregator`.

    With TLS only callers whose certificate carries one of the names in `operators` are served; without
    it the server is on loopback, and whoever reaches it may.

    Args:
        aggregator: whose sources change.
        tls: the aggregator's own files; None: it serves without TLS, and dials new sources so unless
            `aggregator.dialling` says otherwise.
        operators: certified names.
    """

    def __init__(
        self, aggregator: Aggregator, tls: TlsFiles | None = None, operators: Sequence[str] = ()
    ) -> None:
        self._aggregator = aggregator
        self._tls = tls
        self._operators = frozenset(operators)
        self._own = Dialling(tls)
        self._turn = threading.Lock()  # one change at a time: pool and roster must not part

    def List(
        self, request: operator_pb2.ListRequest, context: grpc.ServicerContext
    ) -> operator_pb2.ListReply:
        with translating(context), self._admitted(context, "list"):
            survey = self._fan_out().survey()
            reliability = self._aggregator.reputation.reliability(each.source_id for each, _ in survey)
            return operator_pb2.ListReply(
                sources=[_managed(each, found, reliability[each.source_id]) for each, found in survey]
            )

    def Add(
        self, request: operator_pb2.AddRequest, context: grpc.ServicerContext
    ) -> operator_pb2.ChangeReply:
        with translating(context), self._admitted(context, "add", request.source_id), self._turn:
            source = bounds.identifier(request.source_id, "source_id")
            address, token = _asked_address(request), _asked_token(request)
            pool, dialling = self._fan_out(), self._dialling()
            known = {each.source_id: each for each in pool.standing()}.get(source)
            if known is not None and (known.state == "active" or known.address != address):
                raise ConfigError(f"source {source!r} is there already, at {known.address}: remove it first")
            if token is not None:
                if dialling.tls is None or address == DIALLED:
                    raise ConfigError("a token is shown over TLS only, to a source that we dial")
                dialling.tokens.put(source, token)
            if known is not None and token is None:
                self._aggregator.roster.note(source, "active", address)
                pool.resume(source)
                return self._changed(f"source {source!r} is asked again")
            client = dialling.client(source, address)
            try:
                self._aggregator.roster.note(source, "active", address)
                if known is not None:
                    pool.remove(source)  # asked again with the new token
                pool.add(client)
            except BaseException:
                client.close()
                raise
            where = "once it dials in" if address == DIALLED else "from now on"
            return self._changed(f"source {source!r} at {address} is asked {where}")

    def Drain(
        self, request: operator_pb2.DrainRequest, context: grpc.ServicerContext
    ) -> operator_pb2.ChangeReply:
        with translating(context), self._admitted(context, "drain", request.source_id), self._turn:
            pool = self._known(request.source_id)
            self._aggregator.roster.note(request.source_id, "drained")
            pool.drain(request.source_id)
            return self._changed(f"source {request.source_id!r} is asked no more")

    def Remove(
        self, request: operator_pb2.RemoveRequest, context: grpc.ServicerContext
    ) -> operator_pb2.ChangeReply:
        with translating(context), self._admitted(context, "remove", request.source_id), self._turn:
            pool = self._known(request.source_id)
            self._aggregator.roster.note(request.source_id, "removed")
            pool.remove(request.source_id)
            self._dialling().tokens.drop(request.source_id)
            return self._changed(f"source {request.source_id!r} is removed; its reliability is kept")

    @contextmanager
    def _admitted(self, context: grpc.ServicerContext, what: str, source: str = "") -> Iterator[None]:
        """Lets an operator in; an operator, unlike other callers, is told what exactly was wrong."""
        names = peer_identities(context)
        if self._tls is not None and self._operators.isdisjoint(names):
            raise AccessError(f"{names} may not {what} sources: not among the operators (--operator NAME)")
        if what != "list":
            _LOG.warning("operator %s: %s %s", ", ".join(names) or "(loopback)", what, clean(source))
        try:
            yield
        except (ConfigError, WireError, StoreError) as error:
            context.abort(status_of(error)[0], str(error))

    def _fan_out(self) -> FanOut:
        if self._aggregator.fan_out is None:
            raise ConfigError("this aggregator has no sources")
        return self._aggregator.fan_out

    def _dialling(self) -> Dialling:
        return self._aggregator.dialling or self._own

    def _known(self, source_id: str) -> FanOut:
        """The pool, if it has this source.

        Raises:
            ConfigError: it does not.
        """
        pool = self._fan_out()
        if source_id not in {each.source_id for each in pool.standing()}:
            raise ConfigError(f"no source {source_id!r} here")
        return pool

    def _changed(self, outcome: str) -> operator_pb2.ChangeReply:
        return operator_pb2.ChangeReply(outcome=outcome, persisted=self._aggregator.roster.persistent)


def _asked_address(request: operator_pb2.AddRequest) -> str:
    """HOST:PORT, or `DIALLED`.

    Raises:
        ConfigError, WireError: neither, or both.
    """
    if request.dialled:
        if request.address:
            raise ConfigError("a source that dials has no address")
        return DIALLED
    address = bounds.identifier(request.address, "address")
    parse_address(address)
    return address


def _asked_token(request: operator_pb2.AddRequest) -> Token | None:
    if not request.token_name and not request.token_secret:
        return None
    return given_token(request.token_name, request.token_secret)


def _managed(
    standing: SourceStanding, found: NodeDescription | SourceFailure, reliability: float
) -> operator_pb2.ManagedSource:
    return operator_pb2.ManagedSource(
        source_id=standing.source_id,
        address=standing.address,
        state=standing.state,
        circuit=standing.circuit,
        in_flight=standing.in_flight,
        failures=standing.failures,
        last_failure=standing.last_failure,
        reliability=reliability,
        reachable=isinstance(found, NodeDescription),
        n_documents=found.n_documents if isinstance(found, NodeDescription) else 0,
    )
