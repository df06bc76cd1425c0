SELECT event, total_waits, time_waited_micro FROM v$system_event
WHERE event IN ('log file sync', 'log file parallel write', 'db file sequential read', 'db file scattered read',
                'direct path read', 'direct path read temp', 'buffer busy waits', 'enq: TX - row lock contention',
                'enq: TX - index contention', 'log buffer space', 'log file switch completion', 'free buffer waits')
