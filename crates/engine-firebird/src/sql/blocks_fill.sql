-- Keys come in the order of the rows, ten characters each. Records are compressed by runs of equal
-- bytes alone, of which the payload has none.
CREATE PROCEDURE fill_blocks(keys VARCHAR(30000) CHARACTER SET ASCII) AS
    DECLARE at_ INTEGER = 1;
    DECLARE k BIGINT;
    DECLARE payload VARCHAR(6000) CHARACTER SET OCTETS;
BEGIN
    payload = RPAD('', 6000, '0123456789');
    WHILE (at_ < OCTET_LENGTH(keys)) DO
    BEGIN
        k = CAST(SUBSTRING(keys FROM at_ FOR 10) AS BIGINT);
        INSERT INTO {table} VALUES (:k, {base}, 7 * :k + 3 - {base}, :payload);
        at_ = at_ + 10;
    END
END
