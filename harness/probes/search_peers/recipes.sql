-- name: tables
-- What tutorials on hybrid search in Postgres create: one table, a generated tsvector, two indexes.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE documents (
    id text PRIMARY KEY,
    content text NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED,
    embedding vector(384) NOT NULL
);

-- name: indexes
CREATE INDEX ON documents USING gin (words);
CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops);

-- name: tutorial
-- Reciprocal rank fusion in one function. row_number() over all rows: the index is never used.
CREATE FUNCTION tutorial(asked text, vector vector(384), most int)
RETURNS TABLE (id text, content text, score float8) LANGUAGE sql STABLE AS $$
    WITH by_words AS (
        SELECT d.id, row_number() OVER (ORDER BY ts_rank_cd(d.words, q.query) DESC) AS place
        FROM documents AS d, websearch_to_tsquery('english', asked) AS q (query)
        WHERE d.words @@ q.query
        ORDER BY place LIMIT most * 2
    ), by_meaning AS (
        SELECT d.id, row_number() OVER (ORDER BY d.embedding <=> vector) AS place
        FROM documents AS d
        ORDER BY place LIMIT most * 2
    )
    SELECT d.id, d.content,
        (coalesce(1.0 / (60 + w.place), 0.0) + coalesce(1.0 / (60 + m.place), 0.0))::float8
    FROM by_words AS w
    FULL OUTER JOIN by_meaning AS m ON m.id = w.id
    JOIN documents AS d ON d.id = coalesce(w.id, m.id)
    ORDER BY 3 DESC LIMIT most
$$;

-- name: indexed
-- The same, but ORDER BY … <=> a constant LIMIT n stands alone, so that HNSW is used.
CREATE FUNCTION indexed(asked text, vector vector(384), most int)
RETURNS TABLE (id text, content text, score float8) LANGUAGE sql STABLE AS $$
    WITH by_words AS (
        SELECT d.id, row_number() OVER (ORDER BY ts_rank_cd(d.words, q.query) DESC) AS place
        FROM documents AS d, websearch_to_tsquery('english', asked) AS q (query)
        WHERE d.words @@ q.query
        ORDER BY place LIMIT most * 2
    ), nearest AS MATERIALIZED (
        SELECT d.id, d.embedding <=> vector AS distance FROM documents AS d
        ORDER BY d.embedding <=> vector LIMIT most * 2
    ), by_meaning AS (
        SELECT n.id, row_number() OVER (ORDER BY n.distance) AS place FROM nearest AS n
    )
    SELECT d.id, d.content,
        (coalesce(1.0 / (60 + w.place), 0.0) + coalesce(1.0 / (60 + m.place), 0.0))::float8
    FROM by_words AS w
    FULL OUTER JOIN by_meaning AS m ON m.id = w.id
    JOIN documents AS d ON d.id = coalesce(w.id, m.id)
    ORDER BY 3 DESC LIMIT most
$$;

-- name: any_word
-- As `indexed`, with any of the words instead of all of them.
CREATE FUNCTION any_word(asked text, vector vector(384), most int)
RETURNS TABLE (id text, content text, score float8) LANGUAGE sql STABLE AS $$
    WITH q AS MATERIALIZED (
        SELECT replace(plainto_tsquery('english', asked)::text, '&', '|')::tsquery AS query
    ), by_words AS (
        SELECT d.id, row_number() OVER (ORDER BY ts_rank_cd(d.words, q.query) DESC) AS place
        FROM documents AS d, q
        WHERE d.words @@ q.query
        ORDER BY place LIMIT most * 2
    ), nearest AS MATERIALIZED (
        SELECT d.id, d.embedding <=> vector AS distance FROM documents AS d
        ORDER BY d.embedding <=> vector LIMIT most * 2
    ), by_meaning AS (
        SELECT n.id, row_number() OVER (ORDER BY n.distance) AS place FROM nearest AS n
    )
    SELECT d.id, d.content,
        (coalesce(1.0 / (60 + w.place), 0.0) + coalesce(1.0 / (60 + m.place), 0.0))::float8
    FROM by_words AS w
    FULL OUTER JOIN by_meaning AS m ON m.id = w.id
    JOIN documents AS d ON d.id = coalesce(w.id, m.id)
    ORDER BY 3 DESC LIMIT most
$$;

-- name: add_document
INSERT INTO documents (id, content, embedding) VALUES (%(id)s, %(content)s, %(embedding)s::vector)
