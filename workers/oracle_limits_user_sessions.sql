SELECT COUNT(*) FROM v$session WHERE username = USER AND type = 'USER'
