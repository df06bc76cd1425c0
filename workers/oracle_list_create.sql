-- What we made, written down before it is made.
CREATE TABLE {prefix}MADE (
    kind VARCHAR2(30 CHAR)  NOT NULL,
    name VARCHAR2(128 CHAR) NOT NULL
)
