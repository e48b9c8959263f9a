"""Projects, memory items, their embeddings, and the postings of the text arm."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0001_memory_items.sql").read_text()
    for statement in statements.split("\n\n"):
        if statement.strip():
            op.get_bind().exec_driver_sql(statement)
