"""The shared floor: records, contracts, pipeline, configuration, text, embeddings and wire."""
