"""RAGPart: documents vote by fragment combinations (RAGPart paper, sections 3.1 and 6)."""
