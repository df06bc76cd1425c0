-- One transaction of the client's loop.
?relaxed BEGIN TRANSACTION;
INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES [[({key}, SYSUTCDATETIME(), '{text}', {owner}, {row}, {key})|, ]]
?relaxed ; COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)
