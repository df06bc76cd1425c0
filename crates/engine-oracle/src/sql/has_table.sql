SELECT COUNT(*) FROM user_tables WHERE table_name = '{schema}' || UPPER('{name}')
