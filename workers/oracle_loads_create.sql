-- Which data is whole, and what was said when it was made.
CREATE TABLE {prefix}LOADS (
    suffix  VARCHAR2(30 CHAR)   NOT NULL,
    facts   VARCHAR2(200 CHAR)  NOT NULL,
    bytes   NUMBER(19)          NOT NULL,
    counted NUMBER(19)          NOT NULL,
    notes   VARCHAR2(2000 CHAR)
)
