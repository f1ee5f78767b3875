import Foundation
import MediaStore
import Tapes
import Testing

@Suite("Tapes are created, named and arranged")
struct TapeEditorTests {
    let bench: EditingBench

    init() throws { bench = try EditingBench() }

    @Test(
        "1.1: a title is trimmed; an empty one is refused by rename, and becomes New Tape on create",
        arguments: [
            ("Summer", "Summer"), ("  Été \n", "Été"), ("", "New Tape"), (" \t\n", "New Tape"), ("a  b", "a  b"),
        ]
    )
    func titles(title: String, expected: String) throws {
        let tape = try bench.editor.create(title: title)
        #expect(tape.title == expected)
        #expect(tape.createdAt == EditingBench.start)
        #expect(try bench.store.tape(tape.id) == tape)
        #expect(UUID(uuidString: tape.id) != nil)
        #expect(tape.id == tape.id.lowercased())
        if expected == TapeRecord.untitled {
            #expect(tapesErrorCode { _ = try bench.editor.rename(tape, to: title) } == .titleEmpty)
            #expect(try bench.store.tape(tape.id) == tape)
        } else {
            #expect(try bench.editor.rename(bench.editor.create(title: "x"), to: title).title == expected)
        }
    }

    @Test("R8: rename changes the tape only; the album keeps its title and its link")
    func rename() throws {
        let tape = try bench.editor.create(title: "Summer")
        let link = AlbumLink(
            tapeID: tape.id,
            libraryID: "folder:1",
            albumID: "a",
            titleAtCreation: "Tapes – Summer",
            createdAt: EditingBench.start
        )
        try bench.store.keep(link)
        #expect(try bench.editor.rename(tape, to: "Winter").title == "Winter")
        #expect(try bench.store.albumLinks(of: tape.id) == [link])
    }

    @Test("a tape is selected by ID, by ID prefix, or by its exact title; ambiguous ones are listed")
    func named() throws {
        let editor = bench.editor
        let (one, two) = (try editor.create(title: "Summer"), try editor.create(title: "Summer"))
        let three = try editor.create(title: "Winter")
        #expect(try editor.tape(named: one.id) == one)
        #expect(try editor.tape(named: three.id.uppercased()) == three)
        #expect(try editor.tape(named: String(two.id.prefix(18))) == two)
        #expect(try editor.tape(named: "Winter") == three)
        #expect(tapesErrorCode { _ = try editor.tape(named: "winter") } == .tapeNotFound)
        #expect(tapesErrorCode { _ = try editor.tape(named: String(one.id.prefix(3))) } == .tapeNotFound)
        let error = #expect(throws: TapesError.self) { try editor.tape(named: "Summer") }
        #expect(error?.code == .tapeAmbiguous)
        #expect(Set(error?.candidates ?? []) == [one.id, two.id])
    }

    @Test("one of several processes creates a missing tape")
    func createdOnce() async throws {
        let editors = try (0..<4).map { _ in try bench.secondEditor() }
        var made: [(id: String, isNew: Bool)] = []
        try await withThrowingTaskGroup(of: (id: String, isNew: Bool).self) { group in
            for editor in editors {
                group.addTask {
                    let (tape, clips) = try editor.tape(namedOrCreated: " Tour ")
                    return (tape.id, clips == nil)
                }
            }
            for try await tape in group { made.append(tape) }
        }
        #expect(Set(made.map { $0.id }).count == 1 && made.count { $0.isNew } == 1)
        #expect(try bench.store.tapeSummaries().map(\.tape.title) == ["Tour"])
        _ = try bench.editor.create(title: "Tour")
        #expect(tapesErrorCode { _ = try bench.editor.tape(namedOrCreated: "Tour") } == .tapeAmbiguous)
    }

