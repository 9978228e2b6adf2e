CASES = ()
