SELECT kind, name FROM {prefix}MADE ORDER BY kind, name
