import Foundation
import MediaStore
import Testing

@testable import Tapes

/// R1, R2, R4 and R7: how a tape gets its album, and what is left when that breaks off.
@Suite struct FirstContentTests {
    @Test("R1: the first content makes one album, the next is added to it")
    func firstContent() async throws {
        let bench = try AlbumBench()
        let id = try bench.tape()
        // An empty tape never has an album.
        #expect(try await bench.service().associate(id).state == .skipped)
        #expect(bench.library.calls.isEmpty)

        try bench.add(["a"], to: id)
        let first = try await bench.service().associate(id)
        #expect(first.state == .associated && first.isCreated && first.addedClips == 1)
        #expect(bench.library.albums == ["album-1": .init(title: "Tapes – Summer", tapeID: id, assets: ["/a"])])
        #expect(try bench.link(id)?.albumID == "album-1")

        try bench.add(["b"], to: id)
        let second = try await bench.service().associate(id)
        #expect(second.state == .associated && !second.isCreated && second.link?.albumID == "album-1")
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id) == ["/a", "/b"])
    }

    @Test(
        "R1: the title, with an en dash, trimmed, control characters as spaces",
        arguments: [
            ("Summer", "Summer"), ("  Summer \n", "Summer"), (" \t ", "New Tape"), ("", "New Tape"),
            ("a\u{1}\nb", "a  b"), ("Tapes – x", "Tapes – x"),
        ]
    )
    func title(_ title: String, _ shown: String) {
        let made = AlbumTitle.of(TapeRecord(id: "", title: title, createdAt: Date()))
        #expect(Array(made.utf8) == [0x54, 0x61, 0x70, 0x65, 0x73, 0x20, 0xe2, 0x80, 0x93, 0x20] + Array(shown.utf8))
    }
}
