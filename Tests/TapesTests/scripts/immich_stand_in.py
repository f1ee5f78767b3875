"""A stand-in for an Immich server, in memory: the parts of versions 2 and 3 that tapes require.

    immich_stand_in.py [--major 2|3] [--until-input-ends]

Prints its address. With --until-input-ends it exits at the end of its input, that is, with its parent process. The
server is at `/api`; `POST /__control/worlds` creates more servers, each at `/NAME/api`, so that tests are isolated.
Every request is first parsed by the models of immichpy; a request that they reject is a violation, which
`GET /__control/worlds/NAME` returns.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import socket
import sys
import threading
from urllib.parse import parse_qsl

import immich_models as models
from flask import Flask, Response, g, request
from immich_world import EXTENSIONS, World, new_id
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder
from werkzeug.serving import WSGIRequestHandler, make_server

app = Flask(__name__)
worlds = {}


class Problem(Exception):
    """A refusal with the server's message."""

    def __init__(self, status, message, errors=None):
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors


def problem(world, error):
    if world.major == 2:
        body = {"message": error.errors or error.message, "error": "Refused", "statusCode": error.status}
        return json_response(body | {"correlationId": "c-2"}, error.status)
    body = {"message": error.message} | ({"errors": error.errors} if error.errors else {})
    response = json_response(body, error.status)
    response.headers["X-Correlation-ID"] = "c-3"
    return response


def json_response(body, status=200, model=None):
    if model is not None and g.world.major == 3:
        models.checked(model, body)
    text = "" if body is None else json.dumps(body)
    return Response(text, status=status, content_type="application/json; charset=utf-8")


def validation(*texts):
    return Problem(400, "Validation failed", list(texts))


# Before every request


def enter(world_name, path):
    g.world = world = worlds[world_name]
    record = {
        "method": request.method, "path": path, "query": request.query_string.decode(),
        "headers": [[name.lower(), value] for name, value in request.headers],
    }
    with world.lock:
        world.requests.append(record)
    return record


def apply_fault(fault):
    """Responds as a fault specifies."""
    if fault.get("drop"):
        request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        return Response(status=500)
    if fault.get("drain"):
        request.get_data()
    body = fault.get("body", "")
    response = Response(
        body if isinstance(body, str) else json.dumps(body),
        status=fault.get("status", 200),
        content_type=fault.get("type", "application/json"),
    )
    for name, value in fault.get("headers", {}).items():
        response.headers[name] = value
    return response


def account(permission=None):
    """The key of the request."""
    if "cookie" in request.headers or "authorization" in request.headers:
        g.world.violations.append("a session beside the key: the key's permissions would not count")
    secret = request.headers.get("x-api-key")
    if secret is None:
        raise Problem(401, "Authentication required")
    key = g.world.keys.get(secret)
    if key is None:
        raise Problem(401, "Invalid API key")
    if permission and not {permission, "all"} & set(key["permissions"]):
        raise Problem(403, f"Missing required permission: {permission}")
    return key


def body(model):
    """The JSON of the request, validated by the model."""
    given = request.get_json(force=True, silent=True)
    g.record["json"] = given
    refused = models.complaint_about_body(model, given)
    for name in [] if refused else given.get("ids", []):
        refused = refused or (None if models.is_id(name) else f"not a version 4 UUID: {name}")
    if refused:
        g.world.violations.append(refused)
        raise validation(refused)
    return given


def own_album(key, album_id, permission):
    if not models.is_id(album_id):
        g.world.violations.append(f"not a version 4 UUID: {album_id}")
        raise validation("id must be a UUID")
    album = g.world.own_album(key["user"], album_id)
    if album is None:
        raise Problem(400, f"Not found or no {permission} access")
    return album


# Routes


