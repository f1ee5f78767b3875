internal import Foundation
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// Files left by renderings whose process was killed: a directory of parts and the draft of the video, both in the
/// directory of the target, and a directory of links to the originals in the system's temporary directory.
public struct RenderLeftovers: Sendable {
    static let prefix = ".mediactl-render-"
    private static let draftSuffix = ".part"
    /// Suffix of the directory of links: the target may also be in the system's temporary directory.
    static let linksSuffix = "-links"

    /// Contains the marks of renderings.
    public let directory: DataDirectory
    /// Directory to search for files without a mark, which version 0.1.0 created, as bytes; nil for none.
    public let workingDirectory: [UInt8]?

    public init(directory: DataDirectory, workingDirectory: [UInt8]?) {
        self.directory = directory
        self.workingDirectory = workingDirectory
    }

    /// The directories used by a rendering, as stored in a mark.
    static func places(_ directories: TargetDirectory...) -> [[UInt8]] {
        let current = CurrentDirectory.path ?? []
        return directories.map { AbsolutePath.of($0.path, in: current) }
    }

    /// Finds leftover files without changing anything. Skips files that belong to a running process, and directories
    /// that cannot currently be read, whose marks are kept. Blocks.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func find() throws(TapesError) -> [AlbumFinding] {
        try search().items.map { AlbumFinding(kind: .renderLeftover, path: $0.path) }
    }

    /// Removes the files found, and returns those that may still exist. Blocks.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func remove(_ found: [AlbumFinding]) throws(TapesError) -> [AlbumFinding] {
        let (items, marks) = try search()
        let paths = Set(found.compactMap(\.path))
        for item in items where paths.contains(item.path) { item.remove() }
        let left = Set(items.filter { !Self.isGone($0.path) }.map(\.id))
        for mark in marks where !left.contains(mark.id) { mark.remove() }
        return found.filter { $0.path.map(Self.isGone) == false }
    }

    /// Whether the parent directory of a path confirms that the path does not exist.
    private static func isGone(_ path: [UInt8]) -> Bool {
        do throws(FileWriteError) {
            guard let directory = try TargetDirectory.open(path.directoryOfPath, creating: false) else { return false }
            return try directory.kind(of: path.nameOfPath) == nil
        } catch {
            return false
        }
    }

    // MARK: Searching

    private struct Item {
        var id: String
        var directory: TargetDirectory
        var name: [UInt8]
        var isDirectory: Bool
        /// Whether this is the directory of links.
        var hasLinks: Bool

        var path: [UInt8] { directory.path(of: name) }

        /// Removes only the files and links directly in the directory: mediactl's directories contain nothing else.
        func remove() {
            guard isDirectory else {
                // The draft is locked by its writer if that process is still running.
                try? PartialFile.open(String(decoding: name, as: UTF8.self), in: directory).discard()
                return
            }
            guard let content = try? directory.subdirectory(String(decoding: name, as: UTF8.self), creating: false)
            else {
                return
            }
            for name in (try? content.names()) ?? [] { try? content.remove(name) }
            try? directory.removeDirectory(name)
        }
    }

    /// The files, and the marks whose directories could all be read.
    private func search() throws(TapesError) -> (items: [Item], marks: [RenderMark]) {
        let (marks, alive) = try stored(RenderMark.all(in: directory))
        var unread: Set<String> = []
        var items: [Item] = []
        var seen: Set<[UInt8]> = []
        func add(_ found: [Item]) {
            items += found.filter { seen.insert($0.path).inserted }
        }
        for mark in marks {
            for place in mark.places {
                guard let found = Self.items(in: place, where: { $0 == mark.id }) else {
                    unread.insert(mark.id)
                    continue
                }
                add(found)
            }
        }
        if let workingDirectory, let all = Self.items(in: workingDirectory, where: { !alive.contains($0) }) {
            // Links prove nothing: the locked draft of a running rendering may be elsewhere.
            let found = all.filter { !$0.hasLinks }
            let ids = Set(found.map(\.id)).subtracting(Self.locked(found))
            add(found.filter { ids.contains($0.id) })
            // The links of the same rendering.
            add(Self.items(in: Array(NSTemporaryDirectory().utf8)) { ids.contains($0) } ?? [])
        }
        return (items, marks.filter { !unread.contains($0.id) })
    }

    /// IDs of drafts that a process is writing now.
    private static func locked(_ items: [Item]) -> Set<String> {
        let locked = items.filter { item in
            !item.isDirectory
                && (try? PartialFile.open(String(decoding: item.name, as: UTF8.self), in: item.directory)) == nil
        }
        return Set(locked.map(\.id))
    }

    /// Entries of a directory that are owned by this user and have names generated by mediactl; nil if it cannot be
    /// read.
    private static func items(in place: [UInt8], where isWanted: (String) -> Bool) -> [Item]? {
        let names: [[UInt8]]
        let opened: TargetDirectory
        do throws(FileWriteError) {
            guard let directory = try TargetDirectory.open(place, creating: false) else {
                // The directory was removed. If its parent is also missing, its disk may only be unmounted.
                return try TargetDirectory.open(place.directoryOfPath, creating: false) == nil ? nil : []
            }
            names = try directory.names()
            opened = directory
        } catch {
            return nil
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { name in
            guard let text = String(validating: name, as: UTF8.self), text.hasPrefix(prefix) else { return nil }
            let suffix = [draftSuffix, linksSuffix].first { text.hasSuffix($0) } ?? ""
            let isDraft = suffix == draftSuffix
            let id = String(text.dropFirst(prefix.count).dropLast(suffix.count))
            guard UUID(uuidString: id) != nil, isWanted(id), (try? opened.isOfOthers(name)) == false,
                let kind = try? opened.kind(of: name), kind == (isDraft ? .regular : .directory)
            else { return nil }
            let hasLinks = suffix == linksSuffix
            return Item(id: id, directory: opened, name: name, isDirectory: !isDraft, hasLinks: hasLinks)
        }
    }
}
