-- What statements are. A digest's text has no literals.
SELECT /* threadwise observe */ SCHEMA_NAME AS threadwise_observe, DIGEST, DIGEST_TEXT
FROM performance_schema.events_statements_summary_by_digest
WHERE DIGEST IS NOT NULL
