SELECT value FROM v$option WHERE parameter = 'Parallel execution'
