-- c4 = -1 marks what was there before; sessions write their number.
INSERT OR IGNORE INTO inserts (c1, c2, c3, c4, c5, c6) VALUES (?1, ?2, ?3, -1, 0, ?4)
