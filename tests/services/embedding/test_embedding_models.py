"""Which models are found, and which are refused before the port opens."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest
from conftest import Process, served
from cortex.embedding.backends.graph_cache import graph_of
from cortex.embedding.backends.model_files import find_model
from cortex.shared.errors import Misconfigured
from safetensors_writer import tiny_bert


@pytest.fixture
def folder(tmp_path: Path, model_folder: Path) -> Path:
    """A small model of random weights with the bundled model's tokenizer."""
    return tiny_bert(tmp_path / "tiny", model_folder / "tokenizer.json")


def test_a_folder_is_served_under_its_own_name(folder: Path, cache: Path) -> None:
    with served(model=str(folder), dimension=32, cache_folder=cache) as client:
        info = client.get("/info").json()
        rows = client.post("/embed", json={"inputs": ["a", "b"]}).json()

    assert (info["model_id"], info["max_input_length"]) == ("tiny", 64)
    assert [len(row) for row in rows] == [32, 32]


def test_an_onnx_file_is_preferred_to_exporting(folder: Path, cache: Path) -> None:
    (folder / "onnx").mkdir()
    made = graph_of(folder / "model.safetensors", cache, "fp32")
    shutil.copy(made, folder / "onnx" / "model.onnx")

    assert find_model(str(folder)).graph_source == folder / "onnx" / "model.onnx"


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
    ],
)
def test_pooling_is_read_from_the_model(
    folder: Path, config: dict[str, bool], pooling: str
) -> None:
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))

    assert find_model(str(folder)).pooling == pooling


def test_a_pooling_nobody_serves_is_refused(folder: Path) -> None:
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_weightedmean_tokens": true}')

    with pytest.raises(Misconfigured, match="no known pooling"):
        find_model(str(folder))


def test_normalisation_is_read_from_the_model(folder: Path) -> None:
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer"}]')

    assert not find_model(str(folder)).normalizes


def test_prompts_of_the_model_go_before_texts(folder: Path, cache: Path) -> None:
    facts = {"prompts": {"query": "find: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(facts))

    with served(model=str(folder), dimension=32, cache_folder=cache) as client:
        asked = {"inputs": "cats", "prompt_name": "query"}
        prompted = client.post("/embed", json=asked).json()
        spelt = client.post("/embed", json={"inputs": "find: cats"}).json()
        unknown = client.post("/embed", json={"inputs": "cats", "prompt_name": "nope"})

    assert prompted == spelt
    assert unknown.status_code == 422
    assert "query" in unknown.json()["error"]


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"needs tokenizer\.json"):
        find_model(str(tmp_path))


def test_a_model_that_is_no_bert_is_refused_with_what_it_is(folder: Path, cache: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))

    with pytest.raises(Misconfigured, match="gpt2"):
        graph_of(folder / "model.safetensors", cache, "fp32")


def test_two_processes_may_export_at_once(folder: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    code = (
        "import sys; from pathlib import Path;"
        "from cortex.embedding.backends.graph_cache import graph_of;"
        "print(graph_of(Path(sys.argv[1]), Path(sys.argv[2]), 'fp32'))"
    )
    command = [sys.executable, "-c", code, str(folder / "model.safetensors"), str(fresh)]

    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [child.communicate(timeout=60)[0].strip() for child in both]

    assert [child.returncode for child in both] == [0, 0]
    assert told[0] == told[1]
    assert [path.name for path in (fresh / "graphs").iterdir()] == [Path(told[0]).name]


def test_changed_weights_never_meet_an_old_graph(folder: Path, cache: Path) -> None:
    first = graph_of(folder / "model.safetensors", cache, "fp32")
    raw = bytearray((folder / "model.safetensors").read_bytes())
    raw[-4:] = np.float32(0.5).tobytes()
    (folder / "model.safetensors").write_bytes(bytes(raw))

    assert graph_of(folder / "model.safetensors", cache, "fp32") != first


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"dimension": 768}, "384 dimensions, the schema expects 768"),
        ({"model": "./nowhere"}, "no folder ./nowhere"),
        ({"max_batch_tokens": 100}, "max_batch_tokens is 100"),
        ({"modle": "x"}, "unknown setting CORTEX_EMBEDDING_MODLE"),
        ({"port": "many"}, "CORTEX_EMBEDDING_PORT"),
    ],
)
def test_a_wrong_setting_ends_the_process_before_the_port_opens(
    process: Callable[..., Process], settings: dict[str, str], told: str
) -> None:
    started = process(**settings)

    assert started.child.wait(30) == 2
    assert told in started.log.read_text()


def test_a_hub_out_of_reach_is_named_with_the_way_without_one(
    process: Callable[..., Process], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))

    started = process(model="BAAI/bge-small-en-v1.5")

    assert started.child.wait(30) == 2
    assert "`bundled`" in started.log.read_text()


def test_a_model_in_the_hub_s_cache_is_served_without_the_hub(
    process: Callable[..., Process], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "hub" / "hub" / "models--maker--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    shutil.copytree(folder, repository / "snapshots" / commit)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))

    started = process(model="maker/tiny", dimension=32)
    started.wait_until_it_answers()

    info = httpx.get(f"{started.url}/info").json()
    assert (info["model_id"], info["model_sha"]) == ("maker/tiny", commit)
