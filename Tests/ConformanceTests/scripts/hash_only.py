"""Checks hash-only payloads, their bodies and their assertions with third-party code.

Usage: hash_only.py CASES KEY.PEM

CASES has one JSON object per line: the values of a payload ("float" members as the 16 hexadecimal digits of a
binary64), and the results: base64 of the signed bytes and of the body for each profile, and the counter for signed
bodies. Prints one JSON object: the number of cases, and the first few failures.
"""

import base64
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
from decimal import Decimal

import cbor2
import rfc8785

BODY_LIMIT = 10240
OPENSSL_SAMPLES = 4


def wide(digits):
    return struct.unpack(">d", bytes.fromhex(digits))[0]


def narrow(digits):
    return struct.unpack(">f", struct.pack(">f", wide(digits)))[0]


def depth(values, temporal=False):
    names = ["mean_variance", "variance_stability", "temporal_coherence"] if temporal else [
        "depth_variance", "edge_coherence", "min_depth", "max_depth"]
    return {name: narrow(values[name]) for name in names}


def canonical_object(case):
    """Contract 3.4: everything but the assertion."""
    d = case["depth_analysis"]
    value = {
        "capture_mode": "hash_only", "media_hash": case["media_hash"], "media_type": case["media_type"],
        "captured_at": case["captured_at"], "metadata_flags": case["metadata_flags"],
        "depth_analysis": depth(d) | {
            "depth_layers": d["depth_layers"], "is_likely_real_scene": d["is_likely_real_scene"],
            "algorithm_version": "1.0", "status": d["status"]},
        "metadata": metadata(case, exact=True),
    }
    return value | video(case.get("video"))


def metadata(case, exact):
    given = case["metadata"]
    value = {}
    if "latitude" in given:
        degrees = {name: wide(given[name]) for name in ("latitude", "longitude")}
        if not exact:
            degrees = {name: float("%.15g" % number) for name, number in degrees.items()}
        value["location"] = degrees
    elif "country" in given:
        value["location"] = {name: given[name] for name in ("city", "country") if name in given}
    for name in ("timestamp", "device_model"):
        if name in given:
            value[name] = given[name]
    return value


def video(given):
    if given is None:
        return {}
    value = {
        "hash_chain": given["hash_chain"] | {"version": "1.0"},
        "frame_count": given["frame_count"], "duration_ms": given["duration_ms"],
    }
    if "temporal" in given:
        t = given["temporal"]
        value["temporal_depth_analysis"] = depth(t, temporal=True) | {
            "is_likely_real_scene": t["is_likely_real_scene"], "keyframe_count": t["keyframe_count"],
            "algorithm_version": "1.0"}
    return value


def float_text(number):
    """Contract 2.1: shortest digits, always a fraction or an exponent."""
    if number == 0:
        return "0.0"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    k = len(digits) + exponent
    text = "".join(map(str, digits)).rstrip("0")
    sign = "-" if sign else ""
    if not -5 < k <= 16:
        return f"{sign}{text[0]}{'.' if text[1:] else ''}{text[1:]}e{k - 1}"
    if k <= 0:
        return f"{sign}0.{'0' * -k}{text}"
    text = text.ljust(k, "0")
    return f"{sign}{text[:k]}.{text[k:] or '0'}"


def string_text(text):
    names = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    return '"' + "".join(names.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'


def text_of(value):
    """Contract 2.1 for a value whose members are in order."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{string_text(name)}:{text_of(member)}" for name, member in value.items()) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    return str(value) if isinstance(value, int) else string_text(value)


def reference_bytes(case):
    d, flags = case["depth_analysis"], case["metadata_flags"]
    numbers = depth(d)
    order = ["location_included", "location_level", "timestamp_included", "timestamp_level", "device_info_included",
             "device_info_level"]
    return text_of({
        "capture_mode": "hash_only", "captured_at": case["captured_at"],
        "depth_analysis": {
            "depth_variance": numbers["depth_variance"], "depth_layers": d["depth_layers"],
            "edge_coherence": numbers["edge_coherence"], "min_depth": numbers["min_depth"],
            "max_depth": numbers["max_depth"], "is_likely_real_scene": d["is_likely_real_scene"],
            "algorithm_version": "1.0"},
        "media_hash": case["media_hash"], "media_type": case["media_type"],
        "metadata": metadata(case, exact=False),
        "metadata_flags": {name: flags[name] for name in order},
    }).encode()


def parsed(text):
    """All numbers are binary64 in RFC 8785, including integers that binary64 cannot represent exactly."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 16 else float(digits))


def check(case, profile, expected, key, samples):
    made = case[profile]
    signed, body = base64.b64decode(made["signed"]), base64.b64decode(made["body"])
    if signed != expected:
        return f"{profile}: signed {signed!r}, not {expected!r}"
    if len(body) >= BODY_LIMIT:
        return f"{profile}: {len(body)} bytes"
    members = parsed(body)
    assertion = members.pop("assertion")
    if profile == "mediactl-1" and rfc8785.dumps(members) != signed:
        return "the body without its assertion differs from the signed bytes"
    for name, value in parsed(signed).items():
        if json.dumps(members[name]) != json.dumps(value):
            return f"{profile}: {name} is spelled differently in the body"
    if any(members[name] != value for name, value in video(case.get("video")).items()):
        return f"{profile}: the members of the video differ"
    if "counter" not in case:
        return None
    decoded = cbor2.loads(base64.b64decode(assertion, validate=True))
    data, signature = decoded["authenticatorData"], decoded["signature"]
    if set(decoded) != {"authenticatorData", "signature"} or len(data) != 37 or len(signature) != 64:
        return f"{profile}: no assertion: {decoded}"
    if data[:32] != hashlib.sha256(b"mediactl-1").digest() or int.from_bytes(data[33:], "big") != case["counter"]:
        return f"{profile}: relying party or counter: {data.hex()}"
    if len(samples) < OPENSSL_SAMPLES:
        samples.append(verified(data + hashlib.sha256(signed).digest(), signature, key))
        if not samples[-1]:
            return f"{profile}: openssl rejects the signature"
    return None


def verified(message, raw, key):
    def integer(octets):
        octets = octets.lstrip(b"\0") or b"\0"
        octets = b"\0" + octets if octets[0] & 0x80 else octets
        return bytes([2, len(octets)]) + octets
    content = integer(raw[:32]) + integer(raw[32:])
    with tempfile.NamedTemporaryFile() as signature:
        signature.write(bytes([0x30, len(content)]) + content)
        signature.flush()
        result = subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", key, "-signature", signature.name], input=message,
            capture_output=True)
    return result.returncode == 0


def main():
    failures, samples, count = [], [], 0
    with open(sys.argv[1], encoding="utf-8") as cases:
        for line in cases:
            case = json.loads(line)
            count += 1
            failures.append(check(case, "mediactl-1", rfc8785.dumps(canonical_object(case)), sys.argv[2], samples))
            if "reference" in case:
                failures.append(check(case, "reference", reference_bytes(case), sys.argv[2], samples))
    failures = [failure for failure in failures if failure]
    print(json.dumps({"cases": count, "openssl": len(samples), "failures": failures[:5]}))


main()
