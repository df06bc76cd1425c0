-- Seeded rows with random keys in random order, so that pages are as full as inserts leave them.
CREATE PROCEDURE seed_rows(rows_ BIGINT, x BIGINT, y BIGINT)
RETURNS (key_sum BIGINT, last_x BIGINT, last_y BIGINT) AS
    DECLARE i BIGINT = 0;
    DECLARE k BIGINT;
BEGIN
    key_sum = 0;
    WHILE (i < rows_) DO
    BEGIN
        {draw}
        INSERT INTO inserted (c1, c2, c3, c4, c5, c6)
        VALUES (:k, CAST('NOW' AS TIMESTAMP), '{text}', 0, 0, :k);
        key_sum = key_sum + MOD(k, {modulus});
        i = i + 1;
    END
    last_x = x;
    last_y = y;
    SUSPEND;
END
