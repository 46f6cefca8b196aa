"""One self-contained HTML page, and figures for a paper, from a run or a sweep."""
