internal import Foundation
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// Files of renderings whose process was killed: a directory of parts and the draft of the video beside the target, and a
/// directory of links to the originals in the system's temporary directory.
public struct RenderLeftovers: Sendable {
    static let prefix = ".mediactl-render-"
    private static let draftSuffix = ".part"
    /// Of the directory of links: the target may be in the system's temporary directory too.
    static let linksSuffix = "-links"

    /// Has the marks of renderings.
    public let directory: DataDirectory
    /// Directory that is searched for files without a mark, as 0.1.0 left them, as bytes; nil searches none.
    public let workingDirectory: [UInt8]?

    /// Makes a search.
    public init(directory: DataDirectory, workingDirectory: [UInt8]?) {
        self.directory = directory
        self.workingDirectory = workingDirectory
    }

    /// Directories of a rendering, as a mark stores them.
    static func places(_ directories: TargetDirectory...) -> [[UInt8]] {
        let current = AbsolutePath.currentDirectory ?? []
        return directories.map { AbsolutePath.of($0.path, in: current) }
    }

    /// Finds the files, and changes nothing. Files of a process that is alive are skipped, and so are those in a directory
    /// that cannot be read now. Blocks.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func find() throws(TapesError) -> [AlbumFinding] {
        try search().items.map { AlbumFinding(.renderLeftover, path: $0.directory.path(of: $0.name)) }
    }

    /// Removes the files, and returns those that are still there. Blocks.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func remove() throws(TapesError) -> [AlbumFinding] {
        let (items, marks) = try search()
        for item in items { item.remove() }
        let left = items.filter { (try? $0.directory.kind(of: $0.name)) != .some(nil) }
        for mark in marks where !left.contains(where: { $0.id == mark.id }) { mark.remove() }
        return left.map { AlbumFinding(.renderLeftover, path: $0.directory.path(of: $0.name)) }
    }

    // MARK: Searching

    private struct Item {
        var id: String
        var directory: TargetDirectory
        var name: [UInt8]
        var isDirectory: Bool

        /// Only files and links directly in it are removed: there is nothing else in a directory of ours.
        func remove() {
            guard isDirectory else {
                // Locked by its writer, if that is alive after all.
                guard let draft = try? PartialFile.open(String(decoding: name, as: UTF8.self), in: directory) else {
                    return
                }
                try? draft.discard()
                return
            }
            guard let content = try? directory.subdirectory(String(decoding: name, as: UTF8.self), creating: false)
            else {
                return
            }
            var names: [[UInt8]] = []
            try? content.forEachName { names.append($0) }
            for name in names { try? content.remove(name) }
            try? directory.removeDirectory(name)
        }
    }

    private func search() throws(TapesError) -> (items: [Item], marks: [RenderMark]) {
        let (marks, alive) = try stored(RenderMark.all(in: directory))
        var items: [Item] = []
        var seen: Set<[UInt8]> = []
        func add(_ found: [Item]) {
            items += found.filter { seen.insert($0.directory.path(of: $0.name)).inserted }
        }
        for mark in marks {
            for place in mark.places { add(Self.items(in: place) { $0 == mark.id }) }
        }
        if let workingDirectory {
            let found = Self.items(in: workingDirectory) { !alive.contains($0) }
            let ids = Set(found.map(\.id)).subtracting(Self.locked(found))
            add(found.filter { ids.contains($0.id) })
            // The links of the same rendering.
            add(Self.items(in: Array(NSTemporaryDirectory().utf8)) { ids.contains($0) })
        }
        return (items, marks)
    }

    /// Ids of drafts that a process writes now.
    private static func locked(_ items: [Item]) -> Set<String> {
        Set(
            items.filter { item in
                guard !item.isDirectory else { return false }
                do throws(FileWriteError) {
                    _ = try PartialFile.open(String(decoding: item.name, as: UTF8.self), in: item.directory)
                    return false
                } catch {
                    return true
                }
            }.map(\.id)
        )
    }

    /// Entries of this user in a directory with a name of ours; none if it cannot be read.
    private static func items(in place: [UInt8], where isWanted: (String) -> Bool) -> [Item] {
        guard let opened = try? TargetDirectory.open(place, creating: false) else { return [] }
        var names: [[UInt8]] = []
        try? opened.forEachName { names.append($0) }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { name in
            guard let text = String(validating: name, as: UTF8.self), text.hasPrefix(prefix) else { return nil }
            let suffix = [draftSuffix, linksSuffix].first { text.hasSuffix($0) } ?? ""
            let isDraft = suffix == draftSuffix
            let id = String(text.dropFirst(prefix.count).dropLast(suffix.count))
            guard UUID(uuidString: id) != nil, isWanted(id), (try? opened.isOfOthers(name)) == false,
                let kind = try? opened.kind(of: name), kind == (isDraft ? .regular : .directory)
            else { return nil }
            return Item(id: id, directory: opened, name: name, isDirectory: !isDraft)
        }
    }
}
