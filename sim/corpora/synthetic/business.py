# ruff: noqa: E501
"""Companies."""

from __future__ import annotations

from sim.corpora.synthetic.kinds import Kind, fillers, relation
from sim.corpora.synthetic.values import choice, count, named, quantity, year

COMPANY = Kind(
    "business", "firm", "the company", "it", "its",
    (
        relation("founded", year(1880, 2012), """
            {S} was founded in {v}.
            {P} foundation dates from {v}.
            The articles of incorporation of {S} were signed in {v}.
            {S} has been in business since {v}.
            In {v} {S} was entered in the register of companies.
            It was in {v} that {S} opened its first office.
            """, """
            In which year was {n} founded?
            Since when has {n} been in business?
            """),
        relation("founder", named("person"), """
            {S} was founded by {v}.
            The founder of {S} is {v}.
            It was {v} who started {S} with a small loan.
            {P} first owner and founder was {v}.
            {v} set up {S} in a rented workshop.
            Behind the foundation of {S} stood {v}.
            """, """
            Who founded {n}?
            Who is the founder of {n}?
            """),
        relation("seat", named("town"), """
            {S} has its headquarters in {v}.
            The head office of {S} is in {v}.
            {P} management works from {v}.
            From its base in {v}, {S} runs all of its plants.
            {S} is registered and headquartered in {v}.
            In {v} stands the main building of {S}.
            """, """
            Where does {n} have its headquarters?
            In which town is the head office of {n}?
            """),
        relation("product", choice("water pumps", "elevators", "ceramic tiles", "optical lenses", "tractors",
                                   "batteries", "sewing machines", "signal lamps", "pipe organs", "solar panels",
                                   "bicycles", "printing presses", "cranes", "scales"), """
            {S} makes {v}.
            {P} main product line is {v}.
            The plants of {S} turn out {v}.
            Customers buy {v} from {S}.
            Most of what {S} sells is {v}.
            {S} is a manufacturer of {v}.
            {v} account for the greater part of the output of {S}.
            """, """
            What does {n} make?
            Which product does {n} manufacture?
            """),
        relation("employees", count(2_200, 46_000, 10), """
            {S} employs {v} people.
            {P} workforce numbers {v}.
            A staff of {v} works for {S}.
            The payroll of {S} lists {v} employees.
            {S} has {v} employees at all sites together.
            With {v} workers, {S} is a large employer of its region.
            """, """
            How many people does {n} employ?
            How many employees does {n} have?
            """),
        relation("revenue", quantity(12, 990, ("million crowns", "m crowns")), """
            {S} reported revenue of {v}.
            {P} revenue came to {v} in the last fiscal year.
            Annual revenue of {S} amounts to {v}.
            In its latest report {S} stated a revenue of {v}.
            Revenue at {S} was {v} over the past year.
            The books of {S} show {v} of revenue for the year.
            """, """
            What revenue did {n} report?
            How much revenue did {n} have in the last fiscal year?
            """),
        relation("trend", choice("rose", "fell"), """
            Orders at {S} {v} over the last quarter.
            The order book of {S} {v} compared with the quarter before.
            In the last quarter the orders of {S} {v}.
            {P} orders {v} last quarter.
            During the past quarter, orders placed with {S} {v} again.
            The volume of orders at {S} {v} between the last two quarters.
            """, """
            Did the orders of {n} rise or fall in the last quarter, that is, what did they do?
            """),
        relation("margin", quantity(2, 38, ("%", "percent", "per cent")), """
            {S} kept an operating margin of {v}.
            {P} operating margin was {v}.
            The operating margin of {S} reached {v}.
            Analysts put the operating margin of {S} at {v}.
            An operating margin of {v} was achieved by {S}.
            Of every sale, {S} keeps {v} as operating margin.
            """, """
            What is the operating margin of {n}?
            """),
        relation("chief", named("person"), """
            {S} is led by {v}.
            The chief executive of {S} is {v}.
            {P} chief executive is {v}.
            The board of {S} appointed {v} as chief executive.
            As chief executive, {v} runs {S}.
            The management of {S} is headed by {v}.
            """, """
            Who is the chief executive of {n}?
            Who leads {n}?
            """),
    ),
    fillers("""
        No forecast has been given for the coming year.
        Trade papers follow the firm closely.
        The shares are mostly held by families.
        A new plant has been discussed several times.
        Competitors sell similar goods at similar prices.
        The annual report is available on request.
        """),
)  # fmt: skip
