# ruff: noqa: E501
"""Towns."""

from __future__ import annotations

from sim.corpora.synthetic.kinds import Kind, fillers, relation
from sim.corpora.synthetic.values import choice, count, named, quantity, year

TOWN = Kind(
    "places", "place", "the town", "it", "its",
    (
        relation("founded", year(1100, 1835), """
            {S} was founded in {v}.
            The founding of {S} goes back to {v}.
            It was in {v} that settlers founded {S}.
            {P} charter dates from {v}, when the first settlers arrived.
            Settlers laid out {S} in {v} around a single well.
            The oldest houses of {S} were built in {v}, the year of the foundation.
            Since its foundation in {v}, {S} has burned down twice and was rebuilt each time.
            """, """
            In which year was {n} founded?
            When was the town of {n} founded?
            """),
        relation("population", count(2_000, 98_000, 10), """
            {S} has {v} inhabitants.
            {P} population stands at {v}.
            The last census counted {v} residents in {S}.
            {S} is home to {v} people.
            With a population of {v}, {S} ranks among the mid-sized settlements of the province.
            A total of {v} people were registered in {S} at the latest count.
            At the end of last year {v} persons lived in {S}.
            """, """
            How many people live in {n}?
            What is the population of {n}?
            """),
        relation("river", named("river"), """
            {S} lies on the {v} river.
            The {v} river flows through the middle of {S}.
            {P} old quarter looks down on the {v} river.
            Barges on the {v} river still stop at {S}.
            The water of {S} is drawn from the {v} river.
            On the banks of the {v} river stands {S}.
            In spring the {v} river often floods the lower streets of {S}.
            """, """
            On which river does {n} lie?
            Which river flows through {n}?
            """),
        relation("mayor", named("person"), """
            The mayor of {S} is {v}.
            {S} is governed by its mayor, {v}.
            In the last election {v} became mayor of {S}.
            The office of mayor of {S} is held by {v}.
            {P} council elected {v} as mayor.
            Since the last vote the town hall of {S} has been led by {v}.
            As mayor, {v} represents {S} before the province.
            """, """
            Who is the mayor of {n}?
            Which mayor governs {n}?
            """),
        relation("elevation", quantity(20, 2400, ("metres", "m"), 5), """
            {S} lies {v} above sea level.
            The elevation of {S} is {v}.
            {P} market square is at a height of {v}.
            Surveyors give the height of {S} as {v}.
            At an altitude of {v}, {S} has cool nights even in summer.
            The station of {S} was measured at {v} above the sea.
            """, """
            At what elevation does {n} lie?
            How high above sea level is {n}?
            """),
        relation("product", choice("glass", "felt", "salt", "copper wire", "clocks", "paper", "rope", "cheese",
                                   "saddles", "candles", "porcelain", "barrels", "bells", "linen", "knives"), """
            {S} is known for its {v}.
            Most workshops of {S} make {v}.
            The chief product of {S} is {v}.
            {P} wealth came from the trade in {v}.
            For generations families in {S} have produced {v}.
            What {S} sells to the rest of the country is mainly {v}.
            Traders come to {S} to buy {v}.
            """, """
            What product is {n} known for?
            Which goods are mainly made in {n}?
            """),
        relation("festival", choice("January", "February", "March", "April", "May", "June", "July", "August",
                                    "September", "October", "November", "December"), """
            The lantern festival of {S} is held in {v}.
            Every {v} {S} celebrates its lantern festival.
            {P} lantern festival takes place in {v}.
            Lanterns are lit all over {S} in {v}, during the yearly festival.
            Visitors come in {v} for the lantern festival of {S}.
            In {v} the streets of {S} fill up for the lantern festival.
            """, """
            In which month is the lantern festival of {n} held?
            When does {n} celebrate its lantern festival?
            """),
        relation("direction", choice("north", "south", "east", "west", "northeast", "southwest", "northwest",
                                     "southeast"), """
            {S} is situated to the {v} of the provincial capital.
            From the provincial capital one travels {v} to reach {S}.
            The road to {S} leaves the provincial capital in the {v}.
            {S} lies {v} of the provincial capital.
            On the map {S} appears to the {v} of the provincial capital.
            Anyone who leaves the provincial capital towards the {v} comes to {S}.
            """, """
            In which direction from the provincial capital does {n} lie?
            """),
        relation("railway", year(1840, 1965), """
            The railway reached {S} in {v}.
            {S} has had a railway station since {v}.
            {P} first train arrived in {v}.
            In {v} the railway line was extended to {S}.
            Rails connected {S} with the coast in {v}.
            A station was opened in {S} in {v}.
            """, """
            When did the railway reach {n}?
            In which year was the railway station of {n} opened?
            """),
    ),
    fillers("""
        Travellers often speak well of the quiet streets.
        Little has been written about everyday life there.
        The old walls have mostly disappeared.
        Many of the younger people have moved to the coast.
        A small museum near the square tells the story to visitors.
        The surrounding hills are covered with pines.
        """),
)  # fmt: skip
