-- What every connection of ours sets, a statement a line: no counts of rows on the wire, no half transactions, and
-- that ours is the session which a deadlock ends.
SET NOCOUNT ON
SET XACT_ABORT ON
SET ANSI_WARNINGS ON
SET ARITHABORT ON
SET DEADLOCK_PRIORITY LOW
SET LANGUAGE us_english
