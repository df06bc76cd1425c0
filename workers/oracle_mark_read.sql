SELECT says FROM {prefix}MARK
