import Foundation
import MediaCrypto
import MediaStore
import TestSupport
import Testing

@testable import Tapes

@Suite("Checksums of originals, and the search for moved ones")
struct ChecksumTests {
    let bench: EditingBench

    init() throws { bench = try EditingBench() }

    /// The digest as computed by a tool of coreutils.
    private func digest(_ tool: String, _ path: [UInt8]) async throws -> String {
        let ending = try await ChildProcess.run(tool, ["-b", String(decoding: path, as: UTF8.self)])
        return String(ending.output.prefix { $0 != " " })
    }

    private func stored(_ clip: ClipRecord) throws -> ClipRecord? {
        try bench.store.clips(of: clip.tapeID).first { $0.id == clip.id }
    }

    @Test("SHA-1 and SHA-256 match sha1sum and sha256sum, with length and time; the original is not changed")
    func checksums() async throws {
        // More than one block.
        let path = try bench.write(EditingBench.jpeg + [UInt8](repeating: 7, count: 3_000_000), "a.jpg")
        let clip = try bench.tape(["a.jpg"]).clips[0]
        let witness = try OriginalsWitness(bench.originals)
        let known = try await bench.editor.checksum(clip)
        #expect(known.sha1 == (try await digest("sha1sum", path)))
        #expect(known.sha256 == (try await digest("sha256sum", path)))
        #expect(known.size == 3_000_008)
        var status = stat()
        #expect(stat(bench.originals + "/a.jpg", &status) == 0)
        let seconds = Int64(status.st_mtim.tv_sec)
        #expect(known.modifiedNanoseconds == seconds * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
        #expect(try stored(clip) == known)
        try witness.check()
    }

    @Test("checksums that are still valid are not recomputed; those of a file whose length or time differs are")
    func cache() async throws {
        try bench.write(EditingBench.jpeg, "a.jpg")
        let clip = try await bench.editor.checksum(try bench.tape(["a.jpg"]).clips[0])
        var wrong = clip
        wrong.sha1 = "kept"
        #expect(try await bench.editor.checksum(wrong) == wrong)
        for change in [\ClipRecord.size, \.modifiedNanoseconds] {
            var old = wrong
            old[keyPath: change] = 1
            #expect(try await bench.editor.checksum(old) == clip)
        }
        var half = clip
        half.sha256 = nil
        #expect(try await bench.editor.checksum(half) == clip)
    }

    @Test("R14: a missing or unreadable original leaves the clip unchanged")
    func away() async throws {
        let tape = try bench.editor.create(title: "x")
        var gone = try bench.editor.inspect(Array("/nonexistent/a.jpg".utf8), allowingMissing: true)
        gone = try bench.editor.add([gone], to: tape)[0]
        #expect(try await bench.editor.checksum(gone) == gone)
        gone.source = nil
        #expect(try await bench.editor.checksum(gone) == gone)
        gone.source = bench.path("")
        #expect(try await bench.editor.checksum(gone) == gone)
    }

    @Test("a file that changes during reading does not get a checksum")
    func changing() async throws {
        let path = try bench.write([UInt8](repeating: 7, count: 2_000_000), "a.mp4")
        // Between the two status queries: right after the first one.
        let original = try await OriginalReading.read(path) { _ in
            let file = fopen(path.map(CChar.init(bitPattern:)) + [0], "r+")
            if let file {
                fwrite([UInt8(8)], 1, 1, file)
                fclose(file)
            }
            return false
        }
        #expect(original == nil)
        let again = try await OriginalReading.read(path)
        #expect(again?.digests?.sha256.hex == (try await digest("sha256sum", path)))
    }

    @Test("canceling stops the reading, and nothing is stored")
    func cancelled() async throws {
        try bench.write(EditingBench.jpeg + [UInt8](repeating: 7, count: 3_000_000), "a.jpg")
        let clip = try bench.tape(["a.jpg"]).clips[0]
        await expectCancellation { [editor = bench.editor] in _ = try await editor.checksum(clip) }
        #expect(try stored(clip) == clip)
    }

    // MARK: Relinking

    /// A tape whose originals have checksums.
    private func known(_ names: [String]) async throws -> (tape: TapeRecord, clips: [ClipRecord]) {
        let (tape, clips) = try bench.tape(names)
        var known: [ClipRecord] = []
        for clip in clips { known.append(try await bench.editor.checksum(clip)) }
        return (tape, known)
    }

    private func rename(_ old: String, _ new: String) throws {
        let url = URL(fileURLWithPath: bench.originals + "/" + new)
        try makeDirectory(url.deletingLastPathComponent().path)
        try FileManager.default.moveItem(atPath: bench.originals + "/" + old, toPath: url.path)
    }

