from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class TunnelCall(_message.Message):
    __slots__ = ("call_id", "method", "request", "deadline_ms", "cancelled")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    method: str
    request: bytes
    deadline_ms: int
    cancelled: bool
    def __init__(self, call_id: _Optional[int] = ..., method: _Optional[str] = ..., request: _Optional[bytes] = ..., deadline_ms: _Optional[int] = ..., cancelled: _Optional[bool] = ...) -> None: ...

class TunnelReply(_message.Message):
    __slots__ = ("call_id", "status", "detail", "reply", "leaving")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    status: int
    detail: str
    reply: bytes
    leaving: bool
    def __init__(self, call_id: _Optional[int] = ..., status: _Optional[int] = ..., detail: _Optional[str] = ..., reply: _Optional[bytes] = ..., leaving: _Optional[bool] = ...) -> None: ...
