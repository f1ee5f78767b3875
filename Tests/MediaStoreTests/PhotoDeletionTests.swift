import Foundation
import Testing

@testable import MediaStore

@Suite("Photos deleted on servers")
struct PhotoDeletionTests {
    let fixture: StoreFixture
    let server = "https://photos.example"

    init() throws { fixture = try StoreFixture() }

    private func deletion(_ number: Int, server: String? = nil, state: PhotoDeletion.State = .deleted) -> PhotoDeletion
    {
        PhotoDeletion(
            server: server ?? self.server,
            photoID: "photo-\(number)",
            sha256: String(repeating: "\(number % 2)", count: 64),
            name: "IMG_\(number).jpg",
            state: state,
            foundAt: Date(timeIntervalSince1970: 1_000)
        )
    }

    @Test("deletions are found by photo and by digest, for one server")
    func reading() throws {
        let directory = fixture.directory
        do {
            let store = try LibraryStore(in: directory)
            try store.add([deletion(1), deletion(2), deletion(3), deletion(1, server: "https://other.example")])
        }
        let store = try LibraryStore(in: directory)
        #expect(try store.deletions(ofPhotos: ["photo-1", "photo-9"], server: server) == [deletion(1)])
        let found = try store.deletions(withDigests: [String(repeating: "1", count: 64)], server: server)
        #expect(Set(found.map(\.photoID)) == ["photo-1", "photo-3"])
        #expect(try store.deletions(withDigests: [], server: server).isEmpty)
    }

    @Test("a deletion that is detected again stays accepted")
    func adding() throws {
        let store = try LibraryStore(in: fixture.directory)
        try store.keep([deletion(1, state: .accepted)])
        try store.add([deletion(1), deletion(2)])
        let states = try store.deletions(ofPhotos: ["photo-1", "photo-2"], server: server)
            .sorted { $0.photoID < $1.photoID }.map(\.state)
        #expect(states == [.accepted, .deleted])
        try store.keep([deletion(2, state: .accepted)])
        #expect(try store.deletions(ofPhotos: ["photo-2"], server: server).map(\.state) == [.accepted])
    }

    @Test("a later deletion of the same bytes ends the acceptance of the earlier one")
    func reopening() throws {
        let store = try LibraryStore(in: fixture.directory)
        try store.keep([deletion(1, state: .accepted), deletion(2, state: .accepted)])
        try store.add([deletion(3)])
        let states = try store.deletions(ofPhotos: ["photo-1", "photo-2", "photo-3"], server: server)
            .sorted { $0.photoID < $1.photoID }.map(\.state)
        #expect(states == [.deleted, .accepted, .deleted])
    }

    @Test("only deletions on the server that were not accepted become uncertain")
    func doubt() throws {
        let store = try LibraryStore(in: fixture.directory)
        try store.add([deletion(1), deletion(2, state: .accepted), deletion(3, server: "https://other.example")])
        try store.invalidateDeletions(of: server)
        #expect(try store.deletions(ofPhotos: ["photo-1"], server: server).map(\.state) == [.purged])
        #expect(try store.deletions(ofPhotos: ["photo-2"], server: server).map(\.state) == [.accepted])
        #expect(try store.deletions(ofPhotos: ["photo-3"], server: "https://other.example").map(\.state) == [.deleted])
    }
}
