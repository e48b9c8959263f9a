-- name: one_statement_exact
-- Words and every vector of the scope in one statement; the scope's counts read beside.
WITH scope AS MATERIALIZED (
    SELECT array_agg(number) AS numbers, sum(live_items)::float8 AS items,
        (sum(live_words) / greatest(sum(live_items), 1))::float8 AS mean
    FROM projects WHERE %(slug)s::text IS NULL OR slug = %(slug)s
), asked AS MATERIALIZED (
    SELECT q.number AS query, w.lexeme AS term
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS q (text, number),
        unnest(to_tsvector('english', q.text)) AS w
), postings AS MATERIALIZED (
    SELECT t.term, t.item_number, t.frequency, t.length
    FROM scope, (SELECT DISTINCT term FROM asked) AS a
    JOIN memory_item_terms AS t USING (term) WHERE t.project_number = ANY(scope.numbers)
), weighed AS (
    SELECT a.query, a.term, ln(1 + (scope.items - coalesce(n.n, 0) + 0.5) / (coalesce(n.n, 0) + 0.5)) AS weight
    FROM scope, asked AS a LEFT JOIN (SELECT term, count(*) AS n FROM postings GROUP BY term) AS n USING (term)
), words AS (
    SELECT item_number, max(score / most) AS part FROM (
        SELECT w.query, p.item_number, sum(w.weight * p.frequency * 2.2
            / (p.frequency + 1.2 * (0.25 + 0.75 * p.length / scope.mean))) AS score
        FROM scope, postings AS p JOIN weighed AS w USING (term) GROUP BY w.query, p.item_number
    ) AS s JOIN (SELECT query, sum(weight) * 2.2 AS most FROM weighed GROUP BY query) AS m USING (query)
    GROUP BY item_number
), meaning AS (
    SELECT item_number, max(greatest(-(embedding <#> %(v1)s::vector(384)), -(embedding <#> %(v2)s::vector(384)),
        -(embedding <#> %(v3)s::vector(384)), -(embedding <#> %(v4)s::vector(384)))) AS similarity
    FROM scope, memory_item_embeddings WHERE live AND project_number = ANY(scope.numbers) GROUP BY item_number
), best AS (
    SELECT m.item_number, 0.4 * greatest(m.similarity, 0) + 0.6 * coalesce(w.part, 0) AS score
    FROM meaning AS m LEFT JOIN words AS w USING (item_number)
    ORDER BY score DESC LIMIT 10
)
SELECT i.id, i.title, left(i.content, 2000), i.tags, i.status, i.version, i.created_at, i.updated_at, b.score
FROM best AS b JOIN memory_items AS i ON i.number = b.item_number ORDER BY b.score DESC

-- name: one_statement_indexed
-- As above, but near vectors by the HNSW index; words of their items scored by postings.
WITH scope AS MATERIALIZED (
    SELECT array_agg(number) AS numbers, sum(live_items)::float8 AS items,
        (sum(live_words) / greatest(sum(live_items), 1))::float8 AS mean
    FROM projects WHERE %(slug)s::text IS NULL OR slug = %(slug)s
), asked AS MATERIALIZED (
    SELECT q.number AS query, w.lexeme AS term
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS q (text, number),
        unnest(to_tsvector('english', q.text)) AS w
), postings AS MATERIALIZED (
    SELECT t.term, t.item_number, t.frequency, t.length
    FROM scope, (SELECT DISTINCT term FROM asked) AS a
    JOIN memory_item_terms AS t USING (term) WHERE t.project_number = ANY(scope.numbers)
), weighed AS (
    SELECT a.query, a.term, ln(1 + (scope.items - coalesce(n.n, 0) + 0.5) / (coalesce(n.n, 0) + 0.5)) AS weight
    FROM scope, asked AS a LEFT JOIN (SELECT term, count(*) AS n FROM postings GROUP BY term) AS n USING (term)
), words AS MATERIALIZED (
    SELECT item_number, max(score / most) AS part FROM (
        SELECT w.query, p.item_number, sum(w.weight * p.frequency * 2.2
            / (p.frequency + 1.2 * (0.25 + 0.75 * p.length / scope.mean))) AS score
        FROM scope, postings AS p JOIN weighed AS w USING (term) GROUP BY w.query, p.item_number
    ) AS s JOIN (SELECT query, sum(weight) * 2.2 AS most FROM weighed GROUP BY query) AS m USING (query)
    GROUP BY item_number
), near AS MATERIALIZED (
    (SELECT item_number FROM memory_item_embeddings WHERE live AND (%(slug)s::text IS NULL OR project_number = %(number)s)
     ORDER BY embedding::halfvec(384) <#> %(v1)s::vector(384)::halfvec(384) LIMIT 100)
    UNION ALL
    (SELECT item_number FROM memory_item_embeddings WHERE live AND (%(slug)s::text IS NULL OR project_number = %(number)s)
     ORDER BY embedding::halfvec(384) <#> %(v2)s::vector(384)::halfvec(384) LIMIT %(more)s)
    UNION ALL
    (SELECT item_number FROM memory_item_embeddings WHERE live AND (%(slug)s::text IS NULL OR project_number = %(number)s)
     ORDER BY embedding::halfvec(384) <#> %(v3)s::vector(384)::halfvec(384) LIMIT %(more)s)
    UNION ALL
    (SELECT item_number FROM memory_item_embeddings WHERE live AND (%(slug)s::text IS NULL OR project_number = %(number)s)
     ORDER BY embedding::halfvec(384) <#> %(v4)s::vector(384)::halfvec(384) LIMIT %(more)s)
    UNION ALL
    (SELECT item_number FROM words ORDER BY part DESC LIMIT 100)
), meaning AS (
    SELECT item_number, max(greatest(-(embedding <#> %(v1)s::vector(384)), -(embedding <#> %(v2)s::vector(384)),
        -(embedding <#> %(v3)s::vector(384)), -(embedding <#> %(v4)s::vector(384)))) AS similarity
    FROM memory_item_embeddings WHERE live AND item_number = ANY(ARRAY(SELECT item_number FROM near)) GROUP BY item_number
), best AS (
    SELECT m.item_number, 0.4 * greatest(m.similarity, 0) + 0.6 * coalesce(w.part, 0) AS score
    FROM meaning AS m LEFT JOIN words AS w USING (item_number)
    ORDER BY score DESC LIMIT 10
)
SELECT i.id, i.title, left(i.content, 2000), i.tags, i.status, i.version, i.created_at, i.updated_at, b.score
FROM best AS b JOIN memory_items AS i ON i.number = b.item_number ORDER BY b.score DESC

-- name: postings_first_exact
-- Terms by nested loop over the postings index, vectors of the scope, no materialised steps.
WITH scope AS MATERIALIZED (
    SELECT array_agg(number) AS numbers, sum(live_items)::float8 AS items,
        (sum(live_words) / greatest(sum(live_items), 1))::float8 AS mean
    FROM projects WHERE %(slug)s::text IS NULL OR slug = %(slug)s
), asked AS MATERIALIZED (
    SELECT q.number AS query, w.lexeme AS term,
        (SELECT count(*) FROM memory_item_terms AS t WHERE t.term = w.lexeme AND t.project_number = ANY(scope.numbers)) AS n
    FROM scope, unnest(%(texts)s::text[]) WITH ORDINALITY AS q (text, number),
        unnest(to_tsvector('english', q.text)) AS w
), weighed AS MATERIALIZED (
    SELECT query, term, ln(1 + (scope.items - n + 0.5) / (n + 0.5)) AS weight,
        2.2 * sum(ln(1 + (scope.items - n + 0.5) / (n + 0.5))) OVER (PARTITION BY query) AS most
    FROM asked, scope
), words AS (
    SELECT item_number, max(part) AS part FROM (
        SELECT w.query, t.item_number, sum(w.weight * t.frequency * 2.2
            / (t.frequency + 1.2 * (0.25 + 0.75 * t.length / scope.mean)) / w.most) AS part
        FROM scope, weighed AS w JOIN memory_item_terms AS t ON t.term = w.term AND t.project_number = ANY((SELECT numbers FROM scope)::int[])
        GROUP BY w.query, t.item_number
    ) AS s GROUP BY item_number
), meaning AS (
    SELECT item_number, max(greatest(-(embedding <#> %(v1)s::vector(384)), -(embedding <#> %(v2)s::vector(384)),
        -(embedding <#> %(v3)s::vector(384)), -(embedding <#> %(v4)s::vector(384)))) AS similarity
    FROM memory_item_embeddings WHERE live AND project_number = ANY((SELECT numbers FROM scope)::int[]) GROUP BY item_number
), best AS (
    SELECT m.item_number, 0.4 * greatest(m.similarity, 0) + 0.6 * coalesce(w.part, 0) AS score
    FROM meaning AS m LEFT JOIN words AS w USING (item_number)
    ORDER BY score DESC LIMIT 10
)
SELECT i.id, i.title, left(i.content, 2000), i.tags, i.status, i.version, i.created_at, i.updated_at, b.score
FROM best AS b JOIN memory_items AS i ON i.number = b.item_number ORDER BY b.score DESC
