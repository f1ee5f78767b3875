internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Tapes

/// A tape as `show` has it. No library is asked.
struct TapeView: Sendable {
    var tape: TapeRecord
    var clips: [ClipRecord]
    /// The album that counts now.
    var link: AlbumLink?
    /// Ids of the clips whose originals are not there now (rule R14).
    var offline: Set<String>

    /// Looks at a tape and at its originals.
    ///
    /// - Throws: `StoreError`, `TapesError`.
    init(_ tape: TapeRecord, session: TapesSession, service: AlbumService) async throws {
        self.tape = tape
        let clips = try session.store.clips(of: tape.id)
        self.clips = clips
        link = try service.knownLink(of: tape.id)
        offline = await BlockingWork.run { Set(clips.filter { !$0.isThere }.map(\.id)) }
    }

    /// Of all clips; nil when the length of one is not known.
    var milliseconds: Int64? {
        clips.reduce(0 as Int64?) { sum, clip in
            guard let sum, let length = clip.shownMilliseconds else { return nil }
            return sum + length
        }
    }
}

extension ClipRecord {
    /// Whether there is something at the path of its original.
    var isThere: Bool {
        guard let source else { return false }
        var status = stat()
        return stat(source.cString, &status) == 0
    }
}
