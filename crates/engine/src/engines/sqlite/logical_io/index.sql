-- A separate index: consecutive keys are neighbours here, and their rows are not.
CREATE UNIQUE INDEX blocks_by_k ON blocks (k);
