"""Looking inside: one recorded pass, its arithmetic, and the views of both."""
