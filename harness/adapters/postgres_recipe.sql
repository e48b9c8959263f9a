-- name: tables
-- What tutorials on hybrid search in Postgres create: one table, a generated tsvector, two indexes.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project text NOT NULL,
    category text NOT NULL,
    tags text[] NOT NULL,
    status text NOT NULL,
    content text NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED,
    embedding vector NOT NULL
);
CREATE INDEX ON documents USING gin (words);

-- name: index
-- The model's length is known once there is a vector.
ALTER TABLE documents ALTER COLUMN embedding TYPE vector({dimensions});
CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops);

-- name: add
INSERT INTO documents (project, category, tags, status, content, embedding)
VALUES (%(project)s, %(category)s, %(tags)s, %(status)s, %(content)s, %(embedding)s::vector)
RETURNING id

-- name: find
-- Words by websearch_to_tsquery and ts_rank_cd, meaning by HNSW, both by reciprocal rank (k = 60).
WITH by_words AS (
    SELECT d.id, row_number() OVER (ORDER BY ts_rank_cd(d.words, q.query) DESC) AS place
    FROM documents AS d, websearch_to_tsquery('english', %(text)s) AS q (query)
    WHERE d.words @@ q.query AND {where}
    ORDER BY place LIMIT %(most)s * 2
), nearest AS MATERIALIZED (
    SELECT d.id, d.embedding <=> %(vector)s::vector AS distance FROM documents AS d
    WHERE {where}
    ORDER BY d.embedding <=> %(vector)s::vector LIMIT %(most)s * 2
), by_meaning AS (
    SELECT n.id, row_number() OVER (ORDER BY n.distance) AS place FROM nearest AS n
)
SELECT d.id::text, d.content,
    (coalesce(1.0 / (60 + w.place), 0.0) + coalesce(1.0 / (60 + m.place), 0.0))::float8 AS score
FROM by_words AS w
FULL OUTER JOIN by_meaning AS m ON m.id = w.id
JOIN documents AS d ON d.id = coalesce(w.id, m.id)
ORDER BY score DESC, d.id LIMIT %(most)s
