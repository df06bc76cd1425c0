SELECT sid, state, event, wait_class FROM v$session WHERE sid IN ({sids})
