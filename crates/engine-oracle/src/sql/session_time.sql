SELECT stat_name, value FROM v$sess_time_model
WHERE sid = SYS_CONTEXT('USERENV', 'SID') AND stat_name IN ('DB CPU', 'DB time')
