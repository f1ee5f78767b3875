public import Foundation

/// One use of one medium in one tape (tapes contract 1.2). The same original twice in a tape is two clips.
public struct ClipRecord: Sendable, Equatable {
    /// What it shows.
    public enum Kind: String, Sendable, CaseIterable {
        /// A film.
        case video
        /// A still picture.
        case image
        /// A still with its paired video file.
        case live
    }

    /// How it stands with the album of its tape (contract 2.2).
    public enum Association: String, Sendable, CaseIterable {
        /// Not in the album yet.
        case pending
        /// In the album.
        case linked
        /// The library refused it for good.
        case failed
        /// There is nothing to link: no identity, and uploading is off.
        case unlinkable
    }

    /// UUID, lower case.
    public var id: String
    /// The tape it is in.
    public var tapeID: String
    /// Dense from 0.
    public var position: Int
    /// What it shows.
    public var kind: Kind
    /// Absolute path, as bytes.
    public var source: [UInt8]?
    /// Absolute path of the video of a live picture, as bytes.
    public var pairedSource: [UInt8]?
    /// Length in bytes when the checksums were made.
    public var size: Int64?
    /// Time of last modification when the checksums were made, nanoseconds since 1970.
    public var modifiedNanoseconds: Int64?
    /// 40 lower-case hexadecimal characters; valid only while size and time still match.
    public var sha1: String?
    /// 64 lower-case hexadecimal characters; valid only while size and time still match.
    public var sha256: String?
    /// nil is unknown, not 0.
    public var durationMilliseconds: Int64?
    /// Cut off at the beginning; videos only.
    public var trimStartMilliseconds: Int64
    /// Cut off at the end; videos only.
    public var trimEndMilliseconds: Int64
    /// 0 to 3, clockwise.
    public var rotateQuarterTurns: Int
    /// nil is the tape's.
    public var scaleOverride: TapeRecord.ScaleMode?
    /// 0 to 1; nil is full.
    public var volume: Double?
    /// How long a still is shown.
    public var imageMilliseconds: Int64
    /// How it stands with the album.
    public var association: Association
    /// Why it is not in the album.
    public var reason: AssociationReason?
    /// Tries that failed in a row.
    public var attempts: Int
    /// Not tried again of itself before.
    public var nextAttemptAt: Date?

    /// Makes a clip that nothing is known of but its medium.
    public init(id: String, tapeID: String, position: Int = 0, kind: Kind, source: [UInt8]?) {
        self.id = id
        self.tapeID = tapeID
        self.position = position
        self.kind = kind
        self.source = source
        trimStartMilliseconds = 0
        trimEndMilliseconds = 0
        rotateQuarterTurns = 0
        imageMilliseconds = 4000
        association = .pending
        attempts = 0
    }
}

extension ClipRecord {
    /// How long it is seen, in milliseconds; nil is unknown. A still as long as it is shown, a live picture as long as its
    /// video. Trims that would eat a clip leave nothing of it, and never less (tapes contract trap 20). The sums of
    /// `LibraryStore.summaries` say the same in SQL.
    package var shownMilliseconds: Int64? {
        switch kind {
        case .image: imageMilliseconds
        case .live: pairedSource == nil ? imageMilliseconds : durationMilliseconds
        case .video: durationMilliseconds.map { max(0, $0 - trimStartMilliseconds - trimEndMilliseconds) }
        }
    }
}
