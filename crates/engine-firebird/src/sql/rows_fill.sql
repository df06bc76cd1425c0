-- Seeded rows: keys come in the order of the rows, twenty characters each, so that pages are as full as inserts leave
-- them.
CREATE PROCEDURE fill_rows(keys VARCHAR(30000) CHARACTER SET ASCII) AS
    DECLARE at_ INTEGER = 1;
    DECLARE k BIGINT;
BEGIN
    WHILE (at_ < OCTET_LENGTH(keys)) DO
    BEGIN
        k = CAST(SUBSTRING(keys FROM at_ FOR 20) AS BIGINT);
        INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES (:k, CAST('NOW' AS TIMESTAMP), '{text}', 0, 0, :k);
        at_ = at_ + 20;
    END
END
