from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Document(_message.Message):
    __slots__ = ("doc_id", "title", "text", "category", "score", "rank")
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    doc_id: str
    title: str
    text: str
    category: str
    score: float
    rank: int
    def __init__(self, doc_id: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., category: _Optional[str] = ..., score: _Optional[float] = ..., rank: _Optional[int] = ...) -> None: ...

class Privacy(_message.Message):
    __slots__ = ("mechanism", "epsilon")
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    mechanism: str
    epsilon: float
    def __init__(self, mechanism: _Optional[str] = ..., epsilon: _Optional[float] = ...) -> None: ...

class DocumentKey(_message.Message):
    __slots__ = ("source_id", "doc_id")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    DOC_ID_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    doc_id: str
    def __init__(self, source_id: _Optional[str] = ..., doc_id: _Optional[str] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("key", "action", "credibility", "reason", "evidence")
    class EvidenceEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    KEY_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CREDIBILITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    key: DocumentKey
    action: str
    credibility: float
    reason: str
    evidence: _containers.ScalarMap[str, float]
    def __init__(self, key: _Optional[_Union[DocumentKey, _Mapping]] = ..., action: _Optional[str] = ..., credibility: _Optional[float] = ..., reason: _Optional[str] = ..., evidence: _Optional[_Mapping[str, float]] = ...) -> None: ...

class StageTrail(_message.Message):
    __slots__ = ("stage", "hook", "verdicts", "error", "milliseconds")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    stage: str
    hook: str
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    error: str
    milliseconds: float
    def __init__(self, stage: _Optional[str] = ..., hook: _Optional[str] = ..., verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ..., error: _Optional[str] = ..., milliseconds: _Optional[float] = ...) -> None: ...
