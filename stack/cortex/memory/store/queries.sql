-- name: list_projects
SELECT number, id, name, slug, created_at, updated_at
FROM projects
WHERE (%(after)s::text IS NULL OR slug > %(after)s)
  AND (%(allowed)s::text[] IS NULL OR slug = ANY(%(allowed)s))
ORDER BY slug
LIMIT %(limit)s

-- name: find_project
SELECT number, id, name, slug, created_at, updated_at
FROM projects
WHERE slug = %(slug)s OR id = %(id)s
ORDER BY slug = %(slug)s DESC
LIMIT 1

-- name: add_project
INSERT INTO projects (id, name, slug, created_at, updated_at)
VALUES (%(id)s, %(name)s, %(slug)s, %(now)s, %(now)s)
ON CONFLICT (slug) DO NOTHING
RETURNING number, id, name, slug, created_at, updated_at

-- name: update_project
UPDATE projects
SET name = coalesce(%(name)s, name), slug = coalesce(%(slug)s, slug), updated_at = %(now)s
WHERE id = %(id)s
RETURNING number, id, name, slug, created_at, updated_at

-- name: count_project
UPDATE projects
SET live_items = live_items + %(items)s,
    live_words = greatest(0, live_words + %(words)s),
    live_vectors = live_vectors + %(vectors)s
WHERE number = %(project_number)s

-- name: active_model
SELECT number, model_id, revision, pooling FROM embedding_models WHERE active

-- name: add_model
INSERT INTO embedding_models (model_id, revision, pooling, active)
VALUES (%(model_id)s, %(revision)s, %(pooling)s, true)
ON CONFLICT DO NOTHING

-- name: next_numbers
SELECT nextval(pg_get_serial_sequence('memory_items', 'number'))::int AS number
FROM generate_series(1, %(count)s)

-- name: add_item
INSERT INTO memory_items (
    number, id, project_id, project_number, category, title, content, tags, status,
    created_at, updated_at, language, field_words, extra_words
)
OVERRIDING SYSTEM VALUE
VALUES (
    %(number)s, %(id)s, %(project_id)s, %(project_number)s, %(category)s, %(title)s, %(content)s, %(tags)s,
    %(status)s, %(now)s, %(now)s, %(language)s::regconfig, %(field_words)s, %(extra_words)s
)

-- name: add_requirement_fields
INSERT INTO requirement_memory_items (memory_item_id, statement, context)
VALUES (%(id)s, %(statement)s, %(context)s)
ON CONFLICT (memory_item_id) DO UPDATE
SET statement = excluded.statement, context = excluded.context

-- name: add_location_fields
INSERT INTO location_memory_items (memory_item_id, item_name, place)
VALUES (%(id)s, %(item_name)s, %(place)s)
ON CONFLICT (memory_item_id) DO UPDATE
SET item_name = excluded.item_name, place = excluded.place

-- name: add_todo_fields
INSERT INTO todo_memory_items (memory_item_id, task, priority)
VALUES (%(id)s, %(task)s, %(priority)s)
ON CONFLICT (memory_item_id) DO UPDATE
SET task = excluded.task, priority = excluded.priority

-- name: add_note_fields
INSERT INTO note_memory_items (memory_item_id, subject, body)
VALUES (%(id)s, %(subject)s, %(body)s)
ON CONFLICT (memory_item_id) DO UPDATE
SET subject = excluded.subject, body = excluded.body

-- name: add_vector
INSERT INTO memory_item_embeddings (
    id, memory_item_id, item_number, project_number, position, "window", live, embedding_model,
    start_offset, end_offset, label, text, embedding, created_at, updated_at
)
VALUES (
    %(embedding_id)s, %(id)s, %(item_number)s, %(project_number)s, %(position)s, %(window)s, true,
    %(model)s, %(start)s, %(end)s, %(label)s, %(text)s, %(vector)s, %(created_at)s, %(now)s
)

-- name: remove_vectors
DELETE FROM memory_item_embeddings
WHERE item_number = %(item_number)s AND position = %(position)s

-- name: close_gap
UPDATE memory_item_embeddings
SET position = position - 1, updated_at = %(now)s
WHERE item_number = %(item_number)s AND position = %(position)s

