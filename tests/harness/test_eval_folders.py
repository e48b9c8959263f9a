"""A malformed eval folder is refused with file, line and what would be right."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UsageMistake
from harness.evalsets import beir, collect, items, leakage, subset
from harness.evalsets.records import Document, EvalSet, Query

DATA = Path(__file__).parent / "data" / "evals" / "relevance"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole set that a test may break."""
    return Path(shutil.copytree(DATA / "garage", tmp_path / "garage"))


def test_a_whole_set_is_read_with_everything_in_it(folder: Path) -> None:
    found = beir.read(folder)

    assert (found.name, len(found.documents), len(found.queries)) == ("garage", 12, 12)
    assert found.projects == ["bench", "shed"]
    assert found.documents[0].extras[0].label == "nickname"
    assert found.queries[1].texts[0] == "nothing of use here"
    assert [query.id for query in found.unanswerable] == ["n0", "n1"]
    assert found.judgments["w1"] == {"g1": 3}


def replace(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return change


def add(name: str, line: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / name).open("a", errors="surrogateescape") as file:
            file.write(line + "\n")

    return change


BREAKS = {
    "a line that is not JSON": (
        add("corpus.jsonl", '{"_id": "x", '),
        "corpus.jsonl:13: not JSON: Expecting property name enclosed in double quotes, at char",
    ),
    "a line that is a list": (add("corpus.jsonl", "[1]"), "corpus.jsonl:13: is list; want a JSON"),
    "a document id used twice": (
        add("corpus.jsonl", '{"_id": "g3", "text": "again"}'),
        "corpus.jsonl:13: _id 'g3' is already used in line 4",
    ),
    "a query id used twice": (
        add("queries.jsonl", '{"_id": "w0", "text": "again"}'),
        "queries.jsonl:13: _id 'w0' is already used in line 1",
    ),
    "a document without a text": (
        add("corpus.jsonl", '{"_id": "x"}'),
        "corpus.jsonl:13: text is null; want a text",
    ),
    "a text that is too long": (
        add("corpus.jsonl", '{"_id": "x", "text": "' + "y" * 100_001 + '"}'),
        "corpus.jsonl:13: document 'x' has a text of 100001 characters",
    ),
    "a title that is too long": (
        add("corpus.jsonl", '{"_id": "x", "text": "y", "title": "' + "y" * 501 + '"}'),
        "corpus.jsonl:13: document 'x' has a title of 501 characters; at most 500",
    ),
    "a category that is not known": (
        replace("corpus.jsonl", '"category": "todo"', '"category": "wish"'),
        "corpus.jsonl:3: category is 'wish'; one of requirement, location, todo, note",
    ),
    "fields of another category": (
        replace("corpus.jsonl", '"priority": "low"', '"urgency": "low"'),
        "corpus.jsonl:3: fields of a todo are task, priority",
    ),
    "fields of no category": (
        replace("corpus.jsonl", '"category": "todo"', '"catgory": "todo"'),
        "corpus.jsonl:3: has fields and no category; say which of requirement, location, todo",
    ),
    "an answer in another project": (
        add("qrels/dev.tsv", "w0\tg7\t1"),
        "dev.tsv:14: query 'w0' can never find document 'g7': it asks for project 'bench', the "
        "document lies in 'shed'",
    ),
    "an answer of another category": (
        add("qrels/dev.tsv", "w2\tg1\t1"),
        "dev.tsv:14: query 'w2' can never find document 'g1': it asks for a todo, the document is "
        "a location",
    ),
    "a query in a project without documents": (
        replace("queries.jsonl", '"project": "bench"', '"project": "attic"'),
        "queries.jsonl:1: project 'attic' has no document; has bench, shed",
    ),
    "judgments that name a missing document": (
        add("qrels/dev.tsv", "w0\tg99\t1"),
        "dev.tsv:14: document 'g99' is not in corpus.jsonl",
    ),
    "judgments that name a missing query": (
        add("qrels/dev.tsv", "w99\tg1\t1"),
        "dev.tsv:14: query 'w99' is not in queries.jsonl",
    ),
    "a grade that is none": (
        add("qrels/dev.tsv", "w0\tg5\tvery"),
        "dev.tsv:14: grade is 'very'; want a whole number 0 to 9",
    ),
    "a negative grade": (add("qrels/dev.tsv", "w0\tg5\t-1"), "dev.tsv:14: grade is '-1'"),
    "a judgment twice": (add("qrels/dev.tsv", "w0\tg0\t2"), "dev.tsv:14: query 'w0' and document"),
    "a line with too few columns": (add("qrels/dev.tsv", "w0\tg0"), "dev.tsv:14: has 2 columns"),
    "judgments without a header": (
        replace("qrels/dev.tsv", "query-id\tcorpus-id\tscore\n", ""),
        "dev.tsv:1: want the header query-id <tab> corpus-id <tab> score",
    ),
    "a query without a relevant document": (
        replace("qrels/dev.tsv", "w4\tg4\t1", "w4\tg4\t0"),
        "query 'w4' has no relevant document",
    ),
    "an empty corpus": (lambda folder: (folder / "corpus.jsonl").write_text(""), "is empty"),
    "no queries at all": (lambda folder: (folder / "queries.jsonl").unlink(), "missing; an eval"),
    "no judgments at all": (lambda folder: (folder / "qrels" / "dev.tsv").unlink(), "has none"),
    "a text with half a character": (
        add("corpus.jsonl", '{"_id": "x", "text": "a\\ud800"}'),
        "corpus.jsonl:13: document 'x' has a text with a NUL or half a character",
    ),
    "a title with a NUL": (
        add("corpus.jsonl", '{"_id": "x", "text": "y", "title": "a\\u0000"}'),
        "corpus.jsonl:13: document 'x' has a title with a NUL",
    ),
    "a line nested too deeply": (
        add("corpus.jsonl", '{"_id": "x", "text": "y", "more": ' + "[" * 9_000 + "]" * 9_000 + "}"),
        "corpus.jsonl:13: not JSON",
    ),
    "a tag that is too long": (
        add("corpus.jsonl", '{"_id": "x", "text": "y", "metadata": {"tags": "' + "t" * 101 + '"}}'),
        "corpus.jsonl:13: document 'x' has a tag of 101 characters; at most 100",
    ),
    "a status that only deleting sets": (
        add("corpus.jsonl", '{"_id": "x", "text": "y", "metadata": {"status": "Deleted"}}'),
        "corpus.jsonl:13: document 'x' has status 'deleted'",
    ),
    "a priority that is none": (
        replace("corpus.jsonl", '"priority": "low"', '"priority": "soon"'),
        "corpus.jsonl:3: document 'g2' has priority 'soon'; one of low, normal, high, urgent",
    ),
    "a query that is too long": (
        add("queries.jsonl", '{"_id": "x", "text": "' + "y" * 10_001 + '"}'),
        "queries.jsonl:13: query 'x' has a text of 10001 characters; at most 10000",
    ),
    "a query for a category that is not known": (
        add("queries.jsonl", '{"_id": "x", "text": "y", "metadata": {"category": "wish"}}'),
        "queries.jsonl:13: query 'x' has category 'wish'",
    ),
    "judgments that are not UTF-8": (
        add("qrels/dev.tsv", "w0\tg\udce9\t1"),
        "dev.tsv:14: not UTF-8 text",
    ),
    "a grade of many digits": (
        add("qrels/dev.tsv", "w0\tg5\t" + "9" * 5_000),
        "dev.tsv:14: grade is",
    ),
    "an additional embedding without a text": (
        replace("corpus.jsonl", '"label": "nickname", ', ""),
        "corpus.jsonl:1: label is null; want a text",
    ),
}


@pytest.mark.parametrize("what", BREAKS)
def test_what_is_wrong_is_named(folder: Path, what: str) -> None:
    breaks, message = BREAKS[what]
    breaks(folder)

    with pytest.raises(UsageMistake) as refused:
        beir.read(folder)

    assert message in str(refused.value)


def test_a_file_that_is_not_the_one_of_its_checksum_is_refused(folder: Path) -> None:
    right = hashlib.sha256((folder / "corpus.jsonl").read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{right}  corpus.jsonl\n")
    assert beir.read(folder).name == "garage"

    add("corpus.jsonl", '{"_id": "x", "text": "more"}')(folder)

    with pytest.raises(UsageMistake, match=r"corpus.jsonl: its sha256 is not the one in .*SUMS:1"):
        beir.read(folder)


def test_two_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageMistake, match="two eval sets are called 'garage'"):
        collect.collect(DATA, DATA, [], "quick")


def test_a_set_named_in_place_of_the_folder_it_lies_in_is_told(folder: Path) -> None:
    with pytest.raises(UsageMistake, match="garage: is an eval set itself; name the folder it"):
        collect.collect(DATA, folder, [], "quick")


def test_the_fingerprint_changes_with_the_data_and_with_the_part_used(folder: Path) -> None:
    whole = beir.read(folder)
    part = whole.only(whole.documents[:5], "the first five")
    add("corpus.jsonl", '{"_id": "x", "text": "more"}')(folder)

    assert len({whole.fingerprint, part.fingerprint, beir.read(folder).fingerprint}) == 3


def _large(words: int = 5) -> EvalSet:
    documents = tuple(Document(f"d{n}", "", "word " * words) for n in range(2_000))
    judgments = {"q": {"d7": 1, "d1999": 0}}
    return EvalSet("large", documents, (Query("q", ("word",)),), judgments, "sum", "large")


def test_a_quick_run_keeps_every_judged_document_and_always_the_same_others() -> None:
    part = subset.quick(_large())

    assert part is not None
    ids = {document.id for document in part.documents}
    assert {"d7", "d1999"} <= ids
    assert len(ids) == 2 + subset.DISTRACTORS
    assert part.fingerprint == subset.quick(_large()).fingerprint  # type: ignore[union-attr]


def test_sets_of_long_documents_are_left_to_full_runs() -> None:
    assert subset.quick(_large(words=500)) is None


def test_texts_that_stand_in_the_corpus_are_listed() -> None:
    documents = (
        Document("a", "Ovens", "How hot does   an oven get? Very."),
        Document("b", "Answer", "About 250 degrees it is."),
        Document("c", "Copy", "It says: about 250 degrees it is."),
    )
    query = Query("q", ("how hot does an oven get",), answers=("About 250 degrees it is",))
    found = EvalSet("s", documents, (query,), {"q": {"b": 1}}, "", "")

    leaks = leakage.find(found)

    assert [(leak.kind, leak.document, leak.words) for leak in leaks] == [
        ("query", "a", 6),
        ("answer", "c", 5),
    ]


def test_a_plain_document_becomes_a_note_and_nothing_is_cut() -> None:
    item = items.item(Document("d", "", "One two three. " * 30))

    assert item["category"] == "note"
    assert item["title"] == item["subject"] == item["body"]
    assert item["title"].split() == ("One two three. " * 4).split()
    assert item["content"] == "One two three. " * 30


def test_batches_stay_within_what_one_call_takes_and_keep_the_order() -> None:
    documents = [Document(f"d{n}", "t", "x" * 99_000) for n in range(60)]

    made = list(items.batches(documents, extras=True))

    assert [id_ for batch in made for id_, _ in batch] == [document.id for document in documents]
    assert max(len(batch) for batch in made) < 30
