-- One transaction of a client; the template of a row is repeated.
INSERT INTO {schema}.{table} (c1, c2, c3, c4, c5, c6) VALUES {client_rows}
