"""Hey Echo: an offline voice assistant as an appliance."""

__version__ = "0.1.0"
