"""One plug-in of each kind; see docs/plugins.md."""
