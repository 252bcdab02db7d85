"""The checks. Each file has one, named CHECK."""