-- name: relabel
UPDATE memory_item_embeddings SET label = %(label)s, updated_at = %(now)s
WHERE item_number = %(item_number)s AND position = %(position)s

-- name: add_postings
-- A title counts twice, a category's own fields half; the items' lengths are counted the same way.
WITH weighed AS (
    SELECT m.project_number, m.number, w.lexeme,
        (SELECT sum(CASE weight WHEN 'A' THEN 2.0 WHEN 'D' THEN 0.5 ELSE 1.0 END)
         FROM unnest(w.weights) AS weight)::real AS frequency
    FROM memory_items AS m CROSS JOIN LATERAL unnest(m.search_vector) AS w
    WHERE m.number = ANY(%(item_numbers)s)
), measured AS (
    SELECT project_number, number, lexeme, frequency,
        sum(frequency) OVER (PARTITION BY number) AS length
    FROM weighed
), added AS (
    INSERT INTO memory_item_terms (term, project_number, item_number, frequency, length)
    SELECT lexeme, project_number, number, frequency, length FROM measured
    RETURNING frequency
)
SELECT coalesce(sum(frequency), 0)::float8 AS words FROM added

-- name: remove_postings
WITH removed AS (
    DELETE FROM memory_item_terms AS t
    USING memory_items AS m, unnest(tsvector_to_array(m.search_vector)) AS w (lexeme)
    WHERE m.number = %(item_number)s AND t.term = w.lexeme
      AND t.project_number = m.project_number AND t.item_number = m.number
    RETURNING t.frequency
)
SELECT coalesce(sum(frequency), 0)::float8 AS words FROM removed

-- name: lock_item
SELECT number, project_number, version, status, deleted_at FROM memory_items
WHERE id = %(id)s FOR UPDATE

-- name: change_item
UPDATE memory_items
SET title = %(title)s, content = %(content)s, tags = %(tags)s, updated_at = %(now)s,
    version = version + 1, field_words = %(field_words)s, extra_words = %(extra_words)s
WHERE id = %(id)s

-- name: touch_item
UPDATE memory_items SET updated_at = %(now)s, version = version + 1 WHERE id = %(id)s

-- name: set_status
UPDATE memory_items SET status = %(status)s, updated_at = %(now)s, version = version + 1
WHERE id = %(id)s

-- name: delete_item
UPDATE memory_items
SET status_before_deletion = status, status = 'deleted', deleted_at = %(now)s,
    updated_at = %(now)s, version = version + 1
WHERE id = %(id)s

-- name: restore_item
UPDATE memory_items
SET status = status_before_deletion, status_before_deletion = NULL, deleted_at = NULL,
    updated_at = %(now)s, version = version + 1
WHERE id = %(id)s

-- name: set_live
WITH changed AS (
    UPDATE memory_item_embeddings SET live = %(live)s
    WHERE item_number = %(item_number)s RETURNING 1
)
SELECT count(*) AS vectors FROM changed

-- name: count_vectors
SELECT count(*) AS vectors FROM memory_item_embeddings WHERE item_number = %(item_number)s

-- name: get_items
SELECT m.number, m.id, m.project_id, m.project_number, p.slug AS project, m.category, m.title,
    m.content, m.tags, m.status, m.version, m.created_at, m.updated_at, m.deleted_at,
    coalesce(to_jsonb(r), to_jsonb(l), to_jsonb(t), to_jsonb(n)) AS fields
FROM memory_items AS m
JOIN projects AS p ON p.number = m.project_number
LEFT JOIN requirement_memory_items AS r ON r.memory_item_id = m.id
LEFT JOIN location_memory_items AS l ON l.memory_item_id = m.id
LEFT JOIN todo_memory_items AS t ON t.memory_item_id = m.id
LEFT JOIN note_memory_items AS n ON n.memory_item_id = m.id
WHERE m.id = ANY(%(ids)s) AND (%(allowed)s::text[] IS NULL OR p.slug = ANY(%(allowed)s))
ORDER BY m.id

-- name: list_embeddings
SELECT memory_item_id, position, label, text FROM memory_item_embeddings
WHERE memory_item_id = ANY(%(ids)s) AND "window" = 0
ORDER BY memory_item_id, position

