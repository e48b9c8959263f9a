"""A mistake in gates.toml is named by its line, with what would be right."""

from pathlib import Path

import pytest

from harness import gates_file
from harness.environment import ROOT
from harness.errors import UsageMistake

GOOD = """schema = "cortex.gates/1"

[[gate]]
id = "first"
title = "First"
metric = "relevance.ndcg@10"
set = "all"
variant = "hybrid"
floor = 0.5

[[gate]]
id = "second"
title = "Second"
metric = "load.error-rate"
variant = ["closed", "open"]
ceiling = 0
"""


def read(tmp_path: Path, text: str) -> gates_file.GatesFile:
    path = tmp_path / "gates.toml"
    path.write_text(text)
    return gates_file.read(path)


def test_a_gate_of_several_variants_is_one_gate_each(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)

    assert [gate.id for gate in found.gates] == ["first", "second-closed", "second-open"]


def test_the_committed_gates_can_be_read() -> None:
    assert gates_file.read(ROOT / "evals" / "gates.toml").gates


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "relevance.ndcg@10",
            "relevance.ndgc@10",
            "gates.toml:6: metric 'relevance.ndgc@10' is not known; nearest: relevance.ndcg@10",
        ),
        ("ceiling = 0", "celing = 0", "gates.toml:16: key 'celing' is not known; did you mean"),
        ("floor = 0.5", 'floor = "high"', "gates.toml:9: gate 'first': floor is 'high'"),
        ("floor = 0.5", "floor = nan", "gates.toml:9: gate 'first': floor is nan; want a finite"),
        ("floor = 0.5", "floor = true", "floor is True; want a number"),
        ("ceiling = 0", "ceiling = inf", "gates.toml:16: gate 'second': ceiling is inf"),
        ("floor = 0.5", "max_drop = -0.1", "max_drop is -0.1; want a finite number from 0 on"),
        ("floor = 0.5", "floor = 0.5\nceiling = 0.4", "floor 0.5 is above ceiling 0.4"),
        ("floor = 0.5", 'floor = 0.5\nprofiles = ["ful"]', "profiles is ['ful']; want a list of"),
        ("floor = 0.5", "floor = 0.5\nprofiles = []", "profiles is []"),
        ("floor = 0.5", "best_of = []", "gate 'first' has no rule"),
        ("floor = 0.5", "no_significant_drop = false", "gate 'first' has no rule"),
        ('["closed", "open"]', "[]", "variant is an empty list"),
        ("floor = 0.5", "floor = 0.5\nover = [1]", "over is [1]; want the name of a metric"),
        ("floor = 0.5", '[groups]\npublic = "scifact"', "group 'public' is 'scifact'; want a list"),
        ("floor = 0.5", '[groups]\nall = ["scifact"]', "a name that is not 'all' or 'each'"),
        ('"cortex.gates/1"', '"cortex.gates/1"\ngroups = 5', "gates.toml:2: groups is a table"),
        ("floor = 0.5\n", "", "gates.toml:4: gate 'first' has no rule"),
        ("cortex.gates/1", "cortex.gates/9", "gates.toml:1: schema is 'cortex.gates/9'"),
        ('title = "Second"\n', "", "needs a text for 'title'"),
        ('[[gate]]\nid = "first"', '[[gates]]\nid = "first"', "'gates' is not known"),
        ("floor = 0.5", "floor = = 1", "not TOML"),
        (GOOD, 'schema = "cortex.gates/1"\n[gate]\nid = "x"\n', "a line [[gate]] of its own"),
        (GOOD, 'schema = "cortex.gates/1"\ngate = [{id = "x"}]', "gates.toml:2: write each gate"),
        (GOOD, 'schema = "cortex.gates/1"\ngate = 5', "gates.toml:2: write each gate"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = GOOD.replace(old, new)

    with pytest.raises(UsageMistake) as refused:
        read(tmp_path, text)

    assert says in str(refused.value)


def test_two_gates_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageMistake, match=r"gates.toml:11: gate 'first' is there twice"):
        read(tmp_path, GOOD.replace('"second"', '"first"').replace('["closed", "open"]', '"open"'))


def test_a_file_without_gates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageMistake, match="passes nothing"):
        read(tmp_path, 'schema = "cortex.gates/1"\n')
