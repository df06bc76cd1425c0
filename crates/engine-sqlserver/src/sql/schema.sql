-- The tables that make a schema ours: the mark, what we made, and which data is whole.
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
