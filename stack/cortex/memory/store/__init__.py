"""The one place of the memory server with SQL: values in, records out."""

from cortex.memory.store.connection import Database, schema_version
from cortex.memory.store.items import ItemStore
from cortex.memory.store.projects import ProjectStore
from cortex.memory.store.search import SearchStore

__all__ = ["Database", "ItemStore", "ProjectStore", "SearchStore", "schema_version"]