    @Test("moved originals are found by checksum, unmoved ones are kept, others are reported missing; none is changed")
    func relink() async throws {
        for (number, name) in ["here.jpg", "moved.jpg", "gone.jpg", "unread.jpg"].enumerated() {
            try bench.write(EditingBench.jpeg + [UInt8(number)], name)
        }
        let (tape, clips) = try await known(["here.jpg", "moved.jpg", "gone.jpg"])
        let last = try bench.editor.inspect(bench.path("unread.jpg"), allowingMissing: false)
        let unread = try bench.editor.add([last], to: tape)
        try rename("moved.jpg", "a/b/other name.jpg")
        try FileManager.default.removeItem(atPath: bench.originals + "/gone.jpg")
        try FileManager.default.removeItem(atPath: bench.originals + "/unread.jpg")
        // This file has the length of the lost ones, but different content.
        try bench.write(EditingBench.jpeg + [99], "a/similar.jpg")
        let witness = try OriginalsWitness(bench.originals)
        let outcomes = [ClipOutcome(clipID: clips[1].id, association: .linked, assetID: clips[1].source)]
        try bench.store.recordOutcomes(outcomes, in: "folder:1")
        let expected = [
            RelinkResult(clip: clips[0], state: .present),
            RelinkResult(clip: try #require(try stored(clips[1])), state: .found(bench.path("a/b/other name.jpg"))),
            RelinkResult(clip: clips[2], state: .notFound), RelinkResult(clip: unread[0], state: .noChecksum),
        ]
        let before = try bench.store.clips(of: tape.id)
        let directories = [bench.path("a"), Array("/nonexistent".utf8)]
        #expect(try await bench.editor.relink([tape], in: directories, isDryRun: true) == expected)
        #expect(try bench.store.clips(of: tape.id) == before)
        #expect(try await bench.editor.relink([], in: directories, isDryRun: false) == expected)
        let after = try bench.store.clips(of: tape.id)
        #expect(after[1].source == bench.path("a/b/other name.jpg"))
        #expect(after[1].sha256 == clips[1].sha256)
        // The album refers to the original by its old path.
        #expect(after[1].association == .pending)
        #expect([after[0], after[2], after[3]] == [before[0], before[2], before[3]])
        // The checksums are valid for the file at its new path.
        #expect(try await bench.editor.checksum(after[1]) == after[1])
        try witness.check()
    }

    @Test("includesChanged finds the former file of a replaced original; one that was only touched is present")
    func relinkChanged() async throws {
        let names = ["longer.jpg", "same.jpg", "empty.jpg", "touched.jpg"]
        for name in names { try bench.write(EditingBench.jpeg + Array(name.utf8), name) }
        let (tape, _) = try await known(names)
        for name in names { try rename(name, "old/" + name) }
        try bench.write(EditingBench.jpeg + Array("another length".utf8), "longer.jpg")
        try bench.write(EditingBench.jpeg + Array("SAME.jpg".utf8), "same.jpg")
        try bench.write([], "empty.jpg")
        try bench.write(EditingBench.jpeg + Array("touched.jpg".utf8), "touched.jpg")
        let old = [bench.path("old")]
        let usual = try await bench.editor.relink([tape], in: old, isDryRun: false)
        #expect(usual.map(\.state) == [.present, .present, .present, .present])
        let found = try await bench.editor.relink([tape], in: old, includesChanged: true, isDryRun: false)
        let expected = names.prefix(3).map { RelinkResult.State.found(bench.path("old/" + $0)) }
        #expect(found.map(\.state) == expected + [.present])
        #expect(try bench.order(tape) == ["old/longer.jpg", "old/same.jpg", "old/empty.jpg", "touched.jpg"])
    }

    @Test("only the specified tapes are relinked, and only files of the right length are read")
    func relinkScope() async throws {
        try bench.write(EditingBench.jpeg, "a.jpg")
        let (tape, _) = try await known(["a.jpg"])
        let (other, _) = try await known(["a.jpg"])
        try rename("a.jpg", "b/a.jpg")
        // Reading it would fail, but a status query does not: a FIFO is not a regular file.
        #expect(mkfifo(bench.originals + "/b/fifo", 0o600) == 0)
        let results = try await bench.editor.relink([tape], in: [bench.path("b")], isDryRun: false)
        #expect(results.map(\.clip.tapeID) == [tape.id])
        #expect(try bench.order(tape) == ["b/a.jpg"])
        #expect(try bench.order(other) == ["a.jpg"])
    }

    @Test("if several files are equal, the one with the same name is used")
    func relinkName() async throws {
        try bench.write(EditingBench.jpeg, "z.jpg")
        let (tape, _) = try await known(["z.jpg"])
        try rename("z.jpg", "new/z.jpg")
        try bench.write(EditingBench.jpeg, "new/a.jpg")
        _ = try await bench.editor.relink([tape], in: [bench.path("new")], isDryRun: false)
        #expect(try bench.order(tape) == ["new/z.jpg"])
    }

    @Test("a live photo is found by its still image; its video is the one next to it")
    func relinkLive() async throws {
        try bench.write(EditingBench.jpeg, "1.jpg")
        try bench.write(EditingBench.movie, "1.mov")
        let tape = try bench.editor.create(title: "x")
        let parts = try ["1.jpg", "1.mov"].map { try bench.editor.inspect(bench.path($0), allowingMissing: false) }
        let live = try bench.editor.add(bench.editor.pairingLivePhotos(parts), to: tape)
        _ = try await bench.editor.checksum(live[0])
        try rename("1.jpg", "new/1.jpg")
        try rename("1.mov", "new/1.mov")
        _ = try await bench.editor.relink([tape], in: [bench.path("new")], isDryRun: false)
        let clip = try bench.store.clips(of: tape.id)[0]
        #expect(clip.source == bench.path("new/1.jpg"))
        #expect(clip.pairedSource == bench.path("new/1.mov"))
    }

    @Test("canceling stops the search, and nothing is changed")
    func relinkCancelled() async throws {
        try bench.write(EditingBench.jpeg, "a.jpg")
        let (tape, clips) = try await known(["a.jpg"])
        try rename("a.jpg", "new/a.jpg")
        await expectCancellation { [editor = bench.editor, directory = bench.path("new")] in
            _ = try await editor.relink([tape], in: [directory], isDryRun: false)
        }
        #expect(try bench.store.clips(of: tape.id) == clips)
    }
}