@app.route("/api/<path:path>", methods=["GET", "POST", "PUT", "DELETE"], defaults={"world": ""})
@app.route("/<world>/api/<path:path>", methods=["GET", "POST", "PUT", "DELETE"])
def api(world, path):
    if world not in worlds:
        return Response("<!doctype html><title>404</title>", status=404, content_type="text/html")
    g.record = enter(world, "/" + path)
    with g.world.uploading() if (request.method, path) == ("POST", "assets") else contextlib.nullcontext():
        return respond(path)


def respond(path):
    fault = g.world.fault(request.method, "/" + path, "before")
    if fault:
        return apply_fault(fault)
    try:
        with g.world.lock:
            response = route(request.method, path.split("/"))
    except Problem as error:
        response = problem(g.world, error)
    fault = g.world.fault(request.method, "/" + path, "after")
    return apply_fault(fault) if fault else response


def route(method, parts):
    match (method, *parts):
        case ("GET", "server", "ping"):
            return json_response({"res": "pong"})
        case ("GET", "server-info", "version") if tuple(g.world.version) < (1, 118):
            return json_response(dict(zip(("major", "minor", "patch"), g.world.version)))
        case ("GET", "server", "version") if tuple(g.world.version) >= (1, 107):
            major, minor, patch = g.world.version
            form = {"major": major, "minor": minor, "patch": patch}
            return json_response(form | ({"prerelease": None} if major >= 3 else {}), model=models.ServerVersionResponseDto)
        case ("GET", "server", "media-types"):
            return json_response(EXTENSIONS, model=models.ServerMediaTypesResponseDto)
        case ("GET", "api-keys", "me"):
            key = account()
            form = {name: key[name] for name in ("id", "name", "permissions")}
            times = {"createdAt": "2026-01-02T03:04:05.678Z", "updatedAt": "2026-01-02T03:04:05.678Z"}
            return json_response(form | times, model=models.ApiKeyResponseDto)
        case ("GET", "users", "me"):
            return json_response(g.world.account_form(account("user.read")["user"]), model=models.UserAdminResponseDto)
        case ("POST", "albums"):
            return create_album(account("album.create"))
        case ("GET", "albums"):
            return list_albums(account("album.read"))
        case ("GET", "albums", album_id):
            album = own_album(account("album.read"), album_id, "album.read")
            return json_response(g.world.album_form(album), model=models.AlbumResponseDto)
        case ("DELETE", "albums", album_id):
            del g.world.albums[own_album(account("album.delete"), album_id, "album.delete")["id"]]
            return json_response(None, 204)
        case ("PUT", "albums", album_id, "assets"):
            return add_assets(account("albumAsset.create"), album_id)
        case ("DELETE", "albums", album_id, "assets"):
            return remove_assets(account("albumAsset.delete"), album_id)
        case ("POST", "assets", "bulk-upload-check"):
            return check(account("asset.upload"))
        case ("POST", "assets"):
            return upload(account("asset.upload"))
        case ("POST", "search", "metadata"):
            return search(account("asset.read"))
    raise Problem(404, f"Cannot {method} /api/{'/'.join(parts)}")


# Albums


def create_album(key):
    given = body(models.CreateAlbumDto)
    known = [i for i in given.get("assetIds") or [] if i in g.world.assets]
    album = {
        "id": new_id(), "name": given["albumName"], "description": given.get("description") or "",
        "owner": key["user"], "assets": known,
    }
    g.world.albums[album["id"]] = album
    return json_response(g.world.album_form(album), 201, models.AlbumResponseDto)


def list_albums(key):
    query = parse_qsl(request.query_string.decode(), keep_blank_values=True)
    allowed = {"shared", "assetId"} if g.world.major == 2 else {"name", "id", "isOwned", "isShared", "assetId"}
    refused = None if g.world.major == 2 else models.complaint_about_query(query)
    if refused or not {name for name, _ in query} <= allowed:
        g.world.violations.append(refused or f"a query that version 2 does not support: {query}")
        raise validation(refused or "unknown parameter")
    filters = dict(query)
    albums = g.world.albums.values()
    # Version 3 also lists albums shared by others, unless isOwned is true.
    if g.world.major == 2 or filters.get("isOwned") == "true":
        albums = [album for album in albums if album["owner"] == key["user"]]
    if "assetId" in filters:
        albums = [album for album in albums if filters["assetId"] in album["assets"]]
    if "name" in filters:
        albums = [album for album in albums if album["name"] == filters["name"]]
    return json_response([g.world.album_form(album) for album in albums], model=models.AlbumResponseDto)


