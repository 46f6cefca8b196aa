# ruff: noqa: E501
"""People."""

from __future__ import annotations

from sim.corpora.synthetic.kinds import Kind, fillers, relation
from sim.corpora.synthetic.values import choice, count, named, year

PERSON = Kind(
    "people", "person", "the scholar", "they", "their",
    (
        relation("born", year(1850, 1905), """
            {S} was born in {v}.
            The birth of {S} is recorded in {v}.
            Church books give {v} as the year in which {S} was born.
            Born in {v}, {S} grew up in modest conditions.
            The family welcomed {S}, its second child, in {v}.
            It was in {v} that {S} came into the world.
            """, """
            In which year was {n} born?
            When was {n} born?
            """),
        relation("birthplace", named("town"), """
            {P} birthplace was {v}.
            {S} came from {v}.
            The childhood home of {S} stood in {v}.
            {v} is the town in which {S} was born.
            A plaque in {v} marks the house where {S} was born.
            As a native of {v}, {S} spoke the dialect of the region.
            """, """
            Where was {n} born?
            In which town was {n} born?
            """),
        relation("profession", choice("cartographer", "botanist", "composer", "astronomer", "glassblower", "surgeon",
                                      "novelist", "geologist", "sculptor", "engineer", "linguist", "beekeeper"), """
            {S} worked as a {v}.
            By trade {S} was a {v}.
            {P} profession was that of a {v}.
            Most people knew {S} as a {v}.
            {S} earned a living as a {v}.
            After an apprenticeship {S} became a {v}.
            Reference works list {S} as a {v}.
            """, """
            What was the profession of {n}?
            What did {n} work as?
            """),
        relation("teacher", named("person"), """
            {S} was taught by {v}.
            {P} teacher was {v}.
            The lessons of {v} shaped {S}.
            {S} learned the craft from {v}.
            For several years {v} instructed {S}.
            As a pupil of {v}, {S} copied many old drawings.
            """, """
            Who taught {n}?
            Who was the teacher of {n}?
            """),
        relation("institute", named("institute"), """
            {S} studied at the {v}.
            {P} degree came from the {v}.
            The {v} counts {S} among its graduates.
            At the {v}, {S} completed a course of study.
            {S} was enrolled at the {v}.
            It was the {v} that {S} attended as a student.
            """, """
            Where did {n} study?
            At which institution did {n} study?
            """),
        relation("invention", choice("a folding compass", "a silent loom", "a water clock", "a pocket barometer",
                                     "a star globe", "a sun furnace", "a tidal gauge", "a pedal organ",
                                     "a paper lens", "a spring lamp", "a wind harp", "a bee smoker"), """
            {S} is remembered for {v}.
            {P} best known invention is {v}.
            The idea of {v} goes back to {S}.
            Among the devices designed by {S}, {v} found the widest use.
            {S} invented {v}.
            Collectors still look for {v} built by {S}.
            """, """
            What did {n} invent?
            Which invention is {n} remembered for?
            """),
        relation("prize", year(1925, 1985), """
            {S} received the Harrow medal in {v}.
            In {v} the Harrow medal went to {S}.
            The Harrow medal was awarded to {S} in {v}.
            {P} work was honoured with the Harrow medal in {v}.
            The jury of {v} gave {S} the Harrow medal.
            {S} has been a holder of the Harrow medal since {v}.
            """, """
            In which year did {n} receive the Harrow medal?
            When was the Harrow medal awarded to {n}?
            """),
        relation("books", count(3, 20), """
            {S} published {v} books.
            {P} writings fill {v} books.
            Catalogues list {v} books by {S}.
            A total of {v} books came from the pen of {S}.
            Over the years {S} brought out {v} books.
            Libraries hold {v} books written by {S}.
            """, """
            How many books did {n} publish?
            """),
        relation("house", named("town"), """
            {S} spent the last years in {v}.
            In old age {S} moved to {v}.
            {P} final home was in {v}.
            The grave of {S} is in {v}.
            Until the end {S} lived in {v}.
            {S} retired to {v}.
            """, """
            Where did {n} spend the last years?
            To which town did {n} retire?
            """),
    ),
    fillers("""
        Few private letters have survived.
        Later writers have judged the work in very different ways.
        Contemporaries described a shy and patient character.
        A portrait hangs in a private collection.
        Several anecdotes are told, not all of them reliable.
        No diary is known to exist.
        """),
)  # fmt: skip
