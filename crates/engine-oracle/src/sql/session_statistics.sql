SELECT statistic#, value FROM v$mystat WHERE statistic# IN ({numbers})
