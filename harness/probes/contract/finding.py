"""FindItems: the failures seen in public that no memory server should show, and its promises."""

from typing import Any

import numpy as np

from harness.probes.contract.cases import BOTH, MODERN, Chapter
from harness.probes.contract.scene import At, note, titles
from harness.probes.contract.speaking import Speaker, holds, mentions, same, status

CHAPTER = Chapter("memory", eras=(MODERN,))
CLOSE = 2e-3
"""Two batches of a text may differ by rounding; stored vectors and ours come of two batches."""


@CHAPTER.case("a question finds the item that shares some of its words", BOTH)
def _question(at: At) -> None:
    project = at.project()
    at.add(project, "Deploys", "Workers crash after each deploy because of a stale socket")
    found = at.find(project, "why do workers crash right after a deploy", explain=True)
    same(["Deploys"], titles(found))
    holds(found["hits"][0]["parts"]["text"] > 0, "a text part above 0", found["hits"][0]["parts"])


@CHAPTER.case("an exact identifier comes first among 50 fluent distractors")
def _identifier(at: At) -> None:
    project = at.project()
    fluent = [
        note(f"Incident review {i}", f"An incident with number {i} was reviewed and closed well")
        for i in range(50)
    ]
    at.add_all(project, [*fluent, note("Closed", "INC-88213")])
    for query in ("INC-88213", "inc 88213", "what happened in INC-88213?"):
        same("Closed", titles(at.find(project, query))[0], query)


@CHAPTER.case("words inside identifiers, paths, unaccented and unspaced text are found")
def _pieces(at: At) -> None:
    project = at.project()
    wanted = {
        "迁移": note("数据库迁移计划", "下周开始"),
        "fooBar_baz": note("Setter", "call fooBar_baz before it"),
        "main.py": note("Entry", "it begins in src/app/main.py"),
        "1234": note("Fault", "the display showed ERR-1234"),
        "cafe": note("Lunch", "at the café on the corner"),
    }
    others = [note(f"o{i}", f"an ordinary matter of day {i}") for i in range(20)]
    at.add_all(project, [*others, *wanted.values()])
    for query, item in wanted.items():
        found = titles(at.find(project, query))[:3]
        holds(item["title"] in found, f"{item['title']} among the first 3", found, query)


@CHAPTER.case("a query of stop words, punctuation or an emoji answers by meaning and says so")
def _no_words(at: At) -> None:
    project = at.project()
    at.add(project, "Something", "to be found")
    for query in ("what is the", "?!", "🎉", "…"):
        found = at.find(project, query)
        same(["Something"], titles(found), query)
        mentions(" ".join(found["notes"]), "no usable words", about=query)


@CHAPTER.case("60 deleted items of 100 near-identical ones take no places of a search")
def _deleted(at: At) -> None:
    project = at.project()
    at.add_all(project, [note(f"n{i:03}", f"the pump in cellar {i} leaks oil") for i in range(100)])
    nearest = at.find(project, "pump leaks oil", limit=100)["hits"]
    same(100, len(nearest), "before")
    doomed = [hit["item"]["id"] for hit in nearest[:60]]
    for item in doomed:
        at.call("DeleteItem", id=item)
    found = [hit["item"]["id"] for hit in at.find(project, "pump leaks oil", limit=20)["hits"]]
    same(20, len(set(found)), "live items")
    same(set(), set(found) & set(doomed), "deleted items among the hits")


@CHAPTER.case("an edited item is found by its new text only", BOTH)
def _edited(at: At) -> None:
    project = at.project()
    item = at.add(project, "Colour", "the door is vermilion")
    at.call("UpdateItem", id=item["id"], content="the door is turquoise")
    new = at.find(project, "turquoise", explain=True)["hits"]
    holds(new and new[0]["parts"]["text"] > 0, "the new word to be found", new)
    mentions(new[0]["snippet"], "turquoise")
    for hit in at.find(project, "vermilion", explain=True)["hits"]:
        same(0, hit["parts"]["text"], "the old word's text part")


@CHAPTER.case("a fact after 3,000 words of filler is found, and shown")
def _long(at: At) -> None:
    project = at.project()
    filler = " ".join(f"paragraph {i} speaks about ordinary matters of days" for i in range(429))
    same(True, len(filler.split()) >= 3000, "words of filler")
    at.add(project, "Long", f"{filler} The vault code is kept by Ines.")
    at.add_all(project, [note(f"s{i}", filler[i : 900 + i]) for i in range(10)])
    found = at.find(project, "who has the code of the vault")
    same("Long", titles(found)[0])
    mentions(found["hits"][0]["snippet"], "Ines")


