/// Records where a process renders a video. The mark is locked while the process runs, and remains if it is killed.
package final class RenderMark: Sendable {
    /// Part of the names of its files: UUID, lower case.
    package let id: String
    /// Absolute paths of the directories that contain these files, as bytes.
    package let places: [[UInt8]]
    private let file: LockedFile

    private init(id: String, places: [[UInt8]], file: LockedFile) {
        self.id = id
        self.places = places
        self.file = file
    }

    private static let prefix = "render-"

    /// Stores a mark; `places` must not contain NUL.
    package static func make(
        _ id: String,
        at places: [[UInt8]],
        in directory: DataDirectory
    ) throws(StoreError) -> RenderMark {
        let path = "\(directory.lockFolder)/\(prefix)\(id)"
        guard let file = try LockedFile.openOrCreate(path) else {
            throw StoreError(.busy, path: path, detail: "another process is using it")
        }
        do throws(StoreError) {
            try file.write(Array(places.joined(separator: [0])), at: 0)
        } catch {
            file.remove()
            throw error
        }
        return RenderMark(id: id, places: places, file: file)
    }

    /// Marks left by killed processes, which are locked by this call, and the IDs of the marks of running processes.
    package static func all(
        in directory: DataDirectory
    ) throws(StoreError) -> (abandoned: [RenderMark], alive: Set<String>) {
        var abandoned: [RenderMark] = []
        var alive: Set<String> = []
        let names = try DataDirectory.entries(of: directory.lockFolder)
        for name in names.sorted() where name.hasPrefix(prefix) {
            let id = String(name.dropFirst(prefix.count))
            guard let file = try LockedFile.existing("\(directory.lockFolder)/\(name)") else {
                alive.insert(id)
                continue
            }
            let places = try file.readAll().split(separator: 0).map { Array($0) }
            abandoned.append(RenderMark(id: id, places: places, file: file))
        }
        return (abandoned, alive)
    }

    /// Removes the mark.
    package func remove() { file.remove() }
}
