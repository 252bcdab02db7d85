"""Models on the disk: fetched, checked, put in place as a whole, and taken away again."""
