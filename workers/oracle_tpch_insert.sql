INSERT INTO {table} ({columns}) VALUES ({places})
