internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaSystem

/// The open folder of one album, with its manifest as read when it was opened. Changed only while the library is
/// locked.
struct AlbumFolder {
    let root: OpenRoot
    let directory: TargetDirectory
    let name: [UInt8]
    var manifest: AlbumManifest

    var path: [UInt8] { root.directory.path(of: name) }

    /// Creates the folder of a new album. An existing folder is never used, even if it is empty.
    ///
    /// - Throws: `AlbumError`; a folder is left behind only after a crash.
    static func make(title: String, tapeID: String, in root: OpenRoot, at now: Date) throws(AlbumError) -> AlbumFolder {
        do throws(FileWriteError) {
            let (name, directory) = try makeDirectory(title: title, in: root.directory)
            TapeFailpoint.folderMade.reach()
            let manifest = AlbumManifest(
                id: UUID().uuidString.lowercased(),
                libraryID: root.marker.id,
                tapeID: tapeID.lowercased(),
                title: title,
                createdAt: RFC3339.text(seconds: Int64(now.timeIntervalSince1970.rounded(.down)))
            )
            let folder = AlbumFolder(root: root, directory: directory, name: name, manifest: manifest)
            do throws(FileWriteError) {
                try folder.writeManifest()
                try root.directory.synchronize()
            } catch {
                try? directory.remove(LibraryFile.manifest.name)
                try? root.directory.removeDirectory(name)
                throw error
            }
            TapeFailpoint.manifestWritten.reach()
            return folder
        } catch {
            // Without write permission for the root, existing albums may still be writable.
            let isLimited = error.kind == .denied && (try? root.directory.rights().isReadOnly) == false
            throw isLimited
                ? AlbumError(.insufficient(["write"]), detail: error.detail) : AlbumError(error)
        }
    }

    private static func makeDirectory(
        title: String,
        in root: TargetDirectory
    ) throws(FileWriteError) -> (name: [UInt8], directory: TargetDirectory) {
        var number = 1
        while true {
            let name = AlbumName.folder(title, number: number)
            do throws(FileWriteError) {
                if let directory = try root.makeSubdirectory(name) { return (name, directory) }
            } catch {
                guard error.kind == .exists else { throw error }
            }
            number += 1
        }
    }

    func writeManifest() throws(FileWriteError) {
        try LibraryFile.manifest.write(manifest.text, in: directory)
    }

    /// Throws if a newer version has written the album.
    func checkIsOurs() throws(AlbumError) {
        guard !manifest.isNewer else {
            throw OpenRoot.newer("a newer version of mediactl wrote the album in format \(manifest.version)")
        }
        try root.checkIsOurs()
    }

    var targets: LinkTarget { LinkTarget(folder: path, pictures: reachablePictures) }

    /// The pictures directory, if it is an ancestor of this directory: with a link in the path of the root, `..` could
    /// lead elsewhere.
    private var reachablePictures: [UInt8]? {
        guard let pictures = root.pictures, let depth = LinkTarget.depth(of: path, below: pictures), depth > 0,
            directory.ancestor(depth, isDirectory: pictures)
        else { return nil }
        return pictures
    }
}

extension AlbumFolder {
    /// Removes originals from the album: only links, and only those in the manifest (trap 18). An original that is not
    /// in the album counts as removed.
    ///
    /// - Throws: `.insufficient`, `.unauthorized`, `.unreachable`, `.quota`, `.cancelled`.
    mutating func remove(_ assetIDs: [[UInt8]], _ steps: WorkSteps) throws(AlbumError) -> [RemoveResult] {
        try checkIsOurs()
        let targets = targets
        var entries: [[UInt8]: [AlbumManifest.Entry]] = [:]
        for entry in manifest.entries {
            if let source = targets.source(of: entry.target) { entries[source, default: []].append(entry) }
        }
        var gone: Set<[UInt8]> = []
        var results: [RemoveResult] = []
        for id in assetIDs {
            try steps.next()
            var result = RemoveResult.removed
            for entry in entries[id] ?? [] {
                do throws(FileWriteError) {
                    try removeLink(entry.link)
                    gone.insert(entry.link)
                } catch {
                    result = error.kind == .denied ? .notAllowed : .failed(error.detail)
                }
            }
            results.append(result)
        }
        guard !gone.isEmpty else { return results }
        manifest.removeEntries { gone.contains($0.link) }
        try AlbumError.accessing(writeManifest())
        return results
    }

    /// Deletes the album: the links in the manifest, mediactl's own files, then the folder if nothing else is in it.
    ///
    /// - Throws: `.insufficient`, `.unauthorized`, `.unreachable`, `.cancelled`; the manifest is kept, so the next
    ///   attempt resumes.
    func delete(_ steps: WorkSteps) throws(AlbumError) -> AlbumDeletion {
        try checkIsOurs()
        for entry in manifest.entries {
            try steps.next()
            try AlbumError.accessing(removeLink(entry.link))
        }
        try steps.next()
        return try AlbumError.accessing(deleteWithoutLinks())
    }

