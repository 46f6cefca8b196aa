from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ManagedSource(_message.Message):
    __slots__ = ("source_id", "address", "state", "circuit", "in_flight", "failures", "last_failure", "reliability", "reachable", "n_documents")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CIRCUIT_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILURE_FIELD_NUMBER: _ClassVar[int]
    RELIABILITY_FIELD_NUMBER: _ClassVar[int]
    REACHABLE_FIELD_NUMBER: _ClassVar[int]
    N_DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    address: str
    state: str
    circuit: str
    in_flight: int
    failures: int
    last_failure: str
    reliability: float
    reachable: bool
    n_documents: int
    def __init__(self, source_id: _Optional[str] = ..., address: _Optional[str] = ..., state: _Optional[str] = ..., circuit: _Optional[str] = ..., in_flight: _Optional[int] = ..., failures: _Optional[int] = ..., last_failure: _Optional[str] = ..., reliability: _Optional[float] = ..., reachable: _Optional[bool] = ..., n_documents: _Optional[int] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListReply(_message.Message):
    __slots__ = ("sources",)
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[ManagedSource]
    def __init__(self, sources: _Optional[_Iterable[_Union[ManagedSource, _Mapping]]] = ...) -> None: ...

class AddRequest(_message.Message):
    __slots__ = ("source_id", "address", "dialled", "token_name", "token_secret")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DIALLED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_NAME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SECRET_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    address: str
    dialled: bool
    token_name: str
    token_secret: str
    def __init__(self, source_id: _Optional[str] = ..., address: _Optional[str] = ..., dialled: _Optional[bool] = ..., token_name: _Optional[str] = ..., token_secret: _Optional[str] = ...) -> None: ...

class DrainRequest(_message.Message):
    __slots__ = ("source_id",)
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    def __init__(self, source_id: _Optional[str] = ...) -> None: ...

class RemoveRequest(_message.Message):
    __slots__ = ("source_id",)
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    def __init__(self, source_id: _Optional[str] = ...) -> None: ...

class ChangeReply(_message.Message):
    __slots__ = ("outcome", "persisted")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    PERSISTED_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    persisted: bool
    def __init__(self, outcome: _Optional[str] = ..., persisted: _Optional[bool] = ...) -> None: ...
