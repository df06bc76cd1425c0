-- Why a procedure was made but cannot be called.
SELECT line, text FROM user_errors WHERE name = :p1 AND attribute = 'ERROR' ORDER BY sequence
