-- Who this session is to the server, and where that runs; anybody may ask.
SELECT SYS_CONTEXT('USERENV', 'SID'), SYS_CONTEXT('USERENV', 'INSTANCE'),
       SYS_CONTEXT('USERENV', 'SERVER_HOST'), SYS_CONTEXT('USERENV', 'NETWORK_PROTOCOL')
FROM dual
