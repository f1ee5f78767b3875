internal import Glibc
internal import MediaStore
internal import MediaSystem

/// What this machine has of some photos, by the library and by the files themselves.
struct LocalCopies {
    /// What became of the file of a copy.
    enum Condition {
        /// It is there as it was.
        case unchanged
        /// It is there, and somebody has changed it.
        case changed
        /// It is gone.
        case vanished
    }

    /// What there is of one photo.
    struct Holding {
        /// A file with its bytes.
        var unchanged: PhotoCopy?
        /// A file that had its bytes.
        var changed: PhotoCopy?
        /// Downloads that have not ended, and copies that are gone: names that the photo may have again.
        var names: [PhotoCopy] = []
    }

    let library: LibraryStore
    let server: String

    /// What there is of each photo, by its id.
    func holdings(of photos: [PhotoRecord]) throws(StoreError) -> [String: Holding] {
        var holdings: [String: Holding] = [:]
        for copy in try library.copies(ofPhotos: photos.map(\.id), server: server) {
            add(copy, to: &holdings[copy.photoID, default: Holding()])
        }
        // The same bytes, pushed or fetched as another photo.
        let lacking = photos.filter { holdings[$0.id]?.unchanged == nil }
        guard !lacking.isEmpty else { return holdings }
        let ids = Dictionary(lacking.map { ($0.sha256, $0.id) }, uniquingKeysWith: { first, _ in first })
        for copy in try library.copies(withDigests: Array(ids.keys), server: server) where copy.state == .present {
            guard let digest = copy.sha256, let id = ids[digest], copy.photoID != id else { continue }
            if Self.condition(of: copy) == .unchanged { holdings[id, default: Holding()].unchanged = copy }
        }
        return holdings
    }

    private func add(_ copy: PhotoCopy, to holding: inout Holding) {
        guard copy.state == .present else {
            holding.names.append(copy)
            return
        }
        switch Self.condition(of: copy) {
        case .unchanged: holding.unchanged = copy
        case .changed: holding.changed = copy
        case .vanished: holding.names.append(copy)
        }
    }

    /// Length and time of change tell. A file that was moved to another disk and back, or got other rights, is the same.
    static func condition(of copy: PhotoCopy) -> Condition {
        guard let found = FileIdentity(ofRegularFile: copy.path) else { return .vanished }
        guard let known = copy.identity else { return .unchanged }
        let isSame =
            found.size == known.size && found.modificationNanoseconds == known.modificationNanoseconds
        return isSame ? .unchanged : .changed
    }
}
