internal import Foundation
internal import Glibc
internal import MediaFiles
public import MediaStore
internal import MediaSystem

extension TapeEditor {
    /// Examines a file (step 1 of rule R2): an absolute path, what it shows, how long it is. Reads a few blocks.
    ///
    /// - Parameters:
    ///   - path: As given, as bytes; a relative one starts at the current directory. Links are not resolved.
    ///   - allowingMissing: Whether a file that is not there is taken by its extension.
    /// - Returns: A clip under a new id; its tape and its place are not set.
    /// - Throws: `TapesError` `.fileNotFound`, `.fileUnreadable`, `.notRegularFile`, `.emptyFile`, `.unknownMediaType`.
    public func inspect(_ path: [UInt8], allowingMissing: Bool) throws(TapesError) -> ClipRecord {
        guard !path.isEmpty, let directory = path.first == UInt8(ascii: "/") ? [] : AbsolutePath.currentDirectory else {
            throw TapesError(.fileNotFound, path: path)
        }
        let absolute = AbsolutePath.of(path, in: directory)
        let file: SourceFile
        do {
            file = try SourceFile(path: absolute)
        } catch {
            let refusal = TapesError(error, path: path)
            guard allowingMissing, refusal.code == .fileNotFound else { throw refusal }
            return try clip(absolute, as: path, prefix: [])
        }
        let prefix: [UInt8]
        do { prefix = try file.prefix(4096) } catch { throw TapesError(error, path: path) }
        var clip = try clip(absolute, as: path, prefix: prefix)
        if clip.kind == .video { clip.durationMilliseconds = MediaDuration.milliseconds(of: file) }
        return clip
    }

    private func clip(_ absolute: [UInt8], as path: [UInt8], prefix: [UInt8]) throws(TapesError) -> ClipRecord {
        guard let kind = ClipMedium.kind(of: absolute, prefix: prefix) else {
            throw TapesError(.unknownMediaType, path: path)
        }
        return ClipRecord(id: UUID().uuidString.lowercased(), tapeID: "", kind: kind, source: absolute)
    }

    /// Makes each still with a video of the same stem in the same directory, both in the list, one live picture. It takes
    /// the place of the first of the two, and the length of the video. Each is in one pair at most.
    ///
    /// - Parameter clips: From `inspect`.
    /// - Returns: The clips, those without a partner as they are.
    public func pairingLivePictures(_ clips: [ClipRecord]) -> [ClipRecord] {
        /// Places of those that wait for a partner, by stem.
        var waiting: [[UInt8]: [ClipRecord.Kind: [Int]]] = [:]
        var paired: [ClipRecord?] = clips
        for (place, clip) in clips.enumerated() {
            guard clip.kind != .live, let stem = clip.source?.stemOfPath else { continue }
            let partner: ClipRecord.Kind = clip.kind == .image ? .video : .image
            guard let first = waiting[stem]?[partner]?.first else {
                waiting[stem, default: [:]][clip.kind, default: []].append(place)
                continue
            }
            waiting[stem]?[partner]?.removeFirst()
            let (still, video) = clip.kind == .image ? (clip, clips[first]) : (clips[first], clip)
            var live = still
            live.kind = .live
            live.pairedSource = video.source
            live.durationMilliseconds = video.durationMilliseconds
            paired[first] = live
            paired[place] = nil
        }
        return paired.compactMap { $0 }
    }
}

extension TapesError {
    /// A file that cannot be taken.
    init(_ error: SourceFileError, path: [UInt8]) {
        switch error.kind {
        case .notFound: self.init(.fileNotFound, path: path, underlying: error)
        case .permissionDenied: self.init(.fileUnreadable, detail: "permission denied", path: path, underlying: error)
        case .isDirectory, .notRegular: self.init(.notRegularFile, path: path, underlying: error)
        case .empty: self.init(.emptyFile, path: path, underlying: error)
        // A part of the path that ought to be a directory.
        case .io(ENOTDIR): self.init(.fileNotFound, path: path, underlying: error)
        case .io(let code):
            self.init(.fileUnreadable, detail: SystemError.words(code), path: path, underlying: error)
        }
    }
}

extension [UInt8] {
    /// A path without its extension; a dot that begins the name begins none.
    fileprivate var stemOfPath: [UInt8] {
        guard let dot = lastIndex(of: UInt8(ascii: ".")) else { return self }
        let name = lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        return dot > name ? Array(self[..<dot]) : self
    }
}
