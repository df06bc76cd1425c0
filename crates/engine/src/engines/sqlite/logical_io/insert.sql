INSERT INTO blocks (k, value, twin, payload) VALUES (?1, ?2, ?3, ?4)