-- name: list_items
SELECT m.id, m.created_at
FROM memory_items AS m
WHERE m.project_number = %(project_number)s
  AND (%(include_deleted)s OR m.deleted_at IS NULL)
  AND (cardinality(%(categories)s::text[]) = 0 OR m.category = ANY(%(categories)s))
  AND (cardinality(%(statuses)s::text[]) = 0 OR m.status = ANY(%(statuses)s))
  AND (cardinality(%(tags)s::text[]) = 0
       OR (NOT %(any_tag)s AND m.tags @> %(tags)s) OR (%(any_tag)s AND m.tags && %(tags)s))
  AND (%(created_from)s::timestamptz IS NULL OR m.created_at >= %(created_from)s)
  AND (%(created_before)s::timestamptz IS NULL OR m.created_at < %(created_before)s)
  AND (%(updated_from)s::timestamptz IS NULL OR m.updated_at >= %(updated_from)s)
  AND (%(updated_before)s::timestamptz IS NULL OR m.updated_at < %(updated_before)s)
  AND (%(after_id)s::uuid IS NULL OR (m.created_at, m.id) > (%(after_time)s, %(after_id)s))
ORDER BY m.created_at, m.id
LIMIT %(limit)s

-- part: narrowed
-- After a WHERE: what a filter leaves, asked row by row. A scalar subquery, so that it is never
-- turned into a join, which would keep the scan from giving rows in order.
  AND (SELECT m.deleted_at IS NULL
  {conditions}
  FROM memory_items AS m WHERE m.number = item_number)

-- part: listed
-- Instead of a scope: the items a filter leaves, each by the key; a scan of the scope would look at
-- every vector (374 of 80,000 items: 4 against 211 ms).
item_number = ANY(%(items)s::int[])

-- part: tagged
-- Plain, so that the index on tags serves: in the conditions below it cannot.
  AND m.tags @> %(tags)s

-- part: phrased
  AND m.search_vector @@ %(required)s::tsquery

-- part: conditions
  AND (cardinality(%(categories)s::text[]) = 0 OR m.category = ANY(%(categories)s))
  AND (cardinality(%(statuses)s::text[]) = 0 OR m.status = ANY(%(statuses)s))
  AND (cardinality(%(tags)s::text[]) = 0
       OR (NOT %(any_tag)s AND m.tags @> %(tags)s) OR (%(any_tag)s AND m.tags && %(tags)s))
  AND (%(required)s = '' OR m.search_vector @@ %(required)s::tsquery)
  AND (%(excluded)s = '' OR NOT m.search_vector @@ %(excluded)s::tsquery)

-- name: filtered_items
SELECT coalesce(array_agg(number), '{}') AS numbers
FROM (
    SELECT m.number FROM memory_items AS m
    WHERE m.project_number = ANY(%(projects)s) AND m.deleted_at IS NULL
{tagged?}
{phrased?}
    {conditions}
    LIMIT %(most)s
) AS m

-- name: phrase_queries
SELECT coalesce((
    SELECT string_agg(q.phrase::text, ' & ')
    FROM (SELECT phraseto_tsquery(%(language)s::regconfig, p) AS phrase
          FROM unnest(%(required)s::text[]) AS p) AS q WHERE numnode(q.phrase) > 0), '') AS required,
  coalesce((
    SELECT string_agg(q.phrase::text, ' | ')
    FROM (SELECT phraseto_tsquery(%(language)s::regconfig, p) AS phrase
          FROM unnest(%(excluded)s::text[]) AS p) AS q WHERE numnode(q.phrase) > 0), '') AS excluded

-- name: filter_values_seen
SELECT
  coalesce(array_agg(DISTINCT m.category) FILTER (WHERE m.category = ANY(%(categories)s)), '{}') AS categories,
  coalesce(array_agg(DISTINCT m.status) FILTER (WHERE m.status = ANY(%(statuses)s)), '{}') AS statuses,
  ARRAY(SELECT w FROM unnest(%(tags)s::text[]) AS w WHERE EXISTS (
      SELECT 1 FROM memory_items AS i
      WHERE i.project_number = ANY(%(projects)s) AND i.deleted_at IS NULL AND i.tags @> ARRAY[w])) AS tags
FROM memory_items AS m
WHERE m.project_number = ANY(%(projects)s) AND m.deleted_at IS NULL

