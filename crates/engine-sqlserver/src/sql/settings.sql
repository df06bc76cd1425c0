-- Settings of every connection, a statement a line: no counts of rows on the wire, no half transactions, and that a
-- deadlock with a session of the user's ends this one.
SET NOCOUNT ON
SET XACT_ABORT ON
SET ANSI_WARNINGS ON
SET ARITHABORT ON
SET DEADLOCK_PRIORITY LOW
SET LANGUAGE us_english
