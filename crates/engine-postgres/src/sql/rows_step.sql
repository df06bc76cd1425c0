-- One transaction of a client, in one round trip: a prepared INSERT outside of any explicit transaction. Explicit BEGIN
-- and COMMIT would add two round trips, or planning at each step.
INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES [[({key}, clock_timestamp(), '{text}', {owner}, {row}, {key})|, ]]
