import Foundation
import MediaStore

/// Minimal tapes and clips.
enum ExportFixtures {
    static func tape(
        _ title: String = "Summer",
        transition: TapeRecord.Transition = .none,
        milliseconds: Int = 500
    ) -> TapeRecord {
        var tape = TapeRecord(
            id: "1b671a64-40d5-491e-99b0-da01ff1f3341",
            title: title,
            createdAt: Date(timeIntervalSince1970: 1_700_000_000.123)
        )
        tape.updatedAt = Date(timeIntervalSince1970: 1_700_000_000.999)
        tape.transition = transition
        tape.transitionMilliseconds = milliseconds
        return tape
    }

    static func video(_ path: [UInt8], _ milliseconds: Int64?, trim: (Int64, Int64) = (0, 0)) -> ClipRecord {
        var clip = ClipRecord(id: "video-clip", tapeID: tape().id, kind: .video, source: path)
        clip.durationMilliseconds = milliseconds
        (clip.trimStartMilliseconds, clip.trimEndMilliseconds) = trim
        return clip
    }

    static func video(_ path: String, _ milliseconds: Int64?, trim: (Int64, Int64) = (0, 0)) -> ClipRecord {
        video(Array(path.utf8), milliseconds, trim: trim)
    }

    static func still(_ path: String, _ milliseconds: Int64 = 4000) -> ClipRecord {
        var clip = ClipRecord(id: "still-clip", tapeID: tape().id, position: 1, kind: .image, source: Array(path.utf8))
        clip.imageMilliseconds = milliseconds
        return clip
    }

    static func live(_ path: String, video: String?, _ milliseconds: Int64? = nil) -> ClipRecord {
        var clip = ClipRecord(id: "live-clip", tapeID: tape().id, kind: .live, source: Array(path.utf8))
        clip.pairedSource = video.map { Array($0.utf8) }
        clip.durationMilliseconds = milliseconds
        return clip
    }
}