def add_assets(key, album_id):
    ids = body(models.BulkIdsDto)["ids"]
    album = own_album(key, album_id, "albumAsset.create")
    results = []
    for asset_id in ids:
        asset = g.world.assets.get(asset_id)
        if asset_id in album["assets"]:
            results.append({"id": asset_id, "success": False, "error": "duplicate"})
        elif asset is None or asset["owner"] != key["user"]:
            results.append({"id": asset_id, "success": False, "error": "no_permission"})
        else:
            album["assets"].append(asset_id)
            results.append({"id": asset_id, "success": True})
    return json_response(results, model=models.BulkIdResponseDto)


def remove_assets(key, album_id):
    ids = body(models.BulkIdsDto)["ids"]
    album = own_album(key, album_id, "albumAsset.delete")
    results = []
    for asset_id in ids:
        if asset_id in album["assets"]:
            album["assets"].remove(asset_id)
            results.append({"id": asset_id, "success": True})
        else:
            results.append({"id": asset_id, "success": False, "error": "not_found"})
    return json_response(results, model=models.BulkIdResponseDto)


# Assets


def check(key):
    files = body(models.AssetBulkUploadCheckDto)["assets"]
    results = []
    for file in files:
        found = g.world.own(key["user"], file["checksum"])
        if found is None:
            results.append({"id": file["id"], "action": "accept"})
        else:
            known = {"reason": "duplicate", "assetId": found["id"], "isTrashed": found["trashed"]}
            results.append({"id": file["id"], "action": "reject"} | known)
    # The order is unspecified.
    return json_response({"results": results[::-1]}, model=models.AssetBulkUploadCheckResponseDto)


def search(key):
    given = body(models.MetadataSearchDto)
    items = [asset for asset in g.world.assets.values() if asset["owner"] == key["user"]]
    if "checksum" in given:
        found = g.world.own(key["user"], given["checksum"])
        items = [found] if found else []
    if "originalPath" in given:
        items = [asset for asset in items if given["originalPath"].lower() in asset["path"].lower()]
    size, page = 2, int(given.get("page", 1))
    shown = items[(page - 1) * size : page * size]
    following = str(page + 1) if page * size < len(items) else None
    assets = {
        "count": len(shown), "facets": [], "items": [g.world.asset_form(asset) for asset in shown],
        "nextPage": following, "nextCursor": None, "total": len(items),
    }
    albums = {"count": 0, "facets": [], "items": [], "total": 0}
    return json_response({"assets": assets, "albums": albums}, model=models.SearchResponseDto)


def parts_of_form():
    """The parts of the body in order of arrival: (name, file name or None, bytes)."""
    _, options = parse_options_header(request.headers.get("content-type", ""))
    decoder = MultipartDecoder(options.get("boundary", "").encode(), max_form_memory_size=None)
    decoder.receive_data(request.get_data())
    decoder.receive_data(None)
    parts = []
    while not isinstance(event := decoder.next_event(), Epilogue):
        if isinstance(event, (Field, File)):
            parts.append([event.name, event.filename if isinstance(event, File) else None, b""])
        elif isinstance(event, Data):
            parts[-1][2] += event.data
    return parts