    private func deleteWithoutLinks() throws(FileWriteError) -> AlbumDeletion {
        if try TapePlaylist.isOurs(in: directory) { try directory.remove(LibraryFile.playlist.name) }
        for name in try temporaryFiles() { try directory.remove(name) }
        var foreign = 0
        try directory.forEachName { if $0 != LibraryFile.manifest.name { foreign += 1 } }
        try directory.remove(LibraryFile.manifest.name)
        guard foreign == 0 else {
            try directory.synchronize()
            return .keptForeign(foreign)
        }
        do throws(FileWriteError) {
            try root.directory.removeDirectory(name)
        } catch {
            // With its manifest, the folder is still identified as an album, and the next attempt finds it.
            var empty = self
            empty.manifest.removeEntries { _ in true }
            try? empty.writeManifest()
            throw error
        }
        try root.directory.synchronize()
        return .deleted
    }

    private func removeLink(_ name: [UInt8]) throws(FileWriteError) {
        if try directory.kind(of: name) == .link { try directory.remove(name) }
    }
}

/// Names of folders and links in a folder library (tapes contract section 5). Always UTF-8 in NFC, regardless of the
/// locale and the original bytes.
enum AlbumName {
    /// Valid sequence numbers: exactly representable in JSON, with room for increments.
    static let sequences: Range<Int64> = 1..<1 << 53

    private static let longestFolder = 200
    /// The limit of most file systems.
    private static let longestLink = 255

    /// The name of the folder of an album: at most 200 bytes plus the number, which is incremented while the name is
    /// taken.
    static func folder(_ title: String, number: Int = 1) -> [UInt8] {
        let name = orPlaceholder(trimmed(TextCut.head(of: safe(title), byteCount: longestFolder)))
        return Array((number == 1 ? name : "\(name) (\(number))").utf8)
    }

    /// Whether the name of a folder is one for an album with this title, with any number.
    static func isFolder(_ name: [UInt8], of title: String) -> Bool {
        let first = folder(title)
        guard name.starts(with: first), name != first else { return name == first }
        let digits = String(decoding: name.dropFirst(first.count + 2).dropLast(), as: UTF8.self)
        return Int(digits).map { $0 > 1 && name == folder(title, number: $0) } ?? false
    }

    /// The name of the link to an original: at most 255 bytes. `number` is the position of its clip, from 1; `variant`
    /// is incremented while a foreign file has the name.
    static func link(_ number: Int64, source: [UInt8], variant: Int = 1) -> [UInt8] {
        let last = source.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? []
        let (stem, fileExtension) = SafeFileName.split(orPlaceholder(trimmed(safe(text(last)))))
        let digits = String(number)
        let prefix = String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "-"
        let suffix = (variant == 1 ? "" : " (\(variant))") + fileExtension
        let cut = TextCut.head(of: stem, byteCount: longestLink - prefix.utf8.count - suffix.utf8.count)
        return Array((prefix + (suffix.isEmpty ? orPlaceholder(trimmed(cut)) : cut) + suffix).utf8)
    }

    /// The temporary name of a link whose new name is still used by another link during renaming.
    static func parked(_ sequence: Int64) -> [UInt8] { Array(".mediactl-link-\(sequence)".utf8) }

    /// The sequence number in a link's name; nil for names in other formats.
    static func sequence(of name: [UInt8]) -> Int64? {
        let digits = name.prefix { (0x30...0x39).contains($0) }
        guard digits.count >= 4, name.dropFirst(digits.count).first == UInt8(ascii: "-") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self)).flatMap { sequences.contains($0) ? $0 : nil }
    }

    // MARK: Helpers

    private static func orPlaceholder(_ text: String) -> String { text.isEmpty ? "_" : text }

    /// Replaces slashes and Unicode control characters, including bidirectional controls and line and paragraph
    /// separators: a playlist contains the names without any encoding. Joiners (emoji, Persian) are kept.
    private static func safe(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(
            contentsOf: text.unicodeScalars.lazy.map { scalar in
                scalar == "/" || TerminalText.isDangerous(scalar) ? "_" : scalar
            }
        )
        if scalars.first == "." { scalars.replaceSubrange(..<scalars.index(after: scalars.startIndex), with: ["_"]) }
        return String(scalars).precomposedStringWithCanonicalMapping
    }

    /// Compares scalars: otherwise a space with a combining mark would not be treated as whitespace.
    private static func trimmed(_ text: String) -> String {
        var scalars = Substring(text).unicodeScalars
        while let last = scalars.last, last == "." || last == " " { scalars.removeLast() }
        return String(scalars)
    }

    /// Replaces each byte of invalid UTF-8 with `_`.
    private static func text(_ bytes: [UInt8]) -> String {
        var scalars = String.UnicodeScalarView()
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded): scalars.append(Unicode.UTF8.decode(encoded))
            case .error(let length): scalars.append(contentsOf: repeatElement("_", count: length))
            case .emptyInput: return String(scalars)
            }
        }
    }
}
