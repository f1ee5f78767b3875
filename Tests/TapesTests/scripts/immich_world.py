"""The state of one stand-in for an Immich server: accounts, keys, albums, assets, and the requests it received."""

import base64
import contextlib
import re
import threading
import uuid

PERMISSIONS = [
    "album.create", "album.read", "album.delete", "albumAsset.create", "albumAsset.delete", "asset.upload", "asset.read",
    "user.read",
]
TIME = "2026-01-02T03:04:05.678Z"
EXTENSIONS = {"image": [".jpg", ".jpeg", ".png", ".heic"], "video": [".mov", ".mp4", ".webm"], "sidecar": [".xmp"]}


def new_id():
    return str(uuid.uuid4())


def as_hex(checksum):
    """A checksum as the server parses it: base64 if it has 28 characters, otherwise hexadecimal."""
    if len(checksum) == 28:
        return base64.b64decode(checksum).hex()
    return checksum.lower()


class World:
    """One server. `major` is 2 or 3."""

    def __init__(self, major=3, version=None, keys=None, quota=None, gather=0):
        self.lock = threading.RLock()
        # Uploads in progress, and their maximum. None gets a response before `gather` of them are in progress.
        self.gather = gather
        self.uploads = self.most_uploads = 0
        self.uploads_changed = threading.Condition()
        self.major = major
        self.version = version or ([2, 7, 5] if major == 2 else [3, 1, 0])
        self.users = {}
        self.keys = {}
        self.albums = {}
        self.assets = {}
        self.quota = quota
        self.requests = []
        self.violations = []
        self.faults = []
        for key in keys or [{}]:
            self.add_key(**key)

    # Set up

    def user(self, name):
        return self.users.setdefault(name, {"id": new_id(), "name": name})

    def add_key(self, secret="key-1", permissions=("all",), user="Alice", id=None):
        key = {"id": id or new_id(), "name": "tapes", "permissions": list(permissions), "user": self.user(user)["id"]}
        self.keys[secret] = key
        return key

    def add_asset(self, checksum="", user="Alice", trashed=False, offline=False, path="", name="", hidden=False, size=0):
        asset = {
            "id": new_id(), "owner": self.user(user)["id"], "checksum": as_hex(checksum), "trashed": trashed,
            "offline": offline, "path": path, "name": name, "hidden": hidden, "size": size, "video": None,
        }
        self.assets[asset["id"]] = asset
        return asset

    # Faults

    def fault(self, method, path, phase):
        """The scripted fault for a request, which uses it once; None if there is none."""
        with self.lock:
            for fault in self.faults:
                fits = fault.get("method", method) == method and re.search(fault.get("path", ""), path)
                if fits and fault.get("phase", "before") == phase and fault.get("times", 1) != 0:
                    if fault.get("skip", 0) > 0:
                        fault["skip"] -= 1
                        continue
                    fault["times"] = fault.get("times", 1) - 1
                    return fault
        return None

    # Parallel uploads

    @contextlib.contextmanager
    def uploading(self):
        with self.uploads_changed:
            self.uploads += 1
            self.most_uploads = max(self.most_uploads, self.uploads)
            self.uploads_changed.notify_all()
            self.uploads_changed.wait_for(lambda: self.most_uploads >= self.gather, timeout=30)
        try:
            yield
        finally:
            with self.uploads_changed:
                self.uploads -= 1

    # Lookups

    def own(self, account, checksum):
        wanted = as_hex(checksum)
        found = [a for a in self.assets.values() if a["owner"] == account and a["checksum"] == wanted and wanted]
        return found[0] if found else None

    def own_album(self, account, album_id):
        album = self.albums.get(album_id)
        return album if album and album["owner"] == account else None

    # Response bodies

    def album_form(self, album):
        owner = self.person(album["owner"])
        counted = [i for i in album["assets"] if not self.assets[i]["trashed"]]
        form = {
            "id": album["id"], "albumName": album["name"], "description": album["description"],
            "albumThumbnailAssetId": None, "assetCount": len(counted), "createdAt": TIME, "updatedAt": TIME,
            "hasSharedLink": False, "isActivityEnabled": True, "shared": False,
            "albumUsers": [{"role": "owner", "user": owner}],
        }
        if self.major == 2:
            form |= {"ownerId": album["owner"], "owner": owner, "assets": [], "albumUsers": []}
        return form

    def person(self, account):
        name = next(user["name"] for user in self.users.values() if user["id"] == account)
        return {
            "id": account, "name": name, "email": f"{name.lower()}@example.test", "avatarColor": "primary",
            "profileChangedAt": TIME, "profileImagePath": "",
        }

    def account_form(self, account):
        return self.person(account) | {
            "clusterGroupId": account, "createdAt": TIME, "deletedAt": None, "isAdmin": False, "license": None,
            "oauthId": "", "quotaSizeInBytes": self.quota, "quotaUsageInBytes": 0, "shouldChangePassword": False,
            "status": "active", "storageLabel": None, "updatedAt": TIME,
        }

    def asset_form(self, asset):
        checksum = base64.b64encode(bytes.fromhex(asset["checksum"])).decode() if asset["checksum"] else ""
        return {
            "id": asset["id"], "ownerId": asset["owner"], "checksum": checksum, "originalPath": asset["path"],
            "originalFileName": asset["name"], "isTrashed": asset["trashed"], "isOffline": asset["offline"],
            "isArchived": False, "isFavorite": False, "isEdited": False, "hasMetadata": True, "duration": None,
            "height": None, "width": None, "thumbhash": None, "type": "IMAGE", "visibility": "timeline",
            "createdAt": TIME, "updatedAt": TIME, "fileCreatedAt": TIME, "fileModifiedAt": TIME, "localDateTime": TIME,
        }

    def report(self):
        """Everything that a test may want to see."""
        with self.lock:
            return {
                "requests": list(self.requests), "violations": list(self.violations),
                "albums": [dict(album) for album in self.albums.values()],
                "assets": [dict(asset) for asset in self.assets.values()], "mostUploads": self.most_uploads,
            }
