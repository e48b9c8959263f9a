"""ListItems: a page of a project's items, stable while others write."""

import base64
import binascii
import json
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from cortex.memory.records import ItemFilter
from cortex.shared.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWish:
    """What a caller wants listed; time ranges are from (inclusive) to before (exclusive)."""

    project: str
    filter: ItemFilter = field(default_factory=ItemFilter)
    include_deleted: bool = False
    created_from: datetime | None = None
    created_before: datetime | None = None
    updated_from: datetime | None = None
    updated_before: datetime | None = None
    limit: int = 50
    cursor: str | None = None


def write_cursor(created_at: datetime, item_id: UUID) -> str:
    """The place after an item, as callers hand it back."""
    body = json.dumps([created_at.isoformat(), str(item_id)])
    return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    """The place a cursor stands for; raises `InvalidInput` for anything but one of ours."""
    if cursor is None:
        return None, None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        moment, item_id = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        created_at = datetime.fromisoformat(moment)
        if created_at.tzinfo is None:
            raise ValueError("no time zone")
        return created_at, UUID(item_id)
    except (ValueError, TypeError, binascii.Error, AttributeError) as err:
        raise InvalidInput(
            "cursor is not one that ListItems gave; leave it out to start at the beginning"
        ) from err