-- name: find_by_words
-- BM25 (k1 1.2, b .75) over postings. The rarest terms lead, as many as stay within the most
-- postings; a term too common to lead only adds to the score of items that others brought.
WITH scope AS MATERIALIZED (
    SELECT coalesce(array_agg(number), '{}') AS projects,
        coalesce(sum(live_items), 0)::float8 AS live_items,
        coalesce(sum(live_vectors), 0)::int AS live_vectors,
        (SELECT coalesce(sum(live_vectors), 0) FROM projects)::int AS all_vectors,
        greatest(coalesce(sum(live_words) / nullif(sum(live_items), 0), 0), 1)::float8 AS mean_length
    FROM projects
    WHERE (%(every)s OR slug = %(slug)s OR id = %(project_id)s)
      AND (%(allowed)s::text[] IS NULL OR slug = ANY(%(allowed)s))
), asked AS MATERIALIZED (
    SELECT q.number::int AS query, w.lexeme AS term
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS q (text, number)
    CROSS JOIN LATERAL unnest(to_tsvector(%(language)s::regconfig, q.text)) AS w
), counted AS MATERIALIZED (
    SELECT a.term, (
        SELECT count(*) FROM memory_item_terms AS t
        WHERE t.term = a.term AND t.project_number = ANY((SELECT projects FROM scope)::int[])
    ) AS items
    FROM (SELECT DISTINCT term FROM asked) AS a
), weighed AS MATERIALIZED (
    SELECT a.query, c.term, c.weight, c.weight * 2.2 AS most, c.flat, c.slope, c.leads
    FROM asked AS a JOIN (
        SELECT term, ln(1 + (scope.live_items - items + 0.5) / (items + 0.5))::float8 AS weight,
            0.3::float8 AS flat, 0.9 / scope.mean_length AS slope,
            sum(items) OVER (ORDER BY items, term) <= %(most_postings)s
                OR row_number() OVER (PARTITION BY items > 0 ORDER BY items, term) = 1 AS leads
        FROM counted, scope
    ) AS c USING (term)
), foremost AS MATERIALIZED (
    SELECT w.query, t.item_number, min(t.project_number) AS project_number,
        sum(w.most * t.frequency / (t.frequency + w.flat + w.slope * t.length)) AS score,
        sum(w.weight) AS covered
    FROM weighed AS w
    JOIN memory_item_terms AS t
        ON t.term = w.term AND t.project_number = ANY((SELECT projects FROM scope)::int[])
    WHERE w.leads AND (%(items)s::int[] IS NULL OR t.item_number IN (SELECT unnest(%(items)s::int[])))
{narrowed?}
    GROUP BY w.query, t.item_number
    ORDER BY score DESC, item_number DESC
    LIMIT %(most_items)s * 2
), whole AS (
    SELECT l.query, l.item_number, l.score + coalesce(c.score, 0) AS score,
        l.covered + coalesce(c.covered, 0) AS covered
    FROM foremost AS l
    LEFT JOIN LATERAL (
        SELECT sum(w.weight) AS covered,
            sum(w.most * t.frequency / (t.frequency + w.flat + w.slope * t.length)) AS score
        FROM weighed AS w
        JOIN memory_item_terms AS t ON t.term = w.term
            AND t.project_number = l.project_number AND t.item_number = l.item_number
        WHERE NOT w.leads AND w.query = l.query
    ) AS c ON (SELECT bool_or(NOT leads) FROM weighed)
), best AS MATERIALIZED (
    SELECT item_number, max(whole.score / greatest(most.weight * 2.2, 1e-9)) AS part,
        max(whole.covered / greatest(most.weight, 1e-9)) AS covered
    FROM whole JOIN (SELECT query, sum(weight) AS weight FROM weighed GROUP BY query) AS most USING (query)
    GROUP BY item_number
    ORDER BY part DESC, item_number DESC
    LIMIT %(most_items)s
), listed AS (
    SELECT array_agg(query) AS queries, array_agg(term) AS terms, array_agg(weight) AS weights FROM weighed
), found AS (
    SELECT array_agg(item_number) AS items, array_agg(part) AS parts, max(covered) AS covered FROM best
)
SELECT scope.projects, scope.live_items, scope.live_vectors, scope.all_vectors, scope.mean_length,
    coalesce(found.items, '{}') AS items, coalesce(found.parts, '{}') AS parts,
    coalesce(listed.queries, '{}') AS queries, coalesce(listed.terms, '{}') AS terms,
    coalesce(listed.weights, '{}') AS weights, coalesce(found.covered, 0) AS covered,
    (SELECT count(*) FROM asked) AS asked_terms,
    (SELECT count(*) > %(most_items)s FROM foremost) AS cut,
    ARRAY(SELECT w FROM unnest(%(words)s::text[]) AS w
          WHERE length(to_tsvector(%(language)s::regconfig, w)) = 0) AS ignored
