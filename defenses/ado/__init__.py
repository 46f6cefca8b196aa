"""Adaptive defense orchestration (arXiv 2604.20932): signals, Sentinel, Strategist, trust, plans."""
