internal import MediaStore
internal import Tapes

extension AssociationReason {
    /// Why there is no album, or a clip is not in it: a few words, lower case.
    var words: String {
        switch self {
        case .neverTried: "never tried"
        case .accessNotDetermined: "the library is not set up"
        case .accessDenied: "access to the library is refused"
        case .accessLimited: "access to the library is limited"
        case .libraryChanged: "it is not the library that has the album"
        case .unreachable: "library unreachable"
        case .albumMissing: "the album is gone from the library"
        case .createFailed: "the album could not be made"
        case .originalUnavailable: "the original cannot be read now"
        case .assetUnidentified: "the library does not know the original"
        case .assetRejected: "the library refuses the original"
        case .quota: "the library is full"
        case .internalError: "internal error"
        }
    }

    /// What helps.
    var hint: String? {
        switch self {
        case .accessNotDetermined: "mediactl tapes library init sets it up"
        case .accessDenied, .accessLimited:
            "mediactl tapes library status says what is missing; then mediactl tapes library grant"
        case .libraryChanged:
            "mount the disk or put its .mediactl-library.json back, or use a key with user.read of the account that has the "
                + "albums; else mediactl tapes album unlink TAPE forgets the old album and lets a new one be made"
        case .assetUnidentified: "allow sending originals with albums.upload: true, or add them to the library yourself"
        case .neverTried, .albumMissing, .createFailed: "mediactl tapes reconcile --apply tries again"
        case .quota: "free some space in the library, then run mediactl tapes reconcile --apply"
        case .unreachable, .originalUnavailable, .assetRejected, .internalError: nil
        }
    }

    /// What happens next of itself; nil where nothing does.
    var prospect: String? {
        switch self {
        case .neverTried, .unreachable, .albumMissing, .originalUnavailable, .assetUnidentified, .quota: "will retry"
        case .accessNotDetermined, .accessDenied, .accessLimited: "waits for access"
        case .libraryChanged: "waits for that library"
        case .createFailed, .assetRejected, .internalError: nil
        }
    }

    /// Whether the rights decide.
    var isOfAccess: Bool { [.accessNotDetermined, .accessDenied, .accessLimited].contains(self) }

    /// How a command ends whose only purpose was the album.
    var exitCode: ExitCode {
        switch self {
        case .accessNotDetermined, .accessDenied, .accessLimited: .unauthorized
        case .albumMissing: .notFound
        case .unreachable: .network
        case .libraryChanged: .conflict
        case .neverTried, .createFailed, .originalUnavailable, .assetUnidentified, .assetRejected, .quota,
            .internalError:
            .failure
        }
    }
}
