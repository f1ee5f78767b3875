internal import Foundation
internal import MediaCore
internal import MediaStore
internal import Tapes

/// The members of the records of `tapes`.
extension JSONRenderer {
    /// A tape. One that a `--dry-run` would make has no id.
    static func tape(_ tape: TapeRecord, isPlanned: Bool = false) -> JSONObject {
        [
            "tape_id": isPlanned ? .null : .string(tape.id), "title": .string(tape.title),
            "created_at": time(tape.createdAt),
            "updated_at": time(tape.updatedAt),
            "received_first_content": .bool(tape.hasReceivedFirstContent),
            "orientation": .string(tape.orientation.rawValue), "scale_mode": .string(tape.scaleMode.rawValue),
            "transition": .string(tape.transition.rawValue), "transition_ms": JSONValue(tape.transitionMilliseconds),
            "association": .string(tape.association.rawValue), "reason": JSONValue(tape.reason?.rawValue),
        ]
    }

    static func tapeSummary(_ summary: TapeSummary) -> JSONObject {
        tape(summary.tape) + [
            "clips": JSONValue(summary.clipCount), "pending_clips": JSONValue(summary.pendingClipCount),
            "duration_ms": .integer(summary.durationMilliseconds), "duration_known": .bool(summary.isDurationKnown),
        ]
    }

    /// Everything about a clip.
    static func clip(_ clip: ClipRecord) -> JSONObject {
        [
            "clip_id": .string(clip.id), "tape_id": .string(clip.tapeID), "position": JSONValue(clip.position),
            "kind": .string(clip.kind.rawValue), "path": path(clip.source),
            "path_base64": pathBase64(clip.source), "paired_path": path(clip.pairedSource),
            "paired_path_base64": pathBase64(clip.pairedSource), "size_bytes": JSONValue(clip.size),
            "checksum_sha1": JSONValue(clip.sha1), "checksum_sha256": JSONValue(clip.sha256),
            "duration_ms": JSONValue(clip.durationMilliseconds),
            "trim_start_ms": .integer(clip.trimStartMilliseconds), "trim_end_ms": .integer(clip.trimEndMilliseconds),
            "rotate": JSONValue(clip.rotateQuarterTurns * 90), "scale": JSONValue(clip.scaleOverride?.rawValue),
            "volume": clip.volume.map { .verbatim("\($0)") } ?? .null,
            "image_ms": .integer(clip.imageMilliseconds), "association": .string(clip.association.rawValue),
            "reason": JSONValue(clip.reason?.rawValue), "attempts": JSONValue(clip.attempts),
            "next_attempt_at": time(clip.nextAttemptAt),
        ]
    }

    /// One file of `add` or `insert`.
    static func added(_ item: AddedClip) -> JSONObject {
        let clip = item.clip
        let isKept = item.state == .added
        return [
            "path": path(item.path), "path_base64": pathBase64(item.path), "state": .string(item.state.rawValue),
            "clip_id": isKept ? JSONValue(clip?.id) : .null, "position": isKept ? JSONValue(clip?.position) : .null,
            "kind": JSONValue(clip?.kind.rawValue), "duration_ms": JSONValue(clip?.durationMilliseconds),
            "association": isKept ? JSONValue(clip?.association.rawValue) : .null,
            "reason": isKept ? JSONValue(clip?.reason?.rawValue) : .null, "exit_code": exitCode(item.exitCode),
            "error": error(item.error),
        ]
    }

    /// What a command did to the album of a tape; all null when it did nothing.
    static func album(_ outcome: AlbumOutcome?) -> JSONObject {
        [
            "album": JSONValue(outcome?.state.rawValue), "album_id": JSONValue(outcome?.link?.albumID),
            "library_id": JSONValue(outcome?.link?.libraryID), "created": JSONValue(outcome?.isCreated),
            "pending_clips": JSONValue(outcome?.pendingClips),
            "added_to_album": JSONValue(outcome.map { $0.addedClips + ($0.isFiled ? 1 : 0) }),
            "hidden_clips": JSONValue(outcome?.hiddenClips),
            "missing_permissions": .array((outcome?.missingPermissions ?? []).map { .string($0) }),
            "detail": text(outcome?.detail),
        ]
    }

