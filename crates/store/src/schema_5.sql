-- What version 5 of the study file has more than version 4 (schema_4.sql), whose tables it keeps as they
-- are. The same holds for this text: any change needs a new user_version and a way to read the old.
--
-- Long windows: blocks of one window of each treatment, as long as a user's work. Their runs are no part of what
-- slices show: leave out runs whose block is here, or take them alone.

PRAGMA user_version = 5;

CREATE TABLE long_blocks ( -- numbered from 524288 on, which no block of slices reaches
  block INTEGER PRIMARY KEY CHECK (block BETWEEN 524288 AND 1048575)
) STRICT;

CREATE TABLE session_pieces ( -- rows of a session by piece of a long window, all pieces but the last of one length
  session_slice INTEGER NOT NULL REFERENCES session_slices (id),
  piece         INTEGER NOT NULL CHECK (piece BETWEEN 0 AND 1048575),
  rows          INTEGER NOT NULL CHECK (rows BETWEEN 0 AND 1125899906842623),
  PRIMARY KEY (session_slice, piece)
) STRICT, WITHOUT ROWID;
