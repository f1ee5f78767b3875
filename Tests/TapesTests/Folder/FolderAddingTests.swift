import Foundation
import TestSupport
import Testing

@testable import Tapes

@Suite struct FolderAddingTests {
    @Test("R6, R7: originals are linked in their order, and adding again changes nothing") func links() async throws {
        let fixture = try await FolderFixture.ready()
        let paths = [try fixture.original("IMG_2041.jpg"), try fixture.original("clip.mov")]
        let witness = try fixture.witness()
        let album = try await fixture.album()
        #expect(try await fixture.add(paths, to: album) == [.added, .added])
        #expect(try fixture.names() == [".mediactl-album.json", "0001-IMG_2041.jpg", "0002-clip.mov"])
        let manifest = try Data(contentsOf: URL(fileURLWithPath: fixture.path(".mediactl-album.json")))
        #expect(try await fixture.add(paths, to: album) == [.alreadyThere, .alreadyThere])
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path(".mediactl-album.json"))) == manifest)
        try witness.check()
    }
}
