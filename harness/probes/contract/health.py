"""Health and figures of the memory server, as supervisors and dashboards read them."""

import re

from harness import mcp
from harness.probes.contract.cases import BOTH, Chapter
from harness.probes.contract.scene import At
from harness.probes.contract.speaking import Broken, holds, json_of, same, status

CHAPTER = Chapter("memory")
STAGES = ("embed", "text", "vector", "fuse", "fetch")
_SAMPLE = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^}]*\})? [0-9eE+.\-]+(NaN|Inf)?$")


@CHAPTER.case("/health/live says that the process runs")
def _live(at: At) -> None:
    answer = status(at.memory.http.get(f"{at.memory.origin}/health/live"), 200)
    same("ok", json_of(answer).get("status"))


@CHAPTER.case("/health names database, schema and embedding service")
def _health(at: At) -> None:
    told = json_of(status(at.memory.http.get(f"{at.memory.origin}/health"), 200))
    same("ok", told.get("status"), "status")
    same("ok", told.get("database"), "database")
    same("ok", told.get("embedding"), "embedding")
    holds(told.get("schema"), "the schema's version", told, "schema")


@CHAPTER.case("/metrics is Prometheus text with a histogram of the stages of a search")
def _metrics(at: At) -> None:
    project = at.project()
    at.find(project, "a word")
    answer = status(at.memory.http.get(f"{at.memory.origin}/metrics"), 200)
    holds(
        answer.headers["content-type"].startswith("text/plain"),
        "content-type text/plain",
        answer.headers["content-type"],
    )
    lines = [line for line in answer.text.splitlines() if line and not line.startswith("#")]
    for line in lines:
        holds(_SAMPLE.match(line), "a Prometheus sample", line)
    staged = {found for line in lines for found in re.findall(r'_bucket\{.*stage="([^"]+)"', line)}
    for stage in ("embed", "text", "fuse"):
        holds(stage in staged, f"a histogram of stage {stage!r}", sorted(staged))


@CHAPTER.case("a search says in Server-Timing where its time went", eras=BOTH)
def _timing(at: At) -> None:
    project = at.project()
    at.add(project, "Pump", "the pump in the cellar")
    answer = at.memory.tool_answer("FindItems", {"queries": ["cellar pump"], "project": project})
    stages = mcp.stages_of(answer.headers.get("server-timing", ""))
    for stage in (*STAGES, "total"):
        if stage not in stages:
            raise Broken(f"a stage {stage!r}", answer.headers.get("server-timing", ""))
        holds(0 <= stages[stage] < 60_000, "milliseconds", stages)
    holds(stages["total"] >= stages["fetch"], "a total that holds its parts", stages)
