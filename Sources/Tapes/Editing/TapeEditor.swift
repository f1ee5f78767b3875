public import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// Edits tapes and their clips, but not albums: commands call it before the album service. Never modifies an original.
public struct TapeEditor: Sendable {
    /// Stores tapes and clips.
    public let store: LibraryStore
    public let now: @Sendable () -> Date

    public init(store: LibraryStore, now: @escaping @Sendable () -> Date = { Date() }) {
        self.store = store
        self.now = now
    }

    // MARK: Lookup

    /// The only tape with this ID, ID prefix (at least 4 characters) or exact title.
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.tapeAmbiguous` with the IDs, `.storeUnusable`.
    public func tape(named name: String) throws(TapesError) -> TapeRecord {
        guard let tape = try only(stored(store.tapes(named: name)), name) else {
            throw TapesError(.tapeNotFound, value: name)
        }
        return tape
    }

    private func only(_ tapes: [TapeRecord], _ name: String) throws(TapesError) -> TapeRecord? {
        guard tapes.count < 2 else { throw TapesError(.tapeAmbiguous, value: name).with(\.candidates, tapes.map(\.id)) }
        return tapes.first
    }

    // MARK: Tapes

    /// Creates a tape. A blank title becomes `New Tape`. Surrounding whitespace is removed.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func create(title: String) throws(TapesError) -> TapeRecord {
        let new = planned(title: title)
        try stored(store.create(new))
        // Times are stored with millisecond precision.
        return try stored(store.tape(new.id)) ?? new
    }

    /// The tape that `tape(named:)` finds, with its clips; if there is none, it is created with this title, and `clips`
    /// is nil. Only one of several processes creates it.
    ///
    /// - Throws: `TapesError` `.tapeAmbiguous` with the IDs, `.storeUnusable`.
    package func tape(namedOrCreated title: String) throws(TapesError) -> (tape: TapeRecord, clips: [ClipRecord]?) {
        let new = planned(title: title)
        if let tape = try only(stored(store.tapes(orCreating: new)), new.title) {
            return (tape, try stored(store.clips(of: tape.id)))
        }
        return (try stored(store.tape(new.id)) ?? new, nil)
    }

    /// The tape that `create` would store.
    package func planned(title: String) -> TapeRecord {
        let title = title.trimmingCharacters(in: .whitespacesAndNewlines)
        let id = UUID().uuidString.lowercased()
        return TapeRecord(id: id, title: title.isEmpty ? TapeRecord.untitled : title, createdAt: now())
    }

    /// Changes the title of a tape, but not of its album (rule R8). Surrounding whitespace is removed.
    ///
    /// - Throws: `TapesError` `.titleEmpty`, `.tapeNotFound`, `.storeUnusable`.
    public func rename(_ tape: TapeRecord, to title: String) throws(TapesError) -> TapeRecord {
        let title = title.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !title.isEmpty else { throw TapesError(.titleEmpty) }
        return try change(tape) { $0.title = title }
    }

    /// Copies a tape and its clips (rule R17).
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`.
    public func duplicate(_ tape: TapeRecord) throws(TapesError) -> TapeRecord {
        let copy = try stored(store.duplicateTape(tape.id, at: now()))
        guard let copy else { throw TapesError(.tapeNotFound, value: tape.id) }
        return copy
    }

    func change(_ tape: TapeRecord, _ change: (inout TapeRecord) -> Void) throws(TapesError) -> TapeRecord {
        let changed = try stored(store.changeTape(tape.id, at: now(), change))
        guard let changed else { throw TapesError(.tapeNotFound, value: tape.id) }
        return changed
    }

    // MARK: Clips

