internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// The result of `relink` for one clip.
public struct RelinkResult: Sendable, Equatable {
    /// The state of an original.
    public enum State: Sendable, Equatable {
        /// The original is still at its path, or on a file system that does not respond; the clip is not changed.
        case present
        /// Found at this path, as bytes; the clip is relinked to it.
        case found([UInt8])
        /// Not found in any directory.
        case notFound
        /// No checksum is known.
        case noChecksum
    }

    /// The clip before relinking.
    public var clip: ClipRecord
    public var state: State
}

extension TapeEditor {
    /// Finds moved originals by checksum: walks directories, reads only files of the right size, and relinks the clips
    /// to the files found. Originals still at their paths are not changed, unless `includesChanged` is true and their
    /// content differs. If several files match, a file with the same name is preferred, otherwise the first.
    ///
    /// The video of a live photo is searched for by its name in the directory of the still.
    ///
    /// An empty list stands for all tapes. `includesChanged` is whether to also search for the former content of
    /// originals that were changed or replaced.
    ///
    /// - Returns: A result for each clip that has a source.
    /// - Throws: `TapesError` `.storeUnusable`; `.cancelled`, in which case nothing is changed.
    public func relink(
        _ tapes: [TapeRecord],
        in directories: [[UInt8]],
        includesChanged: Bool = false,
        isDryRun: Bool
    ) async throws(TapesError) -> [RelinkResult] {
        let wanted = Set(tapes.map(\.id))
        let all = try stored(store.clipsWithSources())
        var search = OriginalSearch(clips: all.filter { wanted.isEmpty || wanted.contains($0.tapeID) })
        try await search.run(in: directories, includesChanged: includesChanged)
        if !isDryRun { try keep(search.found) }
        return search.results
    }

    /// Uses one transaction for all clips; a clip whose source has changed in the meantime is skipped.
    private func keep(_ found: [String: OriginalSearch.Found]) throws(TapesError) {
        guard !found.isEmpty else { return }
        func relink(_ clip: inout ClipRecord) {
            guard let original = found[clip.id], clip.source == original.clip.source else { return }
            clip.source = original.path
            clip.pairedSource = original.pairedPath ?? clip.pairedSource
            clip.modifiedNanoseconds = original.modifiedNanoseconds
        }
        try stored(store.changeClips(found.keys.sorted(), at: now(), relink))
    }
}

private struct OriginalSearch {
    struct Found: Sendable {
        var clip: ClipRecord
        var path: [UInt8]
        /// New path of a live photo's video; nil keeps the old one.
        var pairedPath: [UInt8]?
        var modifiedNanoseconds: Int64
    }

    /// The results, in the order of the clips.
    private(set) var results: [RelinkResult] = []
    private(set) var found: [String: Found] = [:]

    private let clips: [ClipRecord]
    private var originals: [[UInt8]: OriginalReading.Original?] = [:]

    init(clips: [ClipRecord]) {
        self.clips = clips
    }

    mutating func run(in directories: [[UInt8]], includesChanged: Bool) async throws(TapesError) {
        let changed = includesChanged ? try await OriginalReading.changed(among: clips) : []
        let missing = try await missingClips().union(changed)
        let sizes = Set(clips.filter { missing.contains($0.id) && $0.isIdentified }.compactMap(\.size))
        let files = sizes.isEmpty ? [:] : try await Self.files(of: sizes, below: directories)
        for clip in clips {
            let state: RelinkResult.State
            if !missing.contains(clip.id) {
                state = .present
            } else if !clip.isIdentified {
                state = .noChecksum
            } else if let original = try await find(clip, among: files) {
                found[clip.id] = original
                state = .found(original.path)
            } else {
                state = .notFound
            }
            results.append(RelinkResult(clip: clip, state: state))
        }
    }

    /// IDs of the clips whose originals are missing.
    private func missingClips() async throws(TapesError) -> Set<String> {
        let missing = try await OriginalReading.missing(among: clips.compactMap(\.source))
        return Set(clips.filter { clip in clip.source.map(missing.contains) ?? false }.map(\.id))
    }

    /// Absolute paths of all files of these sizes, by size.
    private static func files(
        of sizes: Set<Int64>,
        below directories: [[UInt8]]
    ) async throws(TapesError) -> [Int64: [[UInt8]]] {
        var files: [Int64: [[UInt8]]] = [:]
        let current = CurrentDirectory.path ?? []
        for directory in directories {
            let found = try await OriginalReading.bounded { steps throws(AlbumError) in
                var cancelled: AlbumError?
                let root = AbsolutePath.of(directory, in: current)
                let found = FileWalk().files(below: root) {
                    do throws(AlbumError) { try steps.next() } catch { cancelled = error }
                    return cancelled != nil
                }
                if let cancelled { throw cancelled }
                return found.files.filter { sizes.contains($0.byteCount) }
            }
            for file in found ?? [] { files[file.byteCount, default: []].append(file.path) }
        }
        return files
    }

    private mutating func find(
        _ clip: ClipRecord,
        among files: [Int64: [[UInt8]]]
    ) async throws(TapesError) -> Found? {
        let name = clip.source?.nameOfPath
        let candidates = clip.size.flatMap { files[$0] } ?? []
        for path in candidates.filter({ $0.nameOfPath == name }) + candidates.filter({ $0.nameOfPath != name }) {
            guard let original = try await original(at: path), let digests = original.digests, clip.isMade(of: digests)
            else { continue }
            return Found(
                clip: clip,
                path: path,
                pairedPath: Self.pair(of: clip, beside: path),
                modifiedNanoseconds: original.status.modificationNanoseconds
            )
        }
        return nil
    }

    private mutating func original(at path: [UInt8]) async throws(TapesError) -> OriginalReading.Original? {
        if let known = originals[path] { return known }
        let read = try await OriginalReading.read(path)
        originals[path] = .some(read)
        return read
    }

    /// The new path of a live photo's video, if it is no longer at its old path but is in the directory of the still.
    private static func pair(of clip: ClipRecord, beside still: [UInt8]) -> [UInt8]? {
        guard let old = clip.pairedSource, FileIdentity(ofRegularFile: old) == nil else { return nil }
        let new = still.directoryOfPath + [UInt8(ascii: "/")] + old.nameOfPath
        return FileIdentity(ofRegularFile: new) == nil ? nil : new
    }
}

extension ClipRecord {
    /// Whether the clip has checksums.
    var isIdentified: Bool { size != nil && (sha256 != nil || sha1 != nil) }

    /// Whether content with these digests matches the clip's checksums.
    func isMade(of digests: FileDigests) -> Bool {
        sha256.map { $0 == digests.sha256.hex } ?? (sha1 == digests.sha1Hex)
    }
}
