-- No answer of an earlier execution, whatever the instance's setting is.
ALTER SESSION SET RESULT_CACHE_MODE = MANUAL
