"""Sets by their name in ir_datasets: the real library, on a small set of our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import HarnessError, UsageMistake
from harness.evalsets import hub

ir_datasets = pytest.importorskip("ir_datasets", reason="needs the hub extra")

NAME = "cortex-tests/tiny"


@pytest.fixture
def registered(tmp_path: Path) -> Iterator[Path]:
    """A set in the library's own catalogue, read by the library from local files."""
    docs, queries, qrels = (tmp_path / name for name in ("docs.tsv", "queries.tsv", "qrels"))
    docs.write_text("d1\tA kettle boils water.\nd2\tA toaster browns bread.\n")
    queries.write_text("q1\tboil water\nq2\tnever judged\n")
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\n")
    made = ir_datasets.create_dataset(docs_tsv=docs, queries_tsv=queries, qrels_trec=qrels)
    ir_datasets.registry.register(NAME, made)
    yield qrels
    del ir_datasets.registry._registered[NAME]


@pytest.mark.usefixtures("registered")
def test_a_set_is_read_by_name() -> None:
    found = hub.read(NAME)

    assert found.name == "cortex-tests-tiny"
    assert [document.id for document in found.documents] == ["d1", "d2"]
    assert [query.texts for query in found.queries] == [("boil water",)]
    assert found.judgments == {"q1": {"d1": 1, "d2": 0}}
    assert found.checksum == hub.read(NAME).checksum


def test_judgments_of_a_missing_document_are_refused(registered: Path) -> None:
    registered.write_text("q1 0 d9 1\n")

    with pytest.raises(UsageMistake, match="document 'd9' is missing"):
        hub.read(NAME)


def test_what_cannot_be_fetched_is_named_with_a_way_out(registered: Path) -> None:
    registered.unlink()

    with pytest.raises(HarnessError, match=r"tiny: cannot be fetched \(.*CORTEX_EVAL_SETS"):
        hub.read(NAME)


def test_a_name_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageMistake, match="not in the catalogue"):
        hub.read("cortex-tests/nonsense")
