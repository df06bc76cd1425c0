SELECT o_orderkey, o_totalprice FROM {table} WHERE o_orderkey = {key}
