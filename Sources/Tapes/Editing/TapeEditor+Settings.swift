public import MediaStore

/// Settings of a tape to change; nil leaves one as it is.
public struct TapeChange: Sendable, Equatable {
    /// Shape of the picture.
    public var orientation: TapeRecord.Orientation?
    /// Of clips without their own.
    public var scaleMode: TapeRecord.ScaleMode?
    /// Between two clips.
    public var transition: TapeRecord.Transition?
    /// 100 to 2000.
    public var transitionMilliseconds: Int?

    /// Changes nothing.
    public init() {}
}

/// Settings of a clip to change; nil leaves one as it is.
public struct ClipChange: Sendable, Equatable {
    /// Videos only.
    public var trimStartMilliseconds: Int64?
    /// Videos only.
    public var trimEndMilliseconds: Int64?
    /// 0 to 3, clockwise.
    public var rotateQuarterTurns: Int?
    /// `.some(nil)` is the tape's again.
    public var scaleOverride: TapeRecord.ScaleMode??
    /// 0 to 1; `.some(nil)` is full again. Videos and live pictures only.
    public var volume: Double??
    /// How long a still is shown, 1 to 3,600,000. Stills only.
    public var imageMilliseconds: Int64?

    /// Changes nothing.
    public init() {}
}

extension TapeEditor {
    /// Changes settings of a tape.
    ///
    /// - Returns: The tape as it is now.
    /// - Throws: `TapesError` `.outOfRange`, `.tapeNotFound`, `.storeUnusable`.
    public func set(_ change: TapeChange, on tape: TapeRecord) throws(TapesError) -> TapeRecord {
        if let milliseconds = change.transitionMilliseconds, !(100...2000).contains(milliseconds) {
            throw TapesError(.outOfRange, detail: "a transition takes 100 to 2000 ms", value: "\(milliseconds)")
        }
        return try self.change(tape) { tape in
            tape.orientation = change.orientation ?? tape.orientation
            tape.scaleMode = change.scaleMode ?? tape.scaleMode
            tape.transition = change.transition ?? tape.transition
            tape.transitionMilliseconds = change.transitionMilliseconds ?? tape.transitionMilliseconds
        }
    }

    /// Changes how a clip is shown. What is not changed stays as it is by now, whatever the given clip says.
    ///
    /// - Returns: The clip as it is now.
    /// - Throws: `TapesError` `.outOfRange`, `.trimTooLong`, `.notForThisKind`, `.clipNotFound`, `.storeUnusable`; nothing
    ///   is changed then.
    public func set(_ change: ClipChange, on clip: ClipRecord) throws(TapesError) -> ClipRecord {
        var refusal: TapesError?
        let kept = try stored { () throws(StoreError) in
            try store.changeClips([clip.id], at: now()) { stored in
                do throws(TapesError) {
                    stored = try change.applied(to: stored)
                } catch {
                    refusal = error
                }
            }
        }
        if let refusal { throw refusal }
        guard let changed = kept.first else { throw TapesError(.clipNotFound, value: clip.id) }
        return changed
    }
}

extension ClipChange {
    /// A clip with the changes.
    fileprivate func applied(to clip: ClipRecord) throws(TapesError) -> ClipRecord {
        var clip = clip
        try setTrims(of: &clip)
        if let turns = rotateQuarterTurns {
            try Self.check((0...3).contains(turns), "0 to 3 quarter turns", turns)
            clip.rotateQuarterTurns = turns
        }
        if let scaleOverride { clip.scaleOverride = scaleOverride }
        if let volume {
            try Self.check(clip.kind != .image, .notForThisKind, "a still has no sound")
            // Not a number is in no range.
            if let volume { try Self.check((0...1).contains(volume), "a volume of 0 to 1", volume) }
            clip.volume = volume
        }
        if let milliseconds = imageMilliseconds {
            try Self.check(clip.kind == .image, .notForThisKind, "only a still is shown for a time")
            try Self.check((1...3_600_000).contains(milliseconds), "a still is shown for 1 to 3600000 ms", milliseconds)
            clip.imageMilliseconds = milliseconds
        }
        return clip
    }

    /// Trap 20: what is left must be more than nothing.
    private func setTrims(of clip: inout ClipRecord) throws(TapesError) {
        let trims = [trimStartMilliseconds, trimEndMilliseconds].compactMap { $0 }
        guard !trims.isEmpty else { return }
        try Self.check(clip.kind == .video, .notForThisKind, "only a video is trimmed")
        for trim in trims { try Self.check(trim >= 0, "a trim is 0 or more", trim) }
        clip.trimStartMilliseconds = trimStartMilliseconds ?? clip.trimStartMilliseconds
        clip.trimEndMilliseconds = trimEndMilliseconds ?? clip.trimEndMilliseconds
        let (sum, overflow) = clip.trimStartMilliseconds.addingReportingOverflow(clip.trimEndMilliseconds)
        try Self.check(!overflow, "a trim of such length", trims[0])
        guard let duration = clip.durationMilliseconds else { return }
        try Self.check(sum < duration, .trimTooLong, "the trims take \(sum) of \(duration) ms", "\(sum)")
    }

    private static func check(_ isInRange: Bool, _ detail: String, _ value: some Numeric) throws(TapesError) {
        try check(isInRange, .outOfRange, detail, "\(value)")
    }

    private static func check(
        _ isFit: Bool,
        _ code: TapesError.Code,
        _ detail: String,
        _ value: String? = nil
    ) throws(TapesError) {
        if !isFit { throw TapesError(code, detail: detail, value: value) }
    }
}
