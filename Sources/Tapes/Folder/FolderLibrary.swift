internal import Foundation
internal import MediaCore
internal import MediaFiles
public import MediaStore

/// Albums as folders of symbolic links (tapes contract section 5): every file manager shows them, no server is needed, and
/// originals are only referred to.
public struct FolderLibrary: AlbumLibrary {
    /// Where the albums are.
    public struct Root: Sendable {
        /// Absolute path, as bytes.
        public var path: [UInt8]
        /// The directory of pictures, as bytes: links to originals below it are relative when the root is below it too.
        public var picturesDirectory: [UInt8]?
        /// Whether the settings name it; the default root is made only where the directory of pictures exists.
        public var isConfigured: Bool

        /// Makes a place.
        public init(path: [UInt8], picturesDirectory: [UInt8]?, isConfigured: Bool) {
            self.path = path
            self.picturesDirectory = picturesDirectory
            self.isConfigured = isConfigured
        }
    }

    /// Where the albums are.
    public let root: Root
    let directory: DataDirectory
    let store: LibraryStore
    /// Asks whether the root may be made; nil where nobody can be asked.
    let confirm: (@Sendable (_ path: [UInt8]) async -> Bool)?
    /// How long the file system may take for one step (rule R14).
    var stallLimit: Duration = .seconds(30)
    /// This machine's clock.
    var now: @Sendable () -> Date = { Date() }

    /// Makes a library.
    ///
    /// - Parameters:
    ///   - root: Where the albums are.
    ///   - directory: Where its lock is.
    ///   - store: Knows which library was at the root.
    ///   - confirm: Asks whether the root may be made; nil where nobody can be asked.
    public init(
        root: Root,
        directory: DataDirectory,
        store: LibraryStore,
        confirm: (@Sendable (_ path: [UInt8]) async -> Bool)? = nil
    ) {
        self.root = root
        self.directory = directory
        self.store = store
        self.confirm = confirm
    }

    /// `folder`.
    public var kind: String { "folder" }

    /// Path of the root; what is no text in it is percent-encoded, and so is `%`, so that no two paths share an address.
    public var address: String { Self.address(of: path) }

    /// Without a slash at its end.
    var path: [UInt8] { Self.withoutTrailingSlashes(root.path) }

    static func address(of path: [UInt8]) -> String {
        let isText = String(validating: path, as: UTF8.self) != nil
        var address: [UInt8] = []
        for byte in path {
            if byte >= 0x20, byte != 0x7f, byte != UInt8(ascii: "%"), isText || byte < 0x80 {
                address.append(byte)
            } else {
                address += PercentEncoding.triplet(byte)
            }
        }
        return String(decoding: address, as: UTF8.self)
    }

    static func withoutTrailingSlashes(_ path: [UInt8]) -> [UInt8] {
        Array(path.prefix(max(1, path.count - path.reversed().prefix { $0 == UInt8(ascii: "/") }.count)))
    }

    // MARK: Which library, and what it allows

    /// The library of the marker.
    public func identity() async throws(AlbumError) -> AlbumLibraryIdentity {
        try await run { _ throws(AlbumError) in
            let root = try open(needing: .addOnly)
            let name = TerminalText.escaped(root.directory.path)
            return AlbumLibraryIdentity(libraryID: root.marker.libraryID, name: name)
        }
    }

    /// What the rights in the root allow, as far as they tell: the operation's own error decides.
    public func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        try await run { _ throws(AlbumError) in
            switch try sight(of: level) {
            case .place(_, wasLibrary: true): throw Self.isGone
            case .place(let access, wasLibrary: false), .library(let access): return access
            }
        }
    }

    /// Makes root and marker where there is no library, if whoever can be asked agrees, or the settings do.
    public func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        let sight: Sight = try await run { _ throws(AlbumError) in try self.sight(of: level) }
        guard case .place(let access, let wasLibrary) = sight else { return try await self.access(level) }
        // A library that is gone, perhaps only not mounted, is never made anew without somebody who says so (trap 1).
        guard !wasLibrary || confirm != nil else { throw Self.isGone }
        guard access.state == .notDetermined else { return access }
        guard try await mayMakeRoot() else {
            // Who was asked has refused; where nobody could be asked it stays undetermined.
            guard confirm != nil else { return access }
            return AlbumAccess(.denied, fingerprint: access.fingerprint, detail: "the folder was not wanted")
        }
        return try await makeRoot(level, insteadOf: access)
    }
}
