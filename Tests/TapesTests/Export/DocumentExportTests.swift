import Foundation
import MediaStore
import Testing

@testable import Tapes

/// `tapes export --format json`, schema `mediactl.tape-export/1`.
@Suite struct DocumentExportTests {
    private func document(_ clips: [ClipRecord], of tape: TapeRecord = ExportFixtures.tape()) throws -> [String: Any] {
        let bytes = try TapeExport.json.bytes(of: tape, clips: clips)
        #expect(bytes.last == UInt8(ascii: "\n"))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private func clips(_ document: [String: Any]) throws -> [NSDictionary] {
        try #require(document["clips"] as? [NSDictionary])
    }

    @Test func aTapeHasEverySetting() throws {
        var tape = ExportFixtures.tape("\"Été\"\u{1}\n", transition: .slideLeftToRight, milliseconds: 1000)
        tape.orientation = .landscape
        tape.scaleMode = .fill
        tape.association = .pending
        tape.reason = .libraryChanged
        let clips = [ExportFixtures.video("/a", 5000, trim: (500, 1000)), ExportFixtures.still("/b", 3000)]
        let document = try document(clips, of: tape)
        #expect(document["schema"] as? String == "mediactl.tape-export/1")
        let expected: NSDictionary = [
            "id": tape.id, "title": "\"Été\"\u{1}\n", "created_at": "2023-11-14T22:13:20.123Z",
            "updated_at": "2023-11-14T22:13:20.999Z", "orientation": "landscape", "scale_mode": "fill",
            "transition": "slide_lr", "transition_ms": 1000, "duration_ms": 5500,
            "association": "pending_association", "association_reason": "library_changed",
        ]
        #expect(document["tape"] as? NSDictionary == expected)
    }

    @Test func aClipHasEverySetting() throws {
        var clip = ExportFixtures.live("/m/é.heic", video: "/m/é.mov", 2500)
        clip.position = 3
        clip.size = 12
        clip.modifiedNanoseconds = 1_700_000_000_123_456_789
        clip.sha1 = "ab"
        clip.sha256 = "cd"
        (clip.trimStartMilliseconds, clip.trimEndMilliseconds) = (1, 2)
        clip.rotateQuarterTurns = 3
        clip.scaleOverride = .fill
        clip.volume = 0.25
        clip.imageMilliseconds = 1234
        clip.association = .failed
        clip.reason = .assetRejected
        clip.attempts = 2
        clip.nextAttemptAt = Date(timeIntervalSince1970: 1_700_000_060)
        let expected: NSDictionary = [
            "id": "live-clip", "position": 3, "kind": "live", "path": "/m/é.heic", "path_base64": NSNull(),
            "paired_path": "/m/é.mov", "paired_path_base64": NSNull(), "size_bytes": 12,
            "modified_at_ns": 1_700_000_000_123_456_789, "sha1": "ab", "sha256": "cd", "duration_ms": 2500,
            "trim_start_ms": 1, "trim_end_ms": 2, "rotate_quarter_turns": 3, "scale_override": "fill",
            "volume": 0.25, "image_ms": 1234, "association": "failed", "association_reason": "asset_rejected",
            "attempts": 2, "next_attempt_at": "2023-11-14T22:14:20.000Z",
        ]
        #expect(try clips(document([clip])) == [expected])
    }

    @Test func unknownValuesAreNull() throws {
        let bare = ClipRecord(id: "bare", tapeID: "t", kind: .video, source: nil)
        let document = try document([bare, ExportFixtures.still("/a.jpg")])
        let found = try clips(document)
        let nulls = found[0].filter { $0.value is NSNull }.map { $0.key as? String ?? "" }
        #expect(
            nulls.sorted() == [
                "association_reason", "duration_ms", "modified_at_ns", "next_attempt_at", "paired_path",
                "paired_path_base64", "path", "path_base64", "scale_override", "sha1", "sha256", "size_bytes", "volume",
            ]
        )
        #expect((document["tape"] as? NSDictionary)?["duration_ms"] is NSNull)
        #expect(found[0].allKeys.count == found[1].allKeys.count)
    }

    /// Trap 17: a path is bytes.
    @Test func bytesThatAreNotTextAreInBase64() throws {
        let clip = ExportFixtures.video([0x2F, 0xFF, 0x61], 1)
        let found = try clips(document([clip]))
        #expect(found[0]["path"] as? String == "/\u{FFFD}a")
        #expect(found[0]["path_base64"] as? String == "L/9h")
    }

    @Test func membersAreSortedAndIndented() throws {
        let text = String(
            decoding: try TapeExport.json.bytes(of: ExportFixtures.tape(), clips: [ExportFixtures.still("/a/b.jpg")]),
            as: UTF8.self
        )
        #expect(text.hasPrefix("{\n  \"clips\": [\n    {\n      \"association\": \"pending\",\n"))
        #expect(text.contains("\"path\": \"/a/b.jpg\""))
    }
}
