ALTER SESSION SET {name} = {value}
