from protos import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RetrieveRequest(_message.Message):
    __slots__ = ("query", "top_k", "privacy", "request_id")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    query: str
    top_k: int
    privacy: _types_pb2.Privacy
    request_id: str
    def __init__(self, query: _Optional[str] = ..., top_k: _Optional[int] = ..., privacy: _Optional[_Union[_types_pb2.Privacy, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class RetrieveReply(_message.Message):
    __slots__ = ("source_id", "documents", "request_id")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    documents: _containers.RepeatedCompositeFieldContainer[_types_pb2.Document]
    request_id: str
    def __init__(self, source_id: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[_types_pb2.Document, _Mapping]]] = ..., request_id: _Optional[str] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeReply(_message.Message):
    __slots__ = ("source_id", "n_documents", "retriever", "embedder", "max_top_k", "wire_version", "privacy_mechanisms")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    N_DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    RETRIEVER_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    MAX_TOP_K_FIELD_NUMBER: _ClassVar[int]
    WIRE_VERSION_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_MECHANISMS_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    n_documents: int
    retriever: str
    embedder: str
    max_top_k: int
    wire_version: int
    privacy_mechanisms: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, source_id: _Optional[str] = ..., n_documents: _Optional[int] = ..., retriever: _Optional[str] = ..., embedder: _Optional[str] = ..., max_top_k: _Optional[int] = ..., wire_version: _Optional[int] = ..., privacy_mechanisms: _Optional[_Iterable[str]] = ...) -> None: ...
