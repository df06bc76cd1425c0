-- What every session of ours sets for itself: text of numbers and dates in one form, the order of bytes, and UTC.
ALTER SESSION SET
    NLS_NUMERIC_CHARACTERS = '.,'
    NLS_DATE_FORMAT = 'YYYY-MM-DD'
    NLS_SORT = 'BINARY'
    NLS_COMP = 'BINARY'
    TIME_ZONE = '+00:00'
