-- What version 7 of the study file has more than version 6 (schema_6.sql), whose tables it keeps as they
-- are. The same holds for this text: any change needs a new user_version and a way to read the old.
--
-- What notes mean to reports, which go by the code.

PRAGMA user_version = 7;

CREATE TABLE note_codes ( -- none for a note that is for the reader alone
  note INTEGER PRIMARY KEY REFERENCES notes (id),
  code TEXT NOT NULL
) STRICT;
