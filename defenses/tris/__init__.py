"""TRIS, a sieve of three layers against poisoned retrieval (arXiv 2609.00470): geometry, prefix, verifier."""
