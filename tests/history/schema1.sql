-- A history as the first schema kept it: no kinds, no origins, no images.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta VALUES ('schema_version', '1'), ('workspace', 'home'), ('created', '1700000000.0');
CREATE TABLE conversations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'ended', 'interrupted')),
    created REAL,
    updated REAL,
    ended REAL,
    next_entry INTEGER NOT NULL DEFAULT 1,
    incomplete INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT '',
    summary_through INTEGER NOT NULL DEFAULT 0,
    usage TEXT NOT NULL DEFAULT '{}',
    metadata TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX conversations_of_owner ON conversations (owner, seq);
CREATE INDEX conversations_active ON conversations (seq) WHERE state = 'active';
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    conversation_uuid TEXT NOT NULL REFERENCES conversations (uuid) ON DELETE CASCADE,
    entry_number INTEGER NOT NULL CHECK (entry_number >= 1),
    kind TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'tool', 'action', 'notice')),
    created REAL,
    boot_id TEXT NOT NULL,
    monotonic REAL NOT NULL,
    content TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    UNIQUE (conversation_uuid, entry_number)
);
CREATE INDEX entries_without_time ON entries (boot_id) WHERE created IS NULL;
CREATE VIRTUAL TABLE search USING fts5 (
    text, content = 'entries', content_rowid = 'id',
    prefix = '2 3', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
INSERT INTO conversations (uuid, owner, title, state, created, updated, ended, next_entry) VALUES
    ('0b5cbd5e-0000-4000-8000-000000000001', 'ann', 'when does the bakery open', 'ended',
     1700000010.0, 1700000012.0, 1700000900.0, 3),
    ('0b5cbd5e-0000-4000-8000-000000000002', 'ben', 'how far is the moon', 'ended',
     1700001000.0, 1700001002.0, 1700002000.0, 3);
INSERT INTO entries
    (conversation_uuid, entry_number, kind, created, boot_id, monotonic, content, text) VALUES
    ('0b5cbd5e-0000-4000-8000-000000000001', 1, 'user', 1700000010.0, 'boot', 10.0,
     '[{"type":"text","text":"when does the bakery open"}]', 'when does the bakery open'),
    ('0b5cbd5e-0000-4000-8000-000000000001', 2, 'assistant', 1700000012.0, 'boot', 12.0,
     '[{"type":"text","text":"At seven."}]', 'At seven.'),
    ('0b5cbd5e-0000-4000-8000-000000000002', 1, 'user', 1700001000.0, 'boot', 1000.0,
     '[{"type":"text","text":"how far is the moon"}]', 'how far is the moon'),
    ('0b5cbd5e-0000-4000-8000-000000000002', 2, 'assistant', 1700001002.0, 'boot', 1002.0,
     '[{"type":"text","text":"A light second and a bit."}]', 'A light second and a bit.');
INSERT INTO search (search) VALUES ('rebuild');