    /// An album that is stored; all null without one.
    static func link(_ link: AlbumLink?) -> JSONObject {
        [
            "album_id": JSONValue(link?.albumID), "library_id": JSONValue(link?.libraryID),
            "title_at_creation": JSONValue(link?.titleAtCreation), "owner_id": JSONValue(link?.ownerID),
            "place": path(link?.hint),
            "album_created_at": time(link?.createdAt),
            "verified_at": time(link?.verifiedAt),
        ]
    }

    // MARK: Deletions

    static func deletedAlbum(_ album: TapeDeletion.Album) -> JSONValue? {
        func object(_ state: String, _ link: AlbumLink, left: Int? = nil, reason: AssociationReason? = nil) -> JSONValue
        {
            .object([
                "state": .string(state), "album_id": .string(link.albumID), "library_id": .string(link.libraryID),
                "title": .string(link.titleAtCreation), "left": JSONValue(left), "reason": JSONValue(reason?.rawValue),
            ])
        }
        return switch album {
        case .none: nil
        case .kept(let link): object("kept", link)
        case .deleted(let link): object("deleted", link)
        case .keptForeign(let link, let count): object("kept_foreign", link, left: count)
        case .owed(let link, let reason, _): object("owed", link, reason: reason)
        }
    }

    static func tapeDeletion(_ item: TapeDeletionRun.Item) -> JSONObject {
        [
            "tape_id": .string(item.tape.id), "title": .string(item.tape.title), "state": .string(item.state.rawValue),
            "albums": .array(item.albums.compactMap { deletedAlbum($0) }), "exit_code": exitCode(item.exitCode),
            "error": error(item.error),
        ]
    }

    // MARK: Libraries

    static func library(_ status: LibraryStatus, _ settings: Settings) -> JSONObject {
        [
            "kind": .string(status.kind), "address": .string(status.address),
            "library_id": JSONValue(status.identity?.libraryID), "account_id": JSONValue(status.identity?.accountID),
            "key_id": JSONValue(status.identity?.keyID), "name": JSONValue(status.identity?.name),
            "add_only": access(status.addOnly), "read_write": access(status.readWrite),
            "reason": JSONValue(status.reason?.rawValue),
            "detail": text(status.detail),
            "albums_enabled": .bool(settings.albumsEnabled.value), "may_upload": .bool(settings.albumsUpload.value),
            "deletes_albums": .bool(settings.deleteAssociatedAlbum.value),
        ]
    }

    private static func access(_ access: AlbumAccess?) -> JSONValue {
        guard let access else { return .null }
        return .object([
            "state": .string(access.state.code), "missing": .array(access.state.missing.map { .string($0) }),
            "detail": text(access.detail),
        ])
    }

    // MARK: Reconciling and relinking

    static func reconciled(_ item: ReconcileRun.Item) -> JSONObject {
        [
            "work": .string(item.work.rawValue), "state": .string(item.state), "tape_id": JSONValue(item.tapeID),
            "title": JSONValue(item.title), "album_id": JSONValue(item.albumID),
            "library_id": JSONValue(item.libraryID), "association": JSONValue(item.association?.rawValue),
            "reason": JSONValue(item.reason?.rawValue), "created": JSONValue(item.isCreated),
            "pending_clips": JSONValue(item.pendingClips), "detail": JSONValue(item.detail),
        ]
    }

    static func relinked(_ result: RelinkResult, isDryRun: Bool) -> JSONObject {
        let (state, found): (String, [UInt8]?) =
            switch result.state {
            case .present: ("present", nil)
            case .found(let path): (isDryRun ? "planned" : "relinked", path)
            case .notFound: ("not_found", nil)
            case .noChecksum: ("no_checksum", nil)
            }
        return [
            "clip_id": .string(result.clip.id), "tape_id": .string(result.clip.tapeID),
            "position": JSONValue(result.clip.position), "state": .string(state),
            "path": path(result.clip.source), "path_base64": pathBase64(result.clip.source),
            "found": path(found), "found_base64": pathBase64(found),
        ]
    }
}

extension AlbumAccess.State {
    /// Stable code for JSON.
    var code: String {
        switch self {
        case .notDetermined: "not_determined"
        case .restricted: "restricted"
        case .denied: "denied"
        case .limited: "limited"
        case .authorized: "authorized"
        }
    }

    /// The permissions that are missing, by the library's names.
    var missing: [String] {
        if case .limited(let missing) = self { missing } else { [] }
    }
}