FROM scope, listed, found

-- name: find_scope
WITH scope AS MATERIALIZED (
    SELECT coalesce(array_agg(number), '{}') AS projects,
        coalesce(sum(live_items), 0)::float8 AS live_items,
        coalesce(sum(live_vectors), 0)::int AS live_vectors,
        (SELECT coalesce(sum(live_vectors), 0) FROM projects)::int AS all_vectors,
        greatest(coalesce(sum(live_words) / nullif(sum(live_items), 0), 0), 1)::float8 AS mean_length
    FROM projects
    WHERE (%(every)s OR slug = %(slug)s OR id = %(project_id)s)
      AND (%(allowed)s::text[] IS NULL OR slug = ANY(%(allowed)s))
)
SELECT projects, live_items, live_vectors, all_vectors, mean_length FROM scope

-- part: whole_hits
-- The items of `wanted`, each with the embedding and the query that match best.
SELECT m.number, m.id, m.project_id, m.project_number, p.slug AS project, m.category, m.title,
    left(m.content, %(most_characters)s) AS content,
    length(m.content) AS content_length,
    m.tags, m.status, m.version, m.created_at, m.updated_at, m.deleted_at,
    coalesce(to_jsonb(r), to_jsonb(l), to_jsonb(t), to_jsonb(n)) AS fields,
    b.query, b.position, b.label, b.snippet
FROM memory_items AS m
JOIN projects AS p ON p.number = m.project_number
LEFT JOIN requirement_memory_items AS r ON r.memory_item_id = m.id
LEFT JOIN location_memory_items AS l ON l.memory_item_id = m.id
LEFT JOIN todo_memory_items AS t ON t.memory_item_id = m.id
LEFT JOIN note_memory_items AS n ON n.memory_item_id = m.id
LEFT JOIN LATERAL (
    SELECT v.number AS query, e.position, e.label, (
        SELECT substr(whole.text, e.start_offset + 1, least(e.end_offset - e.start_offset, %(snippet_room)s))
        FROM memory_item_embeddings AS whole
        WHERE whole.item_number = e.item_number AND whole.position = e.position AND whole."window" = 0
    ) AS snippet
    FROM memory_item_embeddings AS e
    CROSS JOIN (VALUES
        (1, %(vector1)s::vector), (2, %(vector2)s::vector),
        (3, %(vector3)s::vector), (4, %(vector4)s::vector)
    ) AS v (number, vector)
    WHERE e.item_number = m.number AND v.vector IS NOT NULL
    ORDER BY e.embedding <#> v.vector, v.number, e.position, e."window"
    LIMIT 1
) AS b ON true
WHERE m.number = ANY(ARRAY(SELECT number FROM wanted)) AND m.deleted_at IS NULL

-- part: both_signals
-- The text part of near items that the text arm did not bring, and which items come along whole.
), rest AS (
    SELECT s.item_number, max(s.score / most.score) AS part
    FROM (
        SELECT a.query, t.item_number, sum(a.weight * t.frequency * 2.2
            / (t.frequency + 1.2 * (0.25 + 0.75 * t.length / %(mean_length)s))) AS score
        FROM unnest(%(queries)s::int[], %(terms)s::text[], %(weights)s::float8[]) AS a (query, term, weight)
        JOIN memory_item_terms AS t ON t.term = a.term AND t.project_number = ANY(%(projects)s)
            AND t.item_number = ANY(ARRAY(SELECT item_number FROM near EXCEPT SELECT unnest(%(text_items)s::int[])))
        GROUP BY a.query, t.item_number
    ) AS s
    JOIN (
        SELECT a.query, greatest(sum(a.weight * 2.2), 1e-9) AS score
        FROM unnest(%(queries)s::int[], %(weights)s::float8[]) AS a (query, weight) GROUP BY a.query
    ) AS most USING (query)
    GROUP BY s.item_number
), found AS MATERIALIZED (
    SELECT item_number, similarity, part FROM near LEFT JOIN rest USING (item_number)
), wanted AS MATERIALIZED (
    SELECT item_number AS number
    FROM found LEFT JOIN unnest(%(text_items)s::int[], %(text_parts)s::float8[]) AS t (item_number, text_part)
        USING (item_number)
    ORDER BY %(vector_weight)s * greatest(0, similarity)
        + (1 - %(vector_weight)s) * coalesce(part, text_part, 0) DESC
    LIMIT %(foremost)s
)

