"""Runs the migrations over one connection, one migrator at a time."""

from alembic import context
from sqlalchemy import text

MIGRATION_LOCK = 0x636F72746578
LOCK_TIMEOUT = "60s"

connection = context.config.attributes["connection"]
connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": MIGRATION_LOCK})
connection.commit()
context.configure(connection=connection, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
