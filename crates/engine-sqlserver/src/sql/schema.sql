-- The schema with the tables that make it ours: the mark, what we made, and which data is whole. One transaction, so that
-- it is never there without its mark; CREATE SCHEMA has to be a batch of its own, which EXEC makes of it.
BEGIN TRANSACTION;
EXEC(N'CREATE SCHEMA [{schema}]');
CREATE TABLE [{schema}].[threadwise_mark] (says varchar(100) NOT NULL);
INSERT INTO [{schema}].[threadwise_mark] (says) VALUES ('{says}');
CREATE TABLE [{schema}].[threadwise_objects] (
    kind varchar(9)   NOT NULL,
    name varchar(120) NOT NULL
);
CREATE TABLE [{schema}].[threadwise_loads] (
    suffix varchar(64)   NOT NULL PRIMARY KEY,
    bytes  bigint        NOT NULL,
    counted bigint       NOT NULL,
    notes  nvarchar(max) NOT NULL
);
COMMIT TRANSACTION;