    @Test("a clip is selected by number, file name, path, ID, or ID prefix")
    func clipSelectedByName() throws {
        for name in ["a.jpg", "b.jpg"] { try bench.write(EditingBench.jpeg, name) }
        let (tape, clips) = try bench.tape(["a.jpg", "b.jpg"])
        let editor = bench.editor
        #expect(try editor.clip(named: "#1", of: tape) == clips[0])
        #expect(try editor.clip(named: "#2", of: tape) == clips[1])
        #expect(try editor.clip(named: "2", of: tape) == clips[1])
        #expect(try editor.clip(named: "a.jpg", of: tape) == clips[0])
        let path = try #require(clips[1].source)
        #expect(try editor.clip(named: path, of: tape) == clips[1])
        #expect(try editor.clip(named: clips[1].id.uppercased(), of: tape) == clips[1])
        #expect(try editor.clip(named: String(clips[1].id.prefix(18)), of: tape) == clips[1])
        for name in [
            "", "#", "#0", "#3", "#-1", "#\(Int.min)", "#x", "3", "0", "-1", "+1", "/a.jpg", "a.JPG",
            String(clips[0].id.prefix(3)), "zzzz",
        ] {
            #expect(tapesErrorCode { _ = try editor.clip(named: name, of: tape) } == .clipNotFound, "\(name)")
        }
    }

    @Test("a name that several clips have selects none of them, and they are listed")
    func clipAmbiguous() throws {
        for name in ["a.jpg", "2"] { try bench.write(EditingBench.jpeg, name) }
        let (tape, clips) = try bench.tape(["a.jpg", "a.jpg", "2"])
        for (name, matches) in [("a.jpg", [clips[0], clips[1]]), ("2", [clips[1], clips[2]])] {
            let error = #expect(throws: TapesError.self) { try bench.editor.clip(named: name, of: tape) }
            #expect(error?.code == .clipNotFound && error?.candidates == matches.map(\.id))
            for clip in matches {
                #expect(error?.detail.contains("#\(clip.position + 1) (\(clip.id.prefix(8)))") == true)
            }
        }
        #expect(try bench.editor.clip(named: "#2", of: tape) == clips[1])
    }

    @Test("clips are inserted and moved to clamped positions")
    func arrange() throws {
        for name in ["a.jpg", "b.jpg", "c.jpg", "d.jpg"] { try bench.write(EditingBench.jpeg, name) }
        let (tape, clips) = try bench.tape(["a.jpg", "b.jpg", "c.jpg"])
        let new = try bench.editor.inspect(bench.path("d.jpg"), allowingMissing: false)
        let kept = try bench.editor.add([new], to: tape, at: 1)
        #expect(kept.map(\.position) == [1])
        #expect(try bench.order(tape) == ["a.jpg", "d.jpg", "b.jpg", "c.jpg"])
        #expect(try bench.editor.move(clips[0], to: 99) == 3)
        #expect(try bench.editor.move(clips[2], to: -1) == 0)
        #expect(try bench.order(tape) == ["c.jpg", "d.jpg", "b.jpg", "a.jpg"])
    }

    @Test("R17, trap 7: a copy is a separate tape without an album")
    func duplicate() throws {
        try bench.write(EditingBench.jpeg, "a.jpg")
        let (tape, clips) = try bench.tape(["a.jpg"])
        let copy = try bench.editor.duplicate(tape)
        #expect(copy.title == "Summer Copy")
        #expect(copy.association == .pending)
        #expect(try bench.store.albumLinks(of: copy.id).isEmpty)
        #expect(try bench.store.clips(of: copy.id).map(\.source) == clips.map(\.source))
    }

    @Test("missing items are reported by name")
    func gone() throws {
        let editor = bench.editor
        try bench.write(EditingBench.jpeg, "a.jpg")
        let (tape, clips) = try bench.tape(["a.jpg"])
        _ = try bench.store.deleteTape(tape.id, deletingAlbums: false)
        #expect(tapesErrorCode { _ = try editor.rename(tape, to: "x") } == .tapeNotFound)
        #expect(tapesErrorCode { _ = try editor.duplicate(tape) } == .tapeNotFound)
        #expect(tapesErrorCode { _ = try editor.add(clips, to: tape) } == .tapeNotFound)
        #expect(tapesErrorCode { _ = try editor.set(TapeChange(), on: tape) } == .tapeNotFound)
        #expect(tapesErrorCode { _ = try editor.set(ClipChange(), on: clips[0]) } == .clipNotFound)
        #expect(tapesErrorCode { _ = try editor.move(clips[0], to: 0) } == .clipNotFound)
        #expect(tapesErrorCode { _ = try editor.clip(named: "#1", of: tape) } == .clipNotFound)
    }

    @Test("an unusable store is reported")
    func unusable() throws {
        let clip = ClipRecord(id: "no id", tapeID: "", kind: .image, source: [0x2f])
        let tape = try bench.editor.create(title: "x")
        #expect(tapesErrorCode { _ = try bench.editor.add([clip], to: tape) } == .storeUnusable)
    }
}
