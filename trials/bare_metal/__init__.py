"""Images with which trials boot bare-metal machines."""
