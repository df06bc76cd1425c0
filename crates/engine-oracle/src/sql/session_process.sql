-- The process that serves this session. STID is another number where a session is a thread of a process.
SELECT p.spid, p.stid, s.server FROM v$session s JOIN v$process p ON p.addr = s.paddr
WHERE s.sid = SYS_CONTEXT('USERENV', 'SID')
