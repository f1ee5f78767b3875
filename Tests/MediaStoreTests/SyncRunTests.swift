import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Runs of the sync index")
struct SyncRunTests {
    let fixture = Result { try IndexFixture() }
    let server = IndexFixture.server

    @Test("what a run stored is read back to the letter, oldest upload first")
    func roundTrip() throws {
        let index = try fixture.get().index()
        var odd = samplePhoto(3, device: nil, name: "")
        odd.id = "ID with spaces, no UUID"
        odd.sha256 = "ABC"
        odd.takenAt = PhotoTime(text: "1969-12-31T23:59:59.123456789Z", microseconds: -876_544)
        odd.uploadedAt.text = "2023-11-14T22:13:23.003000000Z"
        odd.width = nil
        odd.height = nil
        var early = samplePhoto(4, device: IndexFixture.tablet, name: "é\u{0}\u{1B}.jpg")
        early.takenAt = PhotoTime(text: "0001-01-01T00:00:00.5Z", microseconds: -62_135_596_799_500_000)
        var late = samplePhoto(5)
        late.takenAt = PhotoTime(text: "10000-01-01T00:00:00Z", microseconds: 253_402_300_800_000_000)
        let photos = [samplePhoto(1), samplePhoto(2), odd, early, late]
        let (run, changes) = try index.synchronize([photos.reversed()])
        #expect(run.photosSeen == 5)
        #expect(run.isAtEnd)
        #expect(changes.added == 5)
        #expect(try index.all() == photos)
        #expect(Set(try index.photos(photos.map(\.id), of: server)) == Set(photos))
        #expect(Set(try index.photos(withDigests: photos.map(\.sha256), of: server)) == Set(photos))
    }

    @Test("photos that two pages of a run tell count once, the later telling stands")
    func distinct() throws {
        let index = try fixture.get().index()
        var renamed = samplePhoto(2)
        renamed.originalFilename = "renamed.jpg"
        let pages = [[samplePhoto(1), samplePhoto(2)], [renamed, samplePhoto(1)], [samplePhoto(3), samplePhoto(3)]]
        let (run, changes) = try index.synchronize(pages)
        #expect(run.photosSeen == 3)
        #expect(run.pagesSeen == 3)
        #expect(changes.added == 3)
        #expect(changes.changed == 0)
        #expect(try index.all() == [samplePhoto(1), renamed, samplePhoto(3)])
    }
}
