-- One transaction of the client's loop.
INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES [[({key}, SYSDATE(6), '{text}', {owner}, 0, {key})|, ]]