@CHAPTER.case("a perfect and a nonsense query score clearly apart, and nonsense finds nothing")
def _apart(at: At) -> None:
    project = at.project()
    at.add(project, "Boiler", "The boiler is serviced each October")
    good = at.find(project, "when is the boiler serviced", explain=True)
    nonsense = at.find(project, "quantum llama ballet tariffs", explain=True)
    best = good["hits"][0]["parts"]["similarity"]
    worst = max((hit["parts"]["similarity"] for hit in nonsense["hits"]), default=0.0)
    holds(best - worst > 0.3, "similarities more than 0.3 apart", [best, worst])
    same(False, good["nothingRelevant"], "the perfect query")
    same((True, []), (nonsense["nothingRelevant"], nonsense["hits"]), "the nonsense query")


@CHAPTER.case("an item comes once, by its best query and embedding", BOTH)
def _once(at: At) -> None:
    project = at.project()
    extra = [{"label": "slang", "text": "where is the brolly"}]
    at.add(project, "Umbrella stand", "Behind the coats", additionalEmbeddings=extra)
    found = at.find(project, "zebra crossing", "brolly")
    same(["Umbrella stand"], titles(found))
    hit = found["hits"][0]
    same((1, {"position": 1, "label": "slang"}), (hit["matchedQuery"], hit["matchedEmbedding"]))
    mentions(hit["snippet"], "brolly")


