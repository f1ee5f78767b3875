internal import Foundation
internal import MediaTransport

/// What an album is, and what is in it (tapes contract section 5). What other programs, or later versions of this one, have
/// put there is kept byte by byte.
struct AlbumManifest {
    /// One link.
    struct Entry {
        var sequence: Int64
        /// Name of the link.
        var link: [UInt8]
        /// What the link says, as bytes.
        var target: [UInt8]
        /// `video`, `image`, `live`.
        var kind: String
        /// RFC 3339.
        var addedAt: String
        var others: [RawMember] = []
    }

    /// An element of `entries`.
    enum Element {
        case entry(Entry)
        /// Nothing that we know.
        case other(ArraySlice<UInt8>)
    }

    /// A member of an object as it stands in the text.
    struct RawMember {
        var name: String
        var value: ArraySlice<UInt8>
    }

    static let format = "mediactl.album"
    static let version: Int64 = 1

    var version = Self.version
    /// The identifier that the store keeps.
    var id: String
    var libraryID: String
    var tapeID: String
    /// As created.
    var title: String
    /// RFC 3339.
    var createdAt: String
    var nextSequence: Int64 = 1
    var elements: [Element] = []
    var others: [RawMember] = []

    /// Whether a later version has written it: read-only for us.
    var isNewer: Bool { version > Self.version }

    var entries: [Entry] {
        elements.compactMap { if case .entry(let entry) = $0 { entry } else { nil } }
    }

    /// Removes the entries of which something is so.
    mutating func removeEntries(where isGone: (Entry) -> Bool) {
        elements.removeAll { if case .entry(let entry) = $0 { isGone(entry) } else { false } }
    }

    /// Whether a name from a file may be used as a name in a directory: it must not lead out of it.
    static func isLinkName(_ name: [UInt8]) -> Bool {
        !name.isEmpty && name != Array(".".utf8) && name != Array("..".utf8) && name.count <= 255
            && !name.contains(UInt8(ascii: "/")) && !name.contains(0)
            && !LibraryFile.allCases.contains { $0.name == name }
    }
}
