"""Performs the operations of tapes with immichpy's own client, and prints the results as one JSON object.

    immich_client.py ADDRESS KEY DIRECTORY
"""

import asyncio
import base64
import hashlib
import json
import sys
import uuid
from datetime import datetime, timezone

from immichpy.client.generated.api.albums_api import AlbumsApi
from immichpy.client.generated.api.api_keys_api import APIKeysApi
from immichpy.client.generated.api.assets_api import AssetsApi
from immichpy.client.generated.api.search_api import SearchApi
from immichpy.client.generated.api.server_api import ServerApi
from immichpy.client.generated.api.users_api import UsersApi
from immichpy.client.generated.api_client import ApiClient
from immichpy.client.generated.configuration import Configuration
from immichpy.client.generated.exceptions import ApiException
from immichpy.client.generated.models.asset_bulk_upload_check_dto import AssetBulkUploadCheckDto
from immichpy.client.generated.models.asset_bulk_upload_check_item import AssetBulkUploadCheckItem
from immichpy.client.generated.models.bulk_ids_dto import BulkIdsDto
from immichpy.client.generated.models.create_album_dto import CreateAlbumDto
from immichpy.client.generated.models.metadata_search_dto import MetadataSearchDto


async def refused(call):
    """Status and body of the response when a call is refused."""
    try:
        await call
        return None
    except ApiException as error:
        return [error.status, json.loads(error.body)["message"]]


async def main(address, key, directory):
    path = f"{directory}/client.jpg"
    content = b"bytes of one image"
    with open(path, "wb") as file:
        file.write(content)
    checksum = base64.b64encode(hashlib.sha1(content).digest()).decode()
    now = datetime.now(timezone.utc)
    said = {}
    # Imported in parts: the whole package takes seconds to load.
    async with ApiClient(Configuration(host=address + "/api", api_key={"api_key": key})) as client:
        albums, assets = AlbumsApi(client), AssetsApi(client)
        said["version"] = (await ServerApi(client).get_server_version()).major
        said["key"] = (await APIKeysApi(client).get_my_api_key()).permissions[0].value
        said["account"] = str((await UsersApi(client).get_my_user()).id)
        album = await albums.create_album(CreateAlbumDto(albumName="of the client", description="d"))
        said["album"] = str(album.id)

        async def upload():
            answer = await assets.upload_asset(
                asset_data=path, file_created_at=now, file_modified_at=now, filename="client.jpg",
                x_immich_checksum=checksum,
            )
            return [str(answer.id), answer.status.value]

        said["uploads"] = [await upload(), await upload()]
        check = AssetBulkUploadCheckDto(assets=[AssetBulkUploadCheckItem(id="mine", checksum=checksum)])
        found = (await assets.check_bulk_upload(check)).results[0]
        said["check"] = [found.id, found.action.value, str(found.asset_id)]
        search = await SearchApi(client).search_assets(MetadataSearchDto(checksum=checksum))
        said["search"] = [str(item.id) for item in search.assets.items]
        ids = BulkIdsDto(ids=[uuid.UUID(said["uploads"][0][0])])
        said["adds"] = []
        for _ in range(2):
            result = (await albums.add_assets_to_album(album.id, ids))[0]
            said["adds"].append(result.error.value if result.error else result.success)
        said["listed"] = [str(one.id) for one in await albums.get_all_albums(is_owned=True)]
        said["count"] = (await albums.get_album_info(album.id)).asset_count
        missing = uuid.uuid4()
        said["missing"] = await refused(albums.get_album_info(missing))
        said["addToMissing"] = await refused(albums.add_assets_to_album(missing, ids))
        said["removes"] = []
        for _ in range(2):
            result = (await albums.remove_asset_from_album(album.id, ids))[0]
            said["removes"].append(result.error.value if result.error else result.success)
        await albums.delete_album(album.id)
        said["gone"] = await refused(albums.get_album_info(album.id))
    print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
