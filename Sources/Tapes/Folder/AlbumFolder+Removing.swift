internal import MediaFiles

extension AlbumFolder {
    /// Takes originals out of the album. Only links are removed, and only those that the manifest names (trap 18).
    ///
    /// - Returns: One result for each; one that is not there is removed.
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
        try AlbumError.needing(.readWrite) { () throws(FileWriteError) in try writeManifest() }
        return results
    }

    /// Deletes the album: the links that the manifest names, our own files, then the folder if nothing else is in it.
    ///
    /// - Throws: `.insufficient`, `.unauthorized`, `.unreachable`, `.cancelled`; the manifest stays then, so that the next
    ///   try goes on.
    func delete(_ steps: WorkSteps) throws(AlbumError) -> AlbumDeletion {
        try checkIsOurs()
        for entry in manifest.entries {
            try steps.next()
            try AlbumError.needing(.readWrite) { () throws(FileWriteError) in try removeLink(entry.link) }
        }
        try steps.next()
        return try AlbumError.needing(.readWrite) { () throws(FileWriteError) in
            if try TapePlaylist.isOurs(in: directory) { try directory.remove(LibraryFile.playlist.name) }
            // What a process that died while writing has left.
            for file in [LibraryFile.playlist, .manifest] {
                let name = Array(file.temporaryName.utf8)
                if try directory.kind(of: name) == .regular { try directory.remove(name) }
            }
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
                // The folder stays: it is ours as long as it has its manifest, and the next try finds it.
                var empty = self
                empty.manifest.removeEntries { _ in true }
                try? empty.writeManifest()
                throw error
            }
            try root.directory.synchronize()
            return .deleted
        }
    }

    /// Removes a name that is still a link; anything else that has the name stays.
    private func removeLink(_ name: [UInt8]) throws(FileWriteError) {
        if try directory.kind(of: name) == .link { try directory.remove(name) }
    }
}
