"""Inference about sources from what they agree and disagree on, over rounds."""
