SELECT facts, bytes, counted, notes FROM {prefix}LOADS WHERE suffix = :suffix
