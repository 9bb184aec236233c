"""Methods of other papers beside R_LURE, on the same pools and where possible the same draws."""
