SELECT operation, options, object_name FROM plan_table WHERE statement_id = 'threadwise' ORDER BY id
