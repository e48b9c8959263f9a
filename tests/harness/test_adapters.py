"""Other memory servers, by an adapter of one small class."""

from pathlib import Path

import pytest
from conftest import Harness

from harness import results

ADAPTER = f"{Path(__file__).parent / 'word_adapter.py'}:"


def test_another_server_is_measured_by_its_adapter(harness: Harness) -> None:
    ended = harness.run("relevance", "load", "--adapter", f"{ADAPTER}Words")

    assert ended.code in (0, 1), ended.output
    run = ended.json
    assert run["adapter"].endswith("word_adapter.py:Words")
    assert run["status"] == "complete"
    found = results.read(ended.run)
    assert {one.variant for one in found.results if one.name == "relevance.ndcg@10"} == {
        "hybrid", "no-extras", "one-text"
    }  # fmt: skip
    ndcg = found.find("relevance.ndcg@10", "kitchen", "hybrid")
    assert ndcg is not None
    assert ndcg.value > 0.3
    stages = {one.part for one in found.results if one.name == "load.stage.mean"}
    assert "adapter" in stages
    standings = {gate["id"]: gate["standing"] for gate in run["gates"]}
    assert standings["index-finds/garage/strategies"] == "not-applicable"
    assert standings["load-errors-closed/ceiling"] == "held"
    assert "not the product" in (ended.run / "report.html").read_text()


def test_what_an_adapter_cannot_say_is_not_measured_nor_judged(harness: Harness) -> None:
    file = harness.evals / "gates.toml"
    file.write_text(
        file.read_text()
        + "".join(
            f'\n[[gate]]\nid = "{name}"\ntitle = "T"\nmetric = "relevance.{name}"\n'
            f'set = "garage"\nvariant = "hybrid"\n{limit}\n'
            for name, limit in (("nothing-found", "floor = 0.3"), ("nothing-false", "ceiling = 0"))
        )
    )

    ended = harness.run("relevance", "--adapter", f"{ADAPTER}Words")

    found = results.read(ended.run)
    assert found.find("relevance.nothing-separation", "garage", "hybrid") is not None
    standings = {gate["id"]: gate["standing"] for gate in ended.json["gates"]}
    for name in ("nothing-found", "nothing-false"):
        assert found.find(f"relevance.{name}", "garage", "hybrid") is None
        assert standings[f"{name}/garage/present"] == "not-applicable"


def test_an_adapter_that_fails_is_counted_query_by_query(harness: Harness) -> None:
    ended = harness.run("relevance", "--adapter", f"{ADAPTER}Failing")

    assert ended.code == 1, ended.output
    found = results.read(ended.run)
    assert all("nobody is at home" in one.message for one in found.failures)
    assert found.find("relevance.ndcg@10", "garage", "hybrid") is None


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (f"{ADAPTER}Halfway", "lacks add, find"),
        (f"{ADAPTER}Nobody", "is not there"),
        ("elsewhere.py:Words", "there is no such file"),
        ("a-recipe", "want FILE.py:CLASS, or one of postgres-recipe"),
    ],
)
def test_what_is_no_adapter_is_named_before_anything_starts(
    harness: Harness, spec: str, says: str
) -> None:
    ended = harness.run("relevance", "--adapter", spec)

    assert ended.code == 2
    assert says in ended.verdict
    assert not harness.runs.exists()


def test_the_products_own_suites_are_not_asked_of_another_server(harness: Harness) -> None:
    ended = harness.run("contract", "relevance", "--adapter", f"{ADAPTER}Words")

    assert ended.code == 2
    assert "contract are about the product's own servers" in ended.verdict