-- name: find_exactly
-- What will most likely be the foremost hits comes along whole, so that it need not be asked for.
-- Items near by meaning and the text arm's items, both scored on both signals. No ::vector(384):
-- in a generic plan the length would be checked, and the vector copied, once for each row.
WITH scored AS MATERIALIZED (
    SELECT item_number, max(greatest(
        -(embedding <#> %(vector1)s::vector), -(embedding <#> %(vector2)s::vector),
        -(embedding <#> %(vector3)s::vector), -(embedding <#> %(vector4)s::vector)
    )) AS similarity
    FROM memory_item_embeddings
    WHERE live AND {listed?project_number = ANY(%(projects)s)}
{narrowed?}
    GROUP BY item_number
), near AS MATERIALIZED (
    (SELECT item_number, similarity FROM scored
     ORDER BY similarity DESC, item_number DESC LIMIT %(most_items)s)
    UNION
    SELECT item_number, similarity FROM scored WHERE item_number = ANY(%(text_items)s)
{both_signals}
SELECT found.*, NULL::int AS brought, hits.*
FROM found LEFT JOIN ({whole_hits}) AS hits ON hits.number = found.item_number

-- name: find_nearest
-- One arm a query vector: only ORDER BY … <#> a constant LIMIT n uses the index.
WITH arms AS MATERIALIZED (
    (SELECT item_number FROM memory_item_embeddings
     WHERE live AND (%(every_project)s OR project_number = ANY(%(projects)s))
{narrowed?}
     ORDER BY embedding::halfvec(384) <#> %(vector1)s::vector::halfvec(384)
     LIMIT %(most_vectors1)s)
    UNION ALL
    (SELECT item_number FROM memory_item_embeddings
     WHERE live AND (%(every_project)s OR project_number = ANY(%(projects)s))
{narrowed?}
     ORDER BY embedding::halfvec(384) <#> %(vector2)s::vector::halfvec(384)
     LIMIT %(most_vectors2)s)
    UNION ALL
    (SELECT item_number FROM memory_item_embeddings
     WHERE live AND (%(every_project)s OR project_number = ANY(%(projects)s))
{narrowed?}
     ORDER BY embedding::halfvec(384) <#> %(vector3)s::vector::halfvec(384)
     LIMIT %(most_vectors3)s)
    UNION ALL
    (SELECT item_number FROM memory_item_embeddings
     WHERE live AND (%(every_project)s OR project_number = ANY(%(projects)s))
{narrowed?}
     ORDER BY embedding::halfvec(384) <#> %(vector4)s::vector::halfvec(384)
     LIMIT %(most_vectors4)s)
), near AS MATERIALIZED (
    SELECT item_number, max(greatest(
        -(embedding <#> %(vector1)s::vector), -(embedding <#> %(vector2)s::vector),
        -(embedding <#> %(vector3)s::vector), -(embedding <#> %(vector4)s::vector)
    )) AS similarity
    FROM memory_item_embeddings
    WHERE live AND item_number = ANY(ARRAY(SELECT item_number FROM arms) || %(text_items)s::int[])
    GROUP BY item_number
{both_signals}
SELECT found.*, (SELECT count(DISTINCT item_number) FROM arms)::int AS brought, hits.*
FROM found LEFT JOIN ({whole_hits}) AS hits ON hits.number = found.item_number

-- name: get_hits
WITH wanted AS (SELECT unnest(%(numbers)s::int[]) AS number)
{whole_hits}
