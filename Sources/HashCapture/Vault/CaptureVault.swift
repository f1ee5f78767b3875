internal import CaptureSubmission
internal import MediaCrypto
internal import MediaFiles
package import MediaStore

/// Media and depth maps of captures, encrypted, in the data directory. Nothing that was committed is ever deleted by the
/// program.
///
///     captures/            0700
///       vault.key          0600, 64 hexadecimal digits and a line feed (`VaultKey.file` only)
///       <id>/              0700, the capture's id
///         media, depth     0600, `StreamingAEAD`
///       .draft-<id>/       the same while it is made; locked (`flock`) by its process
///
/// The associated data of a blob is `<id>|<kind>|1` in UTF-8, such as
/// `0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff|media|1`; the last member is the version of this format. So no blob can stand for
/// another (hash-only contract section 8).
package struct CaptureVault: Sendable {
    /// What a blob holds.
    package enum Kind: String, Sendable, CaseIterable {
        /// The bytes of the photo or video.
        case media
        /// The depth map: little-endian binary32, row by row.
        case depth
    }

    /// A capture being put in: its files have temporary names until `commit`. Others leave it alone for as long as this, or
    /// a copy of it, is in use.
    package struct Draft: Sendable {
        /// The capture's id.
        package let id: String
        let directory: TargetDirectory
    }

    let directory: DataDirectory
    let keyring: VaultKeyring

    /// The vault of a data directory.
    ///
    /// - Parameters:
    ///   - directory: The data directory.
    ///   - key: Where the key comes from.
    package init(directory: DataDirectory, key: VaultKey) {
        self.directory = directory
        keyring = VaultKeyring(key, in: directory)
    }

    static let draftPrefix = ".draft-"

    static func associatedData(_ kind: Kind, of id: String) -> [UInt8] { Array("\(id)|\(kind.rawValue)|1".utf8) }

    /// The directory of all captures; nil when there is none yet.
    func captures() throws(CaptureError) -> TargetDirectory? {
        try CaptureError.inVault {
            try TargetDirectory.open(Array(directory.path(of: .captures).utf8), creating: false)
        }
    }
}
