# ruff: noqa: E501
"""Medicines."""

from __future__ import annotations

from sim.corpora.synthetic.kinds import Kind, fillers, relation
from sim.corpora.synthetic.values import choice, count, named, quantity, year

DRUG = Kind(
    "medicine", "drug", "the medicine", "it", "its",
    (
        relation("treats", named("condition"), """
            {S} is used to treat {v}.
            Doctors prescribe {S} for {v}.
            Patients with {v} are given {S}.
            {P} only approved use is the treatment of {v}.
            The treatment of {v} often begins with {S}.
            Against {v}, {S} has become the usual choice.
            {S} relieves the symptoms of {v}.
            """, """
            Which condition is {n} used to treat?
            What is {n} prescribed for?
            """),
        relation("dose", quantity(10, 800, ("mg", "milligrams"), 5), """
            The usual dose of {S} is {v}.
            Adults take {v} of {S} at a time.
            {S} is taken in a single dose of {v}.
            A tablet of {S} holds {v}, which is one dose.
            {P} recommended dose is {v}.
            Guidelines set the dose of {S} at {v}.
            """, """
            What is the usual dose of {n}?
            How much {n} should be taken at a time?
            """),
        relation("times", choice("once a day", "twice a day", "three times a day", "every other day",
                                 "once a week", "every six hours"), """
            {S} is taken {v}.
            Patients are told to take {S} {v}.
            {P} schedule is simple: {v}.
            The leaflet says that {S} should be used {v}.
            It is enough to give {S} {v}.
            Doses of {S} follow {v}.
            """, """
            How often is {n} taken?
            """),
        relation("avoid", named("substance"), """
            {S} must not be combined with {v}.
            Together with {v}, {S} can cause dangerous bleeding.
            Patients who take {v} should not receive {S}.
            The use of {S} is contraindicated during treatment with {v}.
            {P} label warns against the combination with {v}.
            Anyone on {v} has to avoid {S}.
            """, """
            With which substance must {n} not be combined?
            Which medicine should not be taken together with {n}?
            """),
        relation("side effect", choice("drowsiness", "a dry mouth", "blurred vision", "hair loss", "joint pain",
                                       "nausea", "a skin rash", "night sweats", "ringing in the ears",
                                       "muscle cramps", "a metallic taste", "weight gain"), """
            The most common side effect of {S} is {v}.
            Many patients on {S} report {v}.
            {S} often causes {v}.
            Under {S}, {v} has been seen more often than any other side effect.
            {P} best known side effect is {v}.
            In trials of {S}, {v} was the complaint heard most.
            """, """
            What is the most common side effect of {n}?
            Which side effect does {n} often cause?
            """),
        relation("approved", year(1952, 2019), """
            {S} was approved in {v}.
            The approval of {S} came in {v}.
            Regulators admitted {S} to the market in {v}.
            {S} has been on the market since {v}.
            {P} licence was granted in {v}.
            It took until {v} before {S} was approved.
            """, """
            In which year was {n} approved?
            When did {n} come onto the market?
            """),
        relation("meals", choice("before meals", "after meals"), """
            {S} should be taken {v}.
            The tablets of {S} work best when swallowed {v}.
            Take {S} {v}, with a glass of water.
            {P} leaflet recommends a dose {v}.
            To be absorbed well, {S} has to be taken {v}.
            It is important to use {S} {v}.
            """, """
            Should {n} be taken before or after meals, that is, when?
            """),
        relation("trial", count(120, 990), """
            A trial with {v} patients tested {S}.
            {S} was studied in {v} patients.
            In the main study {v} patients received {S}.
            {P} effect was shown in a study of {v} patients.
            The largest trial of {S} enrolled {v} patients.
            Researchers followed {v} patients treated with {S}.
            """, """
            How many patients took part in the main study of {n}?
            """),
        relation("improved", quantity(35, 94, ("%", "percent", "per cent")), """
            Symptoms improved in {v} of those treated with {S}.
            {S} helped {v} of the patients.
            An improvement under {S} was seen in {v} of cases.
            The response rate to {S} was {v}.
            {P} response rate reached {v}.
            Of the patients on {S}, {v} got better.
            """, """
            What share of patients improved under {n}?
            What was the response rate to {n}?
            """),
    ),
    fillers("""
        Longer studies are still under way.
        The tablets are small and white.
        Pharmacists usually keep a small stock.
        Its chemistry was first described by a university group.
        Questions about costs have been raised.
        A generic form is expected at some point.
        """),
)  # fmt: skip
