CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE projects (
    number int GENERATED ALWAYS AS IDENTITY UNIQUE,
    id uuid PRIMARY KEY,
    name text NOT NULL,
    slug text COLLATE "C" NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    live_items int NOT NULL DEFAULT 0,
    live_words double precision NOT NULL DEFAULT 0,
    live_vectors int NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE embedding_models (
    number smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id text NOT NULL,
    revision text NOT NULL,
    pooling text NOT NULL,
    active boolean NOT NULL,
    UNIQUE (model_id, revision, pooling)
);

CREATE UNIQUE INDEX embedding_models_one_active ON embedding_models (active) WHERE active;

CREATE TABLE memory_items (
    number int GENERATED ALWAYS AS IDENTITY UNIQUE,
    id uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects (id),
    project_number int NOT NULL REFERENCES projects (number),
    category text NOT NULL CHECK (category IN ('requirement', 'location', 'todo', 'note')),
    title text NOT NULL,
    content text NOT NULL,
    tags text[] NOT NULL,
    status text NOT NULL,
    version int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    status_before_deletion text,
    language regconfig NOT NULL,
    field_words text NOT NULL,
    extra_words text NOT NULL,
    search_vector tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector(language, title), 'A')
        || setweight(to_tsvector(language, content), 'B')
        || setweight(to_tsvector(language, extra_words), 'C')
        || setweight(to_tsvector(language, field_words), 'D')
    ) STORED
);

CREATE INDEX memory_items_created ON memory_items (project_number, created_at, id);

CREATE INDEX memory_items_search_vector ON memory_items USING gin (search_vector);

CREATE INDEX memory_items_tags ON memory_items USING gin (tags);

CREATE TABLE requirement_memory_items (
    memory_item_id uuid PRIMARY KEY REFERENCES memory_items (id) ON DELETE CASCADE,
    statement text NOT NULL,
    context text NOT NULL
);

CREATE TABLE location_memory_items (
    memory_item_id uuid PRIMARY KEY REFERENCES memory_items (id) ON DELETE CASCADE,
    item_name text NOT NULL,
    place text NOT NULL
);

CREATE TABLE todo_memory_items (
    memory_item_id uuid PRIMARY KEY REFERENCES memory_items (id) ON DELETE CASCADE,
    task text NOT NULL,
    priority text NOT NULL CHECK (priority IN ('low', 'normal', 'high', 'urgent'))
);

CREATE TABLE note_memory_items (
    memory_item_id uuid PRIMARY KEY REFERENCES memory_items (id) ON DELETE CASCADE,
    subject text NOT NULL,
    body text NOT NULL
);

CREATE TABLE memory_item_embeddings (
    id uuid NOT NULL,
    memory_item_id uuid NOT NULL REFERENCES memory_items (id) ON DELETE CASCADE,
    item_number int NOT NULL,
    project_number int NOT NULL,
    position smallint NOT NULL,
    "window" smallint NOT NULL,
    live boolean NOT NULL,
    embedding_model smallint NOT NULL REFERENCES embedding_models (number),
    start_offset int NOT NULL,
    end_offset int NOT NULL,
    label text NOT NULL,
    text text,
    embedding vector(384) NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (item_number, position, "window"),
    CHECK (("window" = 0) = (text IS NOT NULL))
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

ALTER TABLE memory_item_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;

CREATE INDEX memory_item_embeddings_project ON memory_item_embeddings (project_number) WHERE live;

CREATE INDEX memory_item_embeddings_item ON memory_item_embeddings (memory_item_id);

CREATE INDEX memory_item_embeddings_nearest ON memory_item_embeddings
    USING hnsw ((embedding::halfvec(384)) halfvec_ip_ops) WITH (ef_construction = 128) WHERE live;

CREATE TABLE memory_item_terms (
    term text COLLATE "C" NOT NULL,
    project_number int NOT NULL,
    item_number int NOT NULL,
    frequency real NOT NULL,
    length real NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

CREATE UNIQUE INDEX memory_item_terms_postings ON memory_item_terms
    (term, project_number, item_number) INCLUDE (frequency, length);