def _vectors(at: At, texts: list[str]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    size = int(at.scene.model["max_client_batch_size"])
    rows: list[list[float]] = []
    for start in range(0, len(texts), size):
        asked = {"inputs": texts[start : start + size]}
        rows += status(at.embedding.post("/embed", json=asked), 200).json()
    return np.array(rows, dtype=np.float64)


def _brute_force(at: At, project: str, query: str) -> dict[str, float]:
    """Each item's best cosine to a query, by id: listed, embedded and compared by ourselves."""
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = at.call("ListItems", project=project, limit=100, **cursor)
        ids += [item["id"] for item in page["items"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    owners, texts = [], []
    for start in range(0, len(ids), 100):
        for item in at.call("GetItems", ids=ids[start : start + 100])["items"]:
            for embedding in item["embeddings"]:
                owners.append(item["id"])
                texts.append(embedding["text"])
    cosines = _vectors(at, texts) @ _vectors(at, [query])[0]
    best: dict[str, float] = {}
    for owner, cosine in zip(owners, cosines.tolist(), strict=True):
        best[owner] = max(best.get(owner, -1.0), cosine)
    return best


def _two_projects(at: At) -> tuple[str, str]:
    """A project of 30 items beside one of 300 that are nearer to the query."""
    small, large = at.project(), at.project()
    for start in range(0, 300, 100):
        crowd = [note(f"L{i}", f"leaking pump number {i}") for i in range(start, start + 100)]
        at.add_all(large, crowd)
    things = ("valve", "hose", "boiler", "sink", "well", "tank", "pipe", "meter", "filter", "tap")
    kinds = [f"{things[i % 10]} of kind {i}, seen in cellar {i // 10}" for i in range(30)]
    extra = [{"label": "also", "text": "a pump that leaks a little"}]
    mine = [note(f"S{i}", kind) for i, kind in enumerate(kinds)]
    mine[7]["additionalEmbeddings"] = extra
    at.add_all(small, mine)
    return small, large


@CHAPTER.case("a small project beside a large one gets the same as brute force, by every vector")
def _exact(at: At) -> None:
    small, _ = _two_projects(at)
    by_hand = _brute_force(at, small, "leaking pump")
    hits = at.find(small, "leaking pump", limit=200, explain=True)["hits"]
    same(sorted(by_hand), sorted(hit["item"]["id"] for hit in hits), "all 30, each once")
    for hit in hits:
        told, wanted = hit["parts"]["similarity"], by_hand[hit["item"]["id"]]
        holds(abs(told - wanted) < CLOSE, f"similarity {wanted:.4f}", told, hit["item"]["title"])
    server = at.speak(at.variants.by_meaning().mcp_url)
    asked = {"queries": ["leaking pump"], "project": small, "limit": 10}
    ranked = [hit["item"]["id"] for hit in server.call("FindItems", **asked)["hits"]]
    order = [by_hand[one] for one in ranked]
    best = sorted(by_hand.values(), reverse=True)[:10]
    holds(
        all(abs(one - other) < CLOSE for one, other in zip(order, best, strict=True)),
        f"the 10 nearest by brute force: {[round(one, 4) for one in best]}",
        [round(one, 4) for one in order],
    )


@CHAPTER.case("filters are exact: five items among 300 nearer ones are all found")
def _filtered(at: At) -> None:
    project = at.project()
    for start in range(0, 300, 100):
        near = [note(f"n{i}", f"the pump leaks, case {i}") for i in range(start, start + 100)]
        at.add_all(project, near)
    for i in range(5):
        at.add(project, f"f{i}", f"a garden matter {i}", tags=["garden"], status="rare")
    own = {"task": "order a gasket", "priority": "low"}
    todo = {"category": "todo", "title": "Gasket", "content": "for a pump", **own}
    at.call("AddItem", project=project, **todo)
    wanted = [f"f{i}" for i in range(5)]
    for filters in (
        {"tags": ["garden"]},
        {"status": "rare"},
        {"status": ["rare"], "tags": ["garden"]},
    ):
        found = at.find(project, "the pump leaks in the garden", limit=200, **filters)
        same(wanted, sorted(titles(found)), str(filters))
    found = at.find(project, "the pump leaks", limit=200, category="todo")
    same(["Gasket"], titles(found), "category")


@CHAPTER.case("a filter value that matches nothing is named, a wrong category is refused", BOTH)
def _unmatched(at: At) -> None:
    project = at.project()
    at.add(project, "Red", "a red pump", tags=["garden"])
    at.add(project, "Blue", "a blue pump", status="done")

    def notes(**filters: Any) -> str:
        found = at.find(project, "pump", **filters)
        same([], found["hits"], str(filters))
        return " ".join(found["notes"])

    mentions(notes(tags=["gardn"]), "tag", "gardn")
    mentions(notes(status="dome"), "status", "dome")
    mentions(notes(category="todo"), "category", "todo")
    holds(notes(tags=["garden"], status="done"), "a note that no item has both", "")
    refused = at.memory.refusal("FindItems", queries=["x"], project=project, category="requirment")
    mentions(refused, "requirement", "location", "todo", "note")
    mentions(" ".join(at.find(at.project(), "pump")["notes"]), "no memory items")


@CHAPTER.case("exactly one of project and searchAllProjects is asked, one to four queries", BOTH)
def _inputs(at: At) -> None:
    project = at.project()
    here = {"project": project}
    for arguments, *said in (
        ({"queries": ["x"]}, "project", "searchAllProjects"),
        ({"queries": ["x"], "searchAllProjects": False}, "project", "searchAllProjects"),
        ({"queries": ["x"], "searchAllProjects": True, **here}, "project", "searchAllProjects"),
        ({"queries": [], **here}, "queries"),
        ({"queries": list("abcde"), **here}, "queries", "4"),
        ({"queries": [""], **here}, "queries", "empty"),
        ({"queries": ["x" * 10_001], **here}, "queries", "10000"),
        ({"queries": ["x"], "limit": 0, **here}, "limit"),
        ({"queries": ["x"], "limit": 201, **here}, "limit", "200"),
        ({"queries": ["x"], "minScore": 1.5, **here}, "minScore"),
        ({"queries": ["x"], "maxContentChars": -1, **here}, "maxContentChars"),
    ):
        mentions(at.memory.refusal_of("FindItems", arguments), *said, about=str(arguments)[:80])


@CHAPTER.case("a search of all projects finds what lies in several, and names each item's project")
def _everywhere(at: At) -> None:
    word = at.project().replace("-", "")
    projects = sorted(at.project() for _ in range(2))
    for project in projects:
        at.add(project, "Spread", f"the word {word} stands here")
    found = at.call("FindItems", queries=[word], searchAllProjects=True, limit=10)
    same(projects, sorted(hit["item"]["project"] for hit in found["hits"][:2]))


@CHAPTER.case("operators are obeyed only when a whole query uses them deliberately")
def _operators(at: At) -> None:
    project = at.project()
    at.add(project, "Staging", "deploy to staging by hand")
    at.add(project, "Prod", "deploy to production; rollback -f prod")

    def find(query: str) -> list[str]:
        return titles(at.find(project, query))

    same(["Prod"], find("deploy -staging"), "a minus")
    same("Prod", find("rollback -f prod")[0], "a flag")
    same(["Staging"], find('"staging by hand"'), "a phrase")
    both = find('somebody said "deploy" needs care -today okay')
    same({"Staging", "Prod"}, set(both), "a sentence with a flag and a quote in it")


@CHAPTER.case("queries full of other languages' syntax are words like any other")
def _syntax(at: At) -> None:
    project = at.project()
    at.add(project, "Pump", "the pump in the cellar")
    for query in (
        "pump & | ! ( ) : * <->",
        "pump' OR '1'='1",
        "%pump_",
        "pump:*",
        "((((pump",
        '"pump',
        "\\pump\\",
        "pump -",
        "--pump",
        '""',
        "-",
        "pump " * 1_000,
    ):
        found = at.find(project, query)
        holds(len(found["hits"]) <= 1, "an answer", found, query[:40])


@CHAPTER.case("content is cut with a mark and its full length, and only then", BOTH)
def _cut(at: At) -> None:
    project = at.project()
    at.add(project, "Long", "pump " * 1000)
    at.add(project, "Short", "a pump")
    hits = at.find(project, "pump", maxContentChars=20)["hits"]
    contents = {hit["item"]["title"]: hit["item"]["content"] for hit in hits}
    same("a pump", contents["Short"])
    holds(contents["Long"].startswith("pump pump pump pump "), "its beginning", contents["Long"])
    mentions(contents["Long"], "20", "5000", about="the mark")
    holds(len(contents["Long"]) < 100, "a cut content", contents["Long"])
    by_default = at.find(project, "pump")["hits"]
    lengths = {hit["item"]["title"]: len(hit["item"]["content"]) for hit in by_default}
    holds(2000 <= lengths["Long"] < 2100, "2,000 characters and a mark", lengths)


@CHAPTER.case("hits below minScore are counted, not called irrelevant")
def _hidden(at: At) -> None:
    project = at.project()
    at.add(project, "Pump", "pump pump pump")
    at.add(project, "Other", "a garden hose, and once a pump")
    found = at.find(project, "pump", minScore=0.999)
    same(([], 2, False), (found["hits"], found["hiddenByMinScore"], found["nothingRelevant"]))


@CHAPTER.case("words that were ignored are named")
def _ignored(at: At) -> None:
    project = at.project()
    at.add(project, "Pump", "the pump")
    same(["the"], at.find(project, "the pump")["ignoredWords"])


@CHAPTER.case("scores lie in 0 to 1, best first, and are explained when asked")
def _scores(at: At) -> None:
    project = at.project()
    at.add_all(project, [note(f"n{i}", f"pump {i} of the cellar {'pump ' * i}") for i in range(10)])
    plain = at.find(project, "pump in the cellar", "leak")["hits"]
    scores = [hit["score"] for hit in plain]
    same(sorted(scores, reverse=True), scores, "best first")
    holds(all(0 <= score <= 1 for score in scores), "0 to 1", scores)
    holds(not any(hit.get("parts") for hit in plain), "no parts unasked", plain[0])
    for hit in at.find(project, "pump in the cellar", explain=True)["hits"]:
        parts = hit["parts"]
        same({"similarity", "text", "fused"}, set(parts))
        holds(0 <= parts["text"] <= 1 and -1 <= parts["similarity"] <= 1, "parts in range", parts)


@CHAPTER.case("equal scores: the newest first, and the same answer every time")
def _ties(at: At) -> None:
    project = at.project()
    for _ in range(6):
        at.add(project, "Twin", "exactly the same words")
    first = at.find(project, "same words")["hits"]
    updated = [hit["item"]["updatedAt"] for hit in first]
    same(1, len({hit["score"] for hit in first}), "one score")
    same(sorted(updated, reverse=True), updated, "newest first")
    for _ in range(3):
        same(first, at.find(project, "same words")["hits"], "asked again")


@CHAPTER.case("what is added is found at once, by every client")
def _at_once(at: At) -> None:
    project = at.project()
    for number in range(5):
        at.add(project, f"n{number}", f"thing{number} is here")
        same([f"n{number}"], titles(at.find(project, f"thing{number}"))[:1])


@CHAPTER.case("a second replica gives the same hits, scores and order")
def _replica(at: At) -> None:
    project = at.project()
    at.add_all(project, [note(f"n{i}", f"pump {i} and valve {i % 7}") for i in range(60)])
    other: Speaker = at.speak(at.variants.replica().mcp_url)
    for queries in (["valve of the pump", "pump 7"], ["leak"], ["valve 3"]):
        asked = {"queries": queries, "project": project, "limit": 50, "explain": True}
        same(at.memory.call("FindItems", **asked), other.call("FindItems", **asked), str(queries))
