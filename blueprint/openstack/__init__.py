"""Lists of OpenStack's configuration options, names of its secrets, and checks of both."""
