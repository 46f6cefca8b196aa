"""Category descriptions that documents are compared with where a deployment names none of its own."""

from __future__ import annotations

DEFAULT_CATEGORIES: dict[str, str] = {
    "unknown": "Text on no particular subject.",
    "medicine": "Diseases, symptoms, diagnosis, drugs, therapy and patient care.",
    "biology": "Genes, cells, organisms, evolution and laboratory studies.",
    "finance": "Companies, revenue, accounting, markets, interest and money.",
    "sports": "Teams, players, matches, championships and records.",
    "film and television": "Actors, directors, movies, series, characters and episodes.",
    "music": "Songs, singers, albums, bands and charts.",
    "politics and law": "Governments, elections, courts, laws and constitutions.",
    "history": "Wars, empires, dates, monarchs and past events.",
    "geography": "Countries, cities, rivers, mountains, climate and populations.",
    "technology": "Computers, software, engineering, vehicles and inventions.",
    "science": "Physics, chemistry, mathematics and astronomy.",
    "literature": "Books, authors, poems, plots and language.",
}
