"""Every conversation kept on the device, or not at all. See `store` for the way in."""
