"""Validates requests and responses with immichpy's models, which were generated from the published API description."""

import inspect
import re
import typing

from immichpy.client.generated.api.albums_api import AlbumsApi
from immichpy.client.generated.api.assets_api import AssetsApi
from immichpy.client.generated.models.album_response_dto import AlbumResponseDto
from immichpy.client.generated.models.api_key_response_dto import ApiKeyResponseDto
from immichpy.client.generated.models.asset_bulk_upload_check_dto import AssetBulkUploadCheckDto
from immichpy.client.generated.models.asset_bulk_upload_check_response_dto import AssetBulkUploadCheckResponseDto
from immichpy.client.generated.models.asset_media_response_dto import AssetMediaResponseDto
from immichpy.client.generated.models.bulk_id_response_dto import BulkIdResponseDto
from immichpy.client.generated.models.bulk_ids_dto import BulkIdsDto
from immichpy.client.generated.models.create_album_dto import CreateAlbumDto
from immichpy.client.generated.models.metadata_search_dto import MetadataSearchDto
from immichpy.client.generated.models.search_response_dto import SearchResponseDto
from immichpy.client.generated.models.server_media_types_response_dto import ServerMediaTypesResponseDto
from immichpy.client.generated.models.server_version_response_dto import ServerVersionResponseDto
from immichpy.client.generated.models.user_admin_response_dto import UserAdminResponseDto
from pydantic import TypeAdapter

# Fields that version 2 requires in addition to those in the description, which describes version 3.
FIELDS_OF_VERSION_2 = {"deviceAssetId", "deviceId"}


def complaint_about_body(model, body):
    """The reason why a model rejects a JSON body, or the members it does not define; None if the body is valid."""
    known = {field.alias or name for name, field in model.model_fields.items()}
    if not isinstance(body, dict) or not set(body) <= known:
        return f"{model.__name__}: unknown members in {body!r}"
    try:
        model.from_dict(body)
    except Exception as error:  # any error from the model
        return f"{model.__name__}: {error}"
    return None


def complaint_about_parameters(function, names, given, ignored=()):
    """The reason why immichpy's own client would reject these parameters; None if they are valid.

    `names` maps the names in the request to those of the function.
    """
    hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    for name, value in given:
        if name in ignored:
            continue
        parameter = names.get(name)
        if parameter is None:
            return f"{function.__name__}: unknown parameter {name}"
        try:
            TypeAdapter(hints[parameter]).validate_python(value)
        except Exception as error:
            return f"{function.__name__}: {name}: {error}"
    return None


def complaint_about_form(fields):
    """Validates the text fields of an upload as the parameters of `upload_asset`."""
    names = {
        "fileCreatedAt": "file_created_at", "fileModifiedAt": "file_modified_at", "filename": "filename",
        "livePhotoVideoId": "live_photo_video_id", "isFavorite": "is_favorite", "visibility": "visibility",
    }
    # pydantic also accepts times without a zone; the description does not.
    zoned = {name for name, value in fields if re.search(r"(Z|[+-]\d\d:\d\d)$", value)}
    missing = {"fileCreatedAt", "fileModifiedAt"} - zoned
    if missing:
        return f"upload_asset: missing {sorted(missing)} in a zone"
    return complaint_about_parameters(AssetsApi.upload_asset, names, fields, ignored=FIELDS_OF_VERSION_2)


def complaint_about_query(fields):
    """Validates the query of an album list as the parameters of `get_all_albums`."""
    names = {"id": "id", "isOwned": "is_owned", "isShared": "is_shared", "name": "name", "assetId": "asset_id"}
    words = {"true": True, "false": False}
    return complaint_about_parameters(AlbumsApi.get_all_albums, names, [(n, words.get(v, v)) for n, v in fields])


def is_id(text):
    """Whether a string is an ID as defined by the description: a version 4 UUID."""
    form = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
    return re.fullmatch(form, text) is not None


def checked(model, answer):
    """Returns a response body after immichpy has parsed it; raises if it cannot."""
    for element in answer if isinstance(answer, list) else [answer]:
        model.from_dict(element)
    return answer
