import Foundation
import GRDB

@testable import MediaStore

/// A library with tapes for one test.
struct TapeFixture {
    let store: LibraryStore
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
        store = try LibraryStore(in: fixture.directory)
    }

    static let start = Date(timeIntervalSince1970: 1_780_000_000)

    /// Creates a tape with clips, each with a separate file; a tape created later has a later change time.
    @discardableResult
    func tape(_ number: Int, title: String? = nil, clips: Int = 0) throws -> TapeRecord {
        let tape = TapeRecord(
            id: sampleID(0xa000_0000 + number),
            title: title ?? "Tape \(number)",
            createdAt: Self.start + Double(number)
        )
        try store.create(tape)
        if clips > 0 {
            let new = (0..<clips).map { sampleClip(number * 1000 + $0) }
            _ = try store.addClips(new, to: tape.id, at: nil, now: Self.start + Double(number))
        }
        return try tapeNow(tape.id)
    }

    func tapeNow(_ id: String) throws -> TapeRecord {
        guard let tape = try store.tape(id) else { throw StoreError(.other, path: id, detail: "no such tape") }
        return tape
    }

    /// Numbers of the clips of a tape, in order; nil if their positions are not consecutive from 0.
    func order(_ tapeID: String) throws -> [Int]? {
        let clips = try store.clips(of: tapeID)
        guard clips.map(\.position) == Array(clips.indices) else { return nil }
        return clips.compactMap { Int($0.id.suffix(12), radix: 16) }
    }

    /// Another program's view of the database.
    func raw<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try fixture.rawDatabase(fixture.directory.file("library.sqlite")).write(body)
    }

    func execute(_ sql: String) throws { try raw { try $0.execute(sql: sql) } }
}

func sampleID(_ number: Int) -> String { String(format: "%08x-0000-4000-8000-%012x", number, number) }

/// A video whose file no other sample uses.
func sampleClip(_ number: Int) -> ClipRecord {
    ClipRecord(id: sampleID(number), tapeID: "", kind: .video, source: Array("/clips/\(number).mp4".utf8))
}

/// A clip with a value for everything; its paths are not UTF-8.
func fullClip(_ number: Int) -> ClipRecord {
    var clip = sampleClip(number)
    clip.kind = .live
    clip.source = [0x2f, 0xff, 0x0a]
    clip.pairedSource = [0x2f, 0xfe, 0x27]
    clip.size = 6_442_450_944
    clip.modifiedNanoseconds = 1_780_000_000_123_456_789
    clip.sha1 = String(repeating: "0a", count: 20)
    clip.sha256 = String(repeating: "0b", count: 32)
    clip.durationMilliseconds = 12_345
    clip.trimStartMilliseconds = 100
    clip.trimEndMilliseconds = 200
    clip.rotateQuarterTurns = 3
    clip.scaleOverride = .fill
    clip.volume = 0.25
    clip.imageMilliseconds = 1500
    return clip
}

func sampleLink(_ tapeID: String, album: String = "album-1", library: String = "folder:1") -> AlbumLink {
    AlbumLink(
        tapeID: tapeID,
        libraryID: library,
        albumID: album,
        titleAtCreation: "Tapes – Summer",
        ownerID: "me",
        hint: [0x2f, 0xff],
        createdAt: TapeFixture.start,
        verifiedAt: TapeFixture.start + 1
    )
}
