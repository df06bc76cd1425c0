-- Written down before it is made, so that it is known as ours whatever happens then.
IF NOT EXISTS (SELECT 1 FROM [{schema}].[threadwise_objects] WHERE kind = '{kind}' AND name = '{name}')
    INSERT INTO [{schema}].[threadwise_objects] (kind, name) VALUES ('{kind}', '{name}');
