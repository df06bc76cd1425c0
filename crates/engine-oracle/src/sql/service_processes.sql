-- Log writers with their helpers, database writers, and the process that makes checkpoints. Others start processes of
-- their own, which would inherit a mask, or watch over the instance.
SELECT pname, spid FROM v$process
WHERE background = '1' AND (pname IN ('LGWR', 'CKPT') OR REGEXP_LIKE(pname, '^(LG|DBW|BW)[0-9A-Z]+$'))
ORDER BY pname
