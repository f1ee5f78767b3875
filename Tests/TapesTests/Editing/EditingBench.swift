import Foundation
import MediaStore
import Tapes
import TestSupport
import Testing

/// A store and a directory of originals for one test.
struct EditingBench {
    let editor: TapeEditor
    private let temporary: TemporaryDirectory

    static let start = Date(timeIntervalSince1970: 1_780_000_000)

    init() throws {
        temporary = try TemporaryDirectory()
        let store = try LibraryStore(in: try DataDirectory.open(temporary.file("data")))
        editor = TapeEditor(store: store) { Self.start }
        try FileManager.default.createDirectory(atPath: originals, withIntermediateDirectories: false)
    }

    /// An editor with its own connection, like that of another process.
    func secondEditor() throws -> TapeEditor {
        TapeEditor(store: try LibraryStore(in: try DataDirectory.open(temporary.file("data")))) { Self.start }
    }

    var store: LibraryStore { editor.store }
    /// Absolute, without symbolic links in it.
    var originals: String { temporary.file("originals") }

    func path(_ name: String) -> [UInt8] { Array((originals + "/" + name).utf8) }

    /// Writes a file, creating its directory.
    @discardableResult
    func write(_ bytes: [UInt8], _ name: String) throws -> [UInt8] {
        let url = URL(fileURLWithPath: originals + "/" + name)
        try makeDirectory(url.deletingLastPathComponent().path)
        try Data(bytes).write(to: url)
        return path(name)
    }

    /// Adds files to a new tape.
    func tape(_ names: [String]) throws -> (tape: TapeRecord, clips: [ClipRecord]) {
        let tape = try editor.create(title: "Summer")
        let clips = try names.map { try editor.inspect(path($0), allowingMissing: false) }
        return (tape, try editor.add(clips, to: tape))
    }

    func order(_ tape: TapeRecord) throws -> [String] {
        try store.clips(of: tape.id).map { $0.source.map { String(decoding: $0, as: UTF8.self) } ?? "" }
            .map { String($0.dropFirst(originals.count + 1)) }
    }

    static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16, 0x4A, 0x46]
    static let movie: [UInt8] = [0, 0, 0, 8] + Array("moov".utf8)
}

extension TapeEditor {
    /// Changes one clip.
    func set(_ change: ClipChange, on clip: ClipRecord) throws(TapesError) -> ClipRecord {
        try set(change, on: [clip])[0]
    }
}

/// Expects that work ends at its first step if it is canceled before it starts.
func expectCancellation(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ work: @escaping @Sendable () async throws -> Void
) async {
    let gate = AsyncStream<Void>.makeStream()
    let task = Task {
        for await _ in gate.stream {}
        try await work()
    }
    task.cancel()
    gate.continuation.finish()
    let error = await #expect(throws: TapesError.self, sourceLocation: sourceLocation) { try await task.value }
    #expect(error?.code == .cancelled, sourceLocation: sourceLocation)
}

/// Code of the error that a body throws; nil if it does not throw.
func tapesErrorCode(_ body: () throws -> Void) -> OutcomeCode? {
    do {
        try body()
        return nil
    } catch {
        return (error as? TapesError)?.code
    }
}

extension TapeEditor {
    func clip(named name: String, of tape: TapeRecord) throws(TapesError) -> ClipRecord {
        try clip(named: Array(name.utf8), of: tape)
    }
}
