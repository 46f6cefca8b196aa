"""Public data sets and local files, made into the project's folder form."""
