SELECT name, block_size, current_size, buffers FROM v$buffer_pool ORDER BY name
