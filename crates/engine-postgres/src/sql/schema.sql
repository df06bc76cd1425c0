BEGIN; CREATE SCHEMA "{schema}";
CREATE TABLE "{schema}".threadwise_mark (says text NOT NULL);
INSERT INTO "{schema}".threadwise_mark VALUES ('{says}');
CREATE TABLE "{schema}".threadwise_objects (kind text NOT NULL, name text NOT NULL, PRIMARY KEY (kind, name));
CREATE TABLE "{schema}".threadwise_loads (suffix text NOT NULL PRIMARY KEY, bytes bigint NOT NULL,
    counted bigint NOT NULL, notes text NOT NULL); COMMIT
