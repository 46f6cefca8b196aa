"""Verification inside the RAG frameworks that people already use; each adapter is an extra of its own."""
