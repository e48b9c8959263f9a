"""Every metric by name: what a probe may emit and a gate may name; nothing is measured here."""

import difflib
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's unit, which direction is better, and what it means."""

    unit: str
    better: Better
    meaning: str


_RANKING = {
    "relevance.ndcg@10": "nDCG at 10, linear gain, ideal over all judged items",
    "relevance.recall@10": "share of the relevant items among the first 10 hits",
    "relevance.recall@100": "share of the relevant items among the first 100 hits",
    "relevance.rr@10": "1 / place of the first relevant item among the first 10 hits",
}

METRICS: dict[str, Metric] = {
    **{name: Metric("score", "higher", meaning) for name, meaning in _RANKING.items()},
    "relevance.queries": Metric("queries", "higher", "judged queries that were asked"),
    "relevance.query-errors": Metric(
        "queries", "lower", "queries that failed, were degraded or answered with unknown items"
    ),
    "relevance.lost-queries": Metric(
        "queries", "lower", "queries without one hit that had hits in the baseline"
    ),
    "relevance.unstable": Metric(
        "score", "lower", "largest difference of a metric between the same run made twice"
    ),
    "relevance.unstable-queries": Metric(
        "queries", "lower", "queries whose order of hits differed when asked again"
    ),
    "relevance.nothing-found": Metric(
        "share", "higher", "queries without an answer that were told 'nothing relevant'"
    ),
    "relevance.nothing-false": Metric(
        "share", "lower", "judged queries that were told 'nothing relevant' although there is"
    ),
    "relevance.nothing-separation": Metric(
        "share",
        "higher",
        "how often a query with an answer has a higher first score than one without, ties half",
    ),
    "relevance.score-separation": Metric(
        "share",
        "higher",
        "how often a first hit that is relevant has a higher score than one that is not",
    ),
    "relevance.ann-recall@10": Metric(
        "share", "higher", "share of the 10 nearest items that a search of the index finds too"
    ),
    "relevance.judged@10": Metric(
        "share", "higher", "share of the first 10 hits that somebody judged"
    ),
    "relevance.empty": Metric("share", "lower", "judged queries without one hit"),
    "relevance.slice.ndcg@10": Metric("score", "higher", "nDCG at 10 of a part of the queries"),
    "relevance.slice.recall@100": Metric(
        "score", "higher", "recall at 100 of a part of the queries"
    ),
    "relevance.leaks": Metric(
        "queries", "lower", "queries of four words and more standing verbatim in the corpus"
    ),
    "relevance.cache-hits": Metric("texts", "neither", "embeddings answered from the cache"),
    "relevance.cache-misses": Metric("texts", "neither", "embeddings the service computed"),
    "contract.cases": Metric("cases", "higher", "contract cases that ran"),
    "contract.failures": Metric("cases", "lower", "contract cases that failed or crashed"),
    "contract.skipped": Metric("cases", "lower", "contract cases that did not run, with a reason"),
    "load.searches": Metric("searches", "higher", "timed calls, warm-up left out"),
    "load.errors": Metric("searches", "lower", "timed calls that failed or were degraded"),
    "load.error-rate": Metric("share", "lower", "failed or degraded among the timed calls"),
    "load.dropped": Metric("searches", "lower", "arrivals not sent because the pool was full"),
    "load.achieved": Metric("ratio", "higher", "calls finished per second over those asked"),
    "load.throughput": Metric("1/s", "higher", "calls finished per second"),
    "load.client-cpu": Metric("cores", "lower", "mean CPU the load client itself used"),
    "load.ceiling": Metric("1/s", "higher", "calls a second the load client can make by itself"),
    "load.invalid": Metric("reasons", "lower", "reasons for which the load run counts for nothing"),
    "load.workload.p50": Metric("ms", "lower", "median response time of one workload of a mix"),
    "load.workload.p95": Metric("ms", "lower", "95th percentile of one workload's response time"),
    "load.phase.p50": Metric("ms", "lower", "median response time in one phase of an open run"),
    "load.phase.p95": Metric("ms", "lower", "95th percentile of the response time in one phase"),
    "load.recovery": Metric(
        "s",
        "lower",
        "from the end of the busiest phase until calls are as fast as in the first",
    ),
    "load.drift": Metric(
        "ratio", "lower", "median response time in the last fifth of a run over that in the first"
    ),
    "load.over-floor": Metric(
        "ratio",
        "lower",
        "median of a search over that of the fastest bare SQL form and the embedding call alone",
    ),
    "load.floor": Metric("ms", "neither", "what a search cannot go below: bare SQL and embedding"),
    "load.find": Metric("ms", "lower", "median of the searches measured beside the floor"),
    "load.knee": Metric("1/s", "higher", "the highest rate that was served whole"),
    "load.headroom": Metric("ratio", "higher", "the knee over the rate the ramp starts from"),
    "load.stage.mean": Metric("ms", "lower", "mean time that one stage of a call ran"),
    "load.stage.waited": Metric(
        "ms", "lower", "mean time a call waited for the stage; what runs beside a longer one is 0"
    ),
    "load.stage.p50": Metric("ms", "lower", "median of the time that one stage ran"),
    "load.stage.p95": Metric("ms", "lower", "95th percentile of the time that one stage ran"),
    "load.sql.mean": Metric("ms", "lower", "time in Postgres' executor for one call"),
    "load.sql.statements": Metric("statements", "lower", "statements run for one call"),
    "load.sql.share": Metric("share", "neither", "time in Postgres' executor over service time"),
    "load.plans": Metric("plans", "neither", "plans that the statements of a run had"),
    "load.plan-flips": Metric("statements", "lower", "statements that had two plans in one run"),
    "load.resource.cpu": Metric("cores", "lower", "mean CPU one service used"),
    "load.resource.cpu-max": Metric("cores", "lower", "most CPU one service used in a second"),
    "load.resource.rss": Metric("MiB", "lower", "most memory of one service, shared pages once"),
    "resilience.faults": Metric("faults", "higher", "faults that were inflicted under load"),
    "resilience.failures": Metric(
        "faults", "lower", "faults after which something was not as it must be"
    ),
    "resilience.skipped": Metric("faults", "lower", "faults left out, with a reason"),
    "resilience.writes": Metric("writes", "higher", "calls that write and were acknowledged"),
    "resilience.lost-writes": Metric(
        "writes", "lower", "items that are not there or are not as it was acknowledged"
    ),
    "resilience.unreported": Metric(
        "calls", "lower", "calls that failed and looked like success, or never ended"
    ),
    "resilience.recovery": Metric(
        "s", "lower", "from a fault's end until all is whole without a hand; the longest of all"
    ),
    "resilience.strays": Metric("processes", "lower", "processes that outlived their stack"),
    **{
        f"load.{series}.{name}": Metric("ms", "lower", f"{name} of {meaning}")
        for series, meaning in {
            "response": "the time from the intended moment to the answer",
            "service": "the time from sending to the answer",
            "lag": "the time from the intended moment to sending",
        }.items()
        for name in ("p50", "p90", "p95", "p99", "p99.9", "max", "mean")
    },
}


def nearest(name: str, count: int = 3) -> list[str]:
    """The known metric names closest to a name that is not known."""
    return difflib.get_close_matches(name, METRICS, n=count, cutoff=0.4)
