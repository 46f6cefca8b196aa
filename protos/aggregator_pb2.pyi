from protos import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AskRequest(_message.Message):
    __slots__ = ("question", "top_k", "user_id")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    question: str
    top_k: int
    user_id: str
    def __init__(self, question: _Optional[str] = ..., top_k: _Optional[int] = ..., user_id: _Optional[str] = ...) -> None: ...

class VerifiedDocument(_message.Message):
    __slots__ = ("key", "title", "text", "category", "kept", "credibility", "similarity", "holders")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    CREDIBILITY_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    key: _types_pb2.DocumentKey
    title: str
    text: str
    category: str
    kept: bool
    credibility: float
    similarity: float
    holders: _containers.RepeatedCompositeFieldContainer[_types_pb2.DocumentKey]
    def __init__(self, key: _Optional[_Union[_types_pb2.DocumentKey, _Mapping]] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., category: _Optional[str] = ..., kept: _Optional[bool] = ..., credibility: _Optional[float] = ..., similarity: _Optional[float] = ..., holders: _Optional[_Iterable[_Union[_types_pb2.DocumentKey, _Mapping]]] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("source_id", "kind", "detail")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    kind: str
    detail: str
    def __init__(self, source_id: _Optional[str] = ..., kind: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class AskReply(_message.Message):
    __slots__ = ("answer", "reader", "documents", "trail", "failures", "reliability", "warnings", "round_id", "refused")
    class ReliabilityEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    READER_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    TRAIL_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    RELIABILITY_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    ROUND_ID_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    answer: str
    reader: str
    documents: _containers.RepeatedCompositeFieldContainer[VerifiedDocument]
    trail: _containers.RepeatedCompositeFieldContainer[_types_pb2.StageTrail]
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    reliability: _containers.ScalarMap[str, float]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    round_id: str
    refused: bool
    def __init__(self, answer: _Optional[str] = ..., reader: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[VerifiedDocument, _Mapping]]] = ..., trail: _Optional[_Iterable[_Union[_types_pb2.StageTrail, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ..., reliability: _Optional[_Mapping[str, float]] = ..., warnings: _Optional[_Iterable[str]] = ..., round_id: _Optional[str] = ..., refused: _Optional[bool] = ...) -> None: ...

class SubmittedDocument(_message.Message):
    __slots__ = ("source_id", "doc_id", "title", "text", "category")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    doc_id: str
    title: str
    text: str
    category: str
    def __init__(self, source_id: _Optional[str] = ..., doc_id: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., category: _Optional[str] = ...) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ("question", "documents")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    question: str
    documents: _containers.RepeatedCompositeFieldContainer[SubmittedDocument]
    def __init__(self, question: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[SubmittedDocument, _Mapping]]] = ...) -> None: ...

class VerifyReply(_message.Message):
    __slots__ = ("documents", "trail", "reliability", "warnings")
    class ReliabilityEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    TRAIL_FIELD_NUMBER: _ClassVar[int]
    RELIABILITY_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[VerifiedDocument]
    trail: _containers.RepeatedCompositeFieldContainer[_types_pb2.StageTrail]
    reliability: _containers.ScalarMap[str, float]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, documents: _Optional[_Iterable[_Union[VerifiedDocument, _Mapping]]] = ..., trail: _Optional[_Iterable[_Union[_types_pb2.StageTrail, _Mapping]]] = ..., reliability: _Optional[_Mapping[str, float]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class ListSourcesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SourceStatus(_message.Message):
    __slots__ = ("source_id", "address", "reachable", "reliability", "n_documents")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REACHABLE_FIELD_NUMBER: _ClassVar[int]
    RELIABILITY_FIELD_NUMBER: _ClassVar[int]
    N_DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    address: str
    reachable: bool
    reliability: float
    n_documents: int
    def __init__(self, source_id: _Optional[str] = ..., address: _Optional[str] = ..., reachable: _Optional[bool] = ..., reliability: _Optional[float] = ..., n_documents: _Optional[int] = ...) -> None: ...

class ListSourcesReply(_message.Message):
    __slots__ = ("sources",)
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[SourceStatus]
    def __init__(self, sources: _Optional[_Iterable[_Union[SourceStatus, _Mapping]]] = ...) -> None: ...