def upload(key):
    world = g.world
    claimed = request.headers.get("x-immich-checksum")
    if claimed is not None:
        if len(claimed) != 28:
            world.violations.append(f"a checksum that would be read as hexadecimal: {claimed}")
        known = world.own(key["user"], claimed)
        if known:
            # The body is not read.
            return json_response({"id": known["id"], "status": "duplicate"}, model=models.AssetMediaResponseDto)
    parts = parts_of_form()
    g.record["form"] = [[name, file_name, len(data)] for name, file_name, data in parts]
    g.record["fields"] = [[name, data.decode()] for name, file_name, data in parts if file_name is None]
    place = next((i for i, part in enumerate(parts) if part[0] == "assetData"), len(parts))
    # Fields after the file are ignored.
    fields = [(name, data.decode()) for name, _, data in parts[:place]]
    refused = models.complaint_about_form(fields)
    missing = models.FIELDS_OF_VERSION_2 - {name for name, _ in fields} if world.major == 2 else set()
    if refused or missing:
        world.violations.append(refused or f"version 2 requires {sorted(missing)}")
        raise validation(*[f"{name} should not be empty" for name in sorted(missing)] or [refused])
    if place == len(parts):
        raise Problem(400, "Field(s) assetData should not be empty")
    return keep(key, dict(fields), parts[place], claimed)


def keep(key, fields, part, claimed):
    world = g.world
    _, file_name, data = part
    extension = "." + file_name.rsplit(".", 1)[-1].lower()
    if extension not in EXTENSIONS["image"] + EXTENSIONS["video"]:
        raise Problem(400, f"Unsupported file type {extension}")
    if not data:
        raise Problem(400, "File is empty")
    checksum = hashlib.sha1(data)
    if claimed is not None and claimed != base64.b64encode(checksum.digest()).decode():
        world.violations.append(f"the checksum {claimed} does not match the body")
    known = world.own(key["user"], checksum.hexdigest())
    if known:
        return json_response({"id": known["id"], "status": "duplicate"}, model=models.AssetMediaResponseDto)
    if world.quota is not None and sum(a["size"] for a in world.assets.values()) + len(data) > world.quota:
        raise Problem(400, "Quota has been exceeded!")
    video = fields.get("livePhotoVideoId")
    if video is not None and video not in world.assets:
        raise Problem(400, "Live photo video not found")
    owner = next(name for name, user in world.users.items() if user["id"] == key["user"])
    name = fields.get("filename", file_name)
    asset = world.add_asset(checksum.hexdigest(), user=owner, name=name, size=len(data))
    if video is not None:
        asset["video"] = video
        world.assets[video]["hidden"] = True
    return json_response({"id": asset["id"], "status": "created"}, 201, models.AssetMediaResponseDto)


# Control


@app.get("/.well-known/immich")
def well_known():
    return Response(json.dumps({"api": {"endpoint": "/api"}}), content_type="application/json")


@app.post("/__control/worlds")
def make_world():
    given = request.get_json()
    name = given.pop("name", None) or "w" + new_id()[:8]
    worlds[name] = World(**given)
    return {"name": name}


@app.route("/__control/worlds/<name>/<what>", methods=["POST"])
def change_world(name, what):
    world = worlds["" if name == "-" else name]
    given = request.get_json()
    with world.lock:
        if what == "faults":
            world.faults += given
        elif what == "mend":
            world.faults.clear()
        elif what == "assets":
            return {"ids": [world.add_asset(**asset)["id"] for asset in given]}
        elif what == "keys":
            world.add_key(**given)
        elif what == "revoke":
            del world.keys[given["secret"]]
        elif what == "forget":
            del world.albums[given["album"]]
        elif what == "delete":
            del world.assets[given["asset"]]
        elif what == "trash":
            world.assets[given["asset"]]["trashed"] = True
        elif what == "clear":
            world.requests.clear()
        else:
            return {"unknown": what}, 404
    return {}


@app.get("/__control/worlds/<name>")
def show_world(name):
    return worlds["" if name == "-" else name].report()


class QuietHandler(WSGIRequestHandler):
    """Uses HTTP/1.1, without which no client waits for `100 Continue`; logs nothing."""

    protocol_version = "HTTP/1.1"

    def log(self, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--major", type=int, choices=[2, 3], default=3)
    parser.add_argument("--until-input-ends", action="store_true")
    options = parser.parse_args()
    worlds[""] = World(major=options.major)
    if options.until_input_ends:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
