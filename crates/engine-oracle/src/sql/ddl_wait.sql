-- Time limit for dropping a table, seconds: sessions of a killed worker end with their call.
ALTER SESSION SET DDL_LOCK_TIMEOUT = 20