    /// Commits clips (step 2 of rule R2); later failures do not undo it. `clips` come from `inspect`; `position` is
    /// clamped to 0…count, and nil means the end.
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`.
    public func add(
        _ clips: [ClipRecord],
        to tape: TapeRecord,
        at position: Int? = nil
    ) throws(TapesError) -> [ClipRecord] {
        let kept = try stored(store.addClips(clips, to: tape.id, at: position, now: now()))
        guard let kept else { throw TapesError(.tapeNotFound, value: tape.id) }
        return kept
    }

    /// Moves a clip. The position is zero-based and clamped. Returns the new position.
    ///
    /// - Throws: `TapesError` `.clipNotFound`, `.storeUnusable`.
    public func move(_ clip: ClipRecord, to position: Int) throws(TapesError) -> Int {
        let place = try stored(store.moveClip(clip.id, of: clip.tapeID, to: position, now: now()))
        guard let place else { throw TapesError(.clipNotFound, value: clip.id) }
        return place
    }
}

extension TapeEditor {
    /// Examines a file (step 1 of rule R2): absolute path, kind, duration. Reads a few blocks. A relative path is
    /// resolved against the current directory; links are not resolved. If `allowingMissing` is true, a missing file is
    /// accepted by its extension. The clip has a new ID; its tape and position are not set.
    ///
    /// - Throws: `TapesError` `.fileNotFound`, `.fileUnreadable`, `.notRegularFile`, `.emptyFile`, `.unknownMediaType`.
    public func inspect(_ path: [UInt8], allowingMissing: Bool) throws(TapesError) -> ClipRecord {
        guard !path.isEmpty, let directory = path.first == UInt8(ascii: "/") ? [] : CurrentDirectory.path else {
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

    /// The directories of originals whose file systems do not respond within 30 seconds, a limit for all of them
    /// together (rule R14). `onWait` is called once, after 2 seconds, with the directories that have not responded yet.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    package func silentDirectories(
        of originals: [[UInt8]],
        onWait: @escaping @Sendable ([[UInt8]]) -> Void
    ) async throws(TapesError) -> SilentDirectories {
        try await SilentDirectories(of: originals, onWait: onWait)
    }

    /// The clips with the durations of their current files. The stored duration is kept if a file cannot be read, is in
    /// one of the silent directories, or is on a file system that does not respond for 30 seconds (rule R14).
    ///
    /// - Throws: `TapesError` `.cancelled`.
    package func current(
        _ clips: [ClipRecord],
        except known: SilentDirectories = SilentDirectories()
    ) async throws(TapesError) -> [ClipRecord] {
        var current = clips
        var silent = known.paths
        for (index, clip) in clips.enumerated() where clip.kind == .video {
            guard let source = clip.source, !silent.contains(source.directoryOfPath) else { continue }
            let found = try await OriginalReading.bounded { _ -> ClipRecord? in
                try? inspect(source, allowingMissing: false)
            }
            guard let found else {
                silent.insert(source.directoryOfPath)
                continue
            }
            if let found { current[index].durationMilliseconds = found.durationMilliseconds }
        }
        return current
    }

    private func clip(_ absolute: [UInt8], as path: [UInt8], prefix: [UInt8]) throws(TapesError) -> ClipRecord {
        guard let kind = ClipMedium.kind(of: absolute, prefix: prefix) else {
            throw TapesError(.unknownMediaType, path: path)
        }
        return ClipRecord(id: UUID().uuidString.lowercased(), tapeID: "", kind: kind, source: absolute)
    }

    /// Combines each still and video in the list that have the same stem and directory into a live photo, at the
    /// position of the first of the two and with the duration of the video. Each clip is in at most one pair. Clips
    /// without a counterpart are unchanged.
    public func pairingLivePhotos(_ clips: [ClipRecord]) -> [ClipRecord] {
        /// Indexes of clips without a counterpart so far, by stem.
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
    init(_ error: SourceFileError, path: [UInt8]) {
        self.init(error.code, detail: error.detail, path: path, underlying: error)
        switch error.kind {
        case .isDirectory: self.code = .notRegularFile
        // A component of the path is not a directory.
        case .io(ENOTDIR): (self.code, self.detail) = (.fileNotFound, "")
        default: break
        }
    }
}

extension [UInt8] {
    /// A path without its extension; a leading dot of the name does not start an extension.
    fileprivate var stemOfPath: [UInt8] {
        guard let dot = lastIndex(of: UInt8(ascii: ".")) else { return self }
        let name = lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        return dot > name ? Array(self[..<dot]) : self
    }
}

/// Changes to the settings of a tape; nil keeps a setting.
public struct TapeChange: Sendable, Equatable {
    public var orientation: TapeRecord.Orientation?
    /// Used for clips without an override.
    public var scaleMode: TapeRecord.ScaleMode?
    public var transition: TapeRecord.Transition?
    /// 100 to 2000 milliseconds.
    public var transitionMilliseconds: Int?

    public init() {}
}

/// Changes to the settings of a clip; nil keeps a setting.
public struct ClipChange: Sendable, Equatable {
    /// For videos only.
    public var trimStartMilliseconds: Int64?
    /// For videos only.
    public var trimEndMilliseconds: Int64?
    /// 0 to 3, clockwise.
    public var rotateQuarterTurns: Int?
    /// The scale mode; `.some(nil)` resets it to the tape's setting.
    public var scaleOverride: TapeRecord.ScaleMode??
    /// 0 to 1; `.some(nil)` resets it to full volume. For videos and live photos only.
    public var volume: Double??
    /// Display duration, 1 to 3,600,000 ms. For stills only.
    public var imageMilliseconds: Int64?

    public init() {}
}

extension TapeEditor {
    /// Changes settings of a tape.
    ///
    /// - Throws: `TapesError` `.outOfRange`, `.tapeNotFound`, `.storeUnusable`.
    public func set(_ change: TapeChange, on tape: TapeRecord) throws(TapesError) -> TapeRecord {
        if let milliseconds = change.transitionMilliseconds, !(100...2000).contains(milliseconds) {
            throw TapesError(.outOfRange, detail: "a transition must be 100 to 2000 ms long", value: "\(milliseconds)")
        }
        return try self.change(tape) { tape in
            tape.orientation = change.orientation ?? tape.orientation
            tape.scaleMode = change.scaleMode ?? tape.scaleMode
            tape.transition = change.transition ?? tape.transition
            tape.transitionMilliseconds = change.transitionMilliseconds ?? tape.transitionMilliseconds
        }
    }

    /// Changes how clips are shown, all in one transaction. All other settings keep their stored values, even if the
    /// given clips have different ones. Returns the clips in the same order.
    ///
    /// - Throws: `TapesError` `.outOfRange`, `.trimTooLong`, `.notForThisKind`, `.clipNotFound`, `.storeUnusable`; in
    ///   that case, no clip is changed.
    public func set(_ change: ClipChange, on clips: [ClipRecord]) throws(TapesError) -> [ClipRecord] {
        var refusal: TapesError?
        func apply(_ clip: inout ClipRecord) throws(TapesError) {
            do throws(TapesError) {
                clip = try change.applied(to: clip)
            } catch {
                refusal = error
                throw error
            }
        }
        let kept: [ClipRecord]
        do throws(TapesError) {
            kept = try stored(store.changeClips(clips.map(\.id), at: now(), requiringAll: true, apply))
        } catch {
            throw refusal ?? error
        }
        let ids = Set(kept.map(\.id))
        if let missing = clips.first(where: { !ids.contains($0.id) }) {
            throw TapesError(.clipNotFound, value: missing.id)
        }
        return kept
    }
}

extension ClipChange {
    fileprivate func applied(to clip: ClipRecord) throws(TapesError) -> ClipRecord {
        var clip = clip
        try setTrims(of: &clip)
        if let turns = rotateQuarterTurns {
            try Self.check((0...3).contains(turns), "rotation must be 0 to 3 quarter turns", turns)
            clip.rotateQuarterTurns = turns
        }
        if let scaleOverride { clip.scaleOverride = scaleOverride }
        if let volume {
            try Self.check(clip.kind != .image, .notForThisKind, "images have no audio")
            // NaN is outside every range.
            if let volume { try Self.check((0...1).contains(volume), "volume must be 0 to 1", volume) }
            clip.volume = volume
        }
        if let milliseconds = imageMilliseconds {
            try Self.check(clip.kind == .image, .notForThisKind, "only images have a display time")
            try Self.check(
                (1...3_600_000).contains(milliseconds),
                "the display time must be 1 to 3600000 ms",
                milliseconds
            )
            clip.imageMilliseconds = milliseconds
        }
        return clip
    }

    /// The trims must not remove the whole clip (trap 20).
    private func setTrims(of clip: inout ClipRecord) throws(TapesError) {
        let trims = [trimStartMilliseconds, trimEndMilliseconds].compactMap { $0 }
        guard !trims.isEmpty else { return }
        try Self.check(clip.kind == .video, .notForThisKind, "only videos can be trimmed")
        for trim in trims { try Self.check(trim >= 0, "a trim must not be negative", trim) }
        clip.trimStartMilliseconds = trimStartMilliseconds ?? clip.trimStartMilliseconds
        clip.trimEndMilliseconds = trimEndMilliseconds ?? clip.trimEndMilliseconds
        let (sum, overflow) = clip.trimStartMilliseconds.addingReportingOverflow(clip.trimEndMilliseconds)
        try Self.check(!overflow, "the trim is too long", trims[0])
        guard let duration = clip.durationMilliseconds else { return }
        try Self.check(
            sum < duration,
            .trimTooLong,
            "the trims of \(sum) ms exceed the length of \(duration) ms",
            "\(sum)"
        )
    }

    private static func check(_ isInRange: Bool, _ detail: String, _ value: some Numeric) throws(TapesError) {
        try check(isInRange, .outOfRange, detail, "\(value)")
    }

    private static func check(
        _ isFit: Bool,
        _ code: OutcomeCode,
        _ detail: String,
        _ value: String? = nil
    ) throws(TapesError) {
        if !isFit { throw TapesError(code, detail: detail, value: value) }
    }
}

extension TapeEditor {
    /// Computes missing or outdated checksums of a clip: SHA-1 and SHA-256 in one read.
    ///
    /// Checksums are not stored for a file that changes while it is read, or whose file system does not respond for 30
    /// seconds (rule R14).
    ///
    /// - Returns: The stored clip; unchanged if its original cannot be read.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func checksum(_ clip: ClipRecord) async throws(TapesError) -> ClipRecord {
        guard let source = clip.source else { return clip }
        let original = try await OriginalReading.read(source) { status in
            clip.sha1 != nil && clip.sha256 != nil && clip.isUnchanged(status)
        }
        guard let original, let digests = original.digests else { return clip }
        var known = clip
        known.size = original.status.size
        known.modifiedNanoseconds = original.status.modificationNanoseconds
        known.sha1 = digests.sha1Hex
        known.sha256 = digests.sha256.hex
        try stored(store.keepChecksums(of: [known]))
        return known
    }
}

extension ClipRecord {
    /// The paths of the clip's files: the original, and the video of a live photo.
    package var originals: [[UInt8]] { [source, pairedSource].compactMap(\.self) }

    /// Whether the clip's file has not changed since its checksums were computed.
    func isUnchanged(_ status: FileIdentity) -> Bool {
        size == status.size && modifiedNanoseconds == status.modificationNanoseconds
    }
}
