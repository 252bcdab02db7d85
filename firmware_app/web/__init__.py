"""The page: its API, the live events, and who may see them, over HTTP on the home network."""
