"""RAGMask: cuts the segments that alone make a document similar to the question (paper, section 3.2)."""
