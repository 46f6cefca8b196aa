# ruff: noqa: E501
"""Books."""

from __future__ import annotations

from sim.corpora.synthetic.kinds import Kind, fillers, relation
from sim.corpora.synthetic.values import choice, count, named, year

BOOK = Kind(
    "culture", "work", "the book", "it", "its",
    (
        relation("author", named("person"), """
            {S} was written by {v}.
            The author of {S} is {v}.
            It was {v} who wrote {S}.
            {v} wrote {S} within a single year.
            {S} is the best known work of {v}.
            The manuscript of {S} came from {v}.
            """, """
            Who wrote {n}?
            Who is the author of {n}?
            """),
        relation("published", year(1820, 1924), """
            {S} was published in {v}.
            The first edition of {S} appeared in {v}.
            {S} came out in {v}.
            Readers could first buy {S} in {v}.
            {P} year of publication is {v}.
            It was in {v} that {S} reached the bookshops.
            """, """
            In which year was {n} published?
            When did {n} first appear?
            """),
        relation("genre", choice("a crime novel", "a family saga", "a collection of essays", "a travel diary",
                                 "a satire", "a ghost story", "a verse epic", "a love story", "a sea adventure",
                                 "a school novel", "a political thriller", "a memoir"), """
            {S} is {v}.
            Critics class {S} as {v}.
            Libraries shelve {S} as {v}.
            In form {S} is {v}.
            {S} was announced by its publisher as {v}.
            Most readers take {S} for {v}.
            """, """
            What genre is {n}?
            What kind of book is {n}?
            """),
        relation("setting", named("town"), """
            {S} is set in {v}.
            The story of {S} takes place in {v}.
            {P} plot unfolds in {v}.
            Readers of {S} are led through the streets of {v}.
            The events of {S} happen in {v}.
            {v} is the scene of {S}.
            """, """
            Where is {n} set?
            In which town does the story of {n} take place?
            """),
        relation("pages", count(110, 980), """
            {S} has {v} pages.
            The first edition of {S} ran to {v} pages.
            {P} length is {v} pages.
            On {v} pages {S} tells a single story.
            In print {S} fills {v} pages.
            A reader of {S} has {v} pages to go through.
            """, """
            How many pages does {n} have?
            How long is {n} in pages?
            """),
        relation("copies", count(11_000, 940_000, 500), """
            {S} sold {v} copies.
            Sales of {S} reached {v} copies.
            The publisher sold {v} copies of {S}.
            A total of {v} copies of {S} have been sold.
            {P} sales stand at {v} copies.
            Within ten years {v} copies of {S} found a buyer.
            """, """
            How many copies of {n} were sold?
            How many copies did {n} sell?
            """),
        relation("hero", named("person"), """
            The hero of {S} is called {v}.
            {S} follows the life of {v}.
            At the centre of {S} stands {v}.
            {P} main character is {v}.
            The narrator of {S} observes {v}.
            In {S} everything turns around {v}.
            """, """
            Who is the main character of {n}?
            What is the hero of {n} called?
            """),
        relation("film", year(1926, 2020), """
            A film of {S} was made in {v}.
            {S} was turned into a film in {v}.
            In {v} {S} came to the cinemas.
            The film version of {S} dates from {v}.
            {P} film version was shot in {v}.
            Since {v} there has also been a film of {S}.
            """, """
            In which year was {n} turned into a film?
            When was the film of {n} made?
            """),
        relation("translated", count(3, 20), """
            {S} was translated into {v} languages.
            Translations of {S} exist in {v} languages.
            {S} can be read in {v} languages.
            Publishers have brought out {S} in {v} languages.
            {P} translations cover {v} languages.
            So far {v} languages have a translation of {S}.
            """, """
            Into how many languages was {n} translated?
            """),
    ),
    fillers("""
        Opinions about the ending differ.
        Several passages were cut by an editor.
        The cover of the first printing is rare.
        School classes read excerpts now and then.
        Reviewers praised the language.
        A letter about the work is kept in an archive.
        """),
)  # fmt: skip
