# ruff: noqa: E501
"""Bridges, tunnels, dams and the like."""

from __future__ import annotations

from sim.corpora.synthetic.kinds import Kind, fillers, relation
from sim.corpora.synthetic.values import choice, named, quantity, year

STRUCTURE = Kind(
    "engineering", "structure", "the structure", "it", "its",
    (
        relation("length", quantity(80, 9800, ("metres", "m"), 5), """
            {S} is {v} long.
            The total length of {S} is {v}.
            {S} measures {v} from end to end.
            {P} length was given as {v} by the builders.
            Over a length of {v}, {S} has no bend.
            Those who walk along {S} cover {v}.
            """, """
            How long is {n}?
            What is the length of {n}?
            """),
        relation("opened", year(1780, 2010), """
            {S} was opened in {v}.
            The opening of {S} took place in {v}.
            {S} has been in use since {v}.
            In {v} a minister opened {S}.
            {P} first year of service was {v}.
            It was in {v} that {S} was handed over to the public.
            """, """
            In which year was {n} opened?
            Since when has {n} been in use?
            """),
        relation("architect", named("person"), """
            {S} was designed by {v}.
            The plans of {S} were drawn by {v}.
            The architect of {S} was {v}.
            {v} designed {S} after a study tour.
            {P} design goes back to {v}.
            For the design of {S} the province hired {v}.
            """, """
            Who designed {n}?
            Who was the architect of {n}?
            """),
        relation("near", named("town"), """
            {S} stands close to {v}.
            The nearest town to {S} is {v}.
            {v} can be seen from {S}.
            From {v} a footpath leads to {S}.
            {P} keeper lives in {v}, the nearest town.
            {S} belongs to the district of {v}.
            """, """
            Which town is nearest to {n}?
            Near which town does {n} stand?
            """),
        relation("cost", quantity(2, 890, ("million crowns", "m crowns")), """
            {S} cost {v}.
            The cost of {S} came to {v}.
            Building {S} took {v} of public money.
            {P} price was {v}.
            A sum of {v} was spent on {S}.
            Accounts put the expense for {S} at {v}.
            """, """
            How much did {n} cost?
            What was the cost of {n}?
            """),
        relation("material", choice("granite", "steel", "timber", "brick", "concrete", "limestone", "cast iron",
                                    "basalt", "sandstone", "aluminium"), """
            {S} is built of {v}.
            The main material of {S} is {v}.
            {v} was used for most of {S}.
            The builders of {S} chose {v}.
            {P} visible parts are made of {v}.
            For {S}, {v} was brought in by ship.
            """, """
            What is {n} built of?
            Which material is {n} made of?
            """),
        relation("height", quantity(12, 320, ("metres", "m")), """
            {S} reaches a height of {v}.
            At its highest point {S} rises {v} above the water.
            {P} height is {v}.
            The tallest part of {S} stands {v} high.
            Engineers measured a height of {v} at {S}.
            With a height of {v}, {S} can be seen from afar.
            """, """
            How high is {n}?
            What is the height of {n}?
            """),
        relation("closed", choice("January", "February", "March", "April", "May", "June", "July", "August",
                                  "September", "October", "November", "December"), """
            {S} is closed for repairs every {v}.
            In {v} {S} is shut for inspection.
            Each {v} all traffic over {S} stops for an inspection.
            The yearly inspection of {S} falls in {v}.
            {P} yearly repairs are done in {v}.
            During {v} {S} stays closed while workers repair it.
            """, """
            In which month is {n} closed for repairs?
            When does the yearly inspection of {n} take place?
            """),
        relation("firm", named("firm"), """
            {S} was built by the firm {v}.
            The contract for {S} went to {v}.
            Workers of {v} built {S}.
            {P} builder was the firm {v}.
            The construction of {S} was in the hands of {v}.
            The firm {v} needed six years to build {S}.
            """, """
            Which firm built {n}?
            Who received the contract for {n}?
            """),
    ),
    fillers("""
        Photographs of the site are popular.
        The lighting was renewed some time ago.
        A ticket was needed in the early days.
        Old plans are kept in the provincial archive.
        Birds nest on the upper ledges.
        Storms have caused only slight damage so far.
        """),
)  # fmt: skip
