import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Reading the sync index")
struct SyncReadingTests {
    let fixture: IndexFixture
    let index: SyncIndex
    let server = IndexFixture.server

    init() throws {
        fixture = try IndexFixture()
        index = try fixture.index()
    }

    @Test("filters by origin and time, in the order of upload")
    func filters() throws {
        let devices = [nil, IndexFixture.phone, IndexFixture.tablet]
        let photos = (0..<12).map { samplePhoto($0, device: devices[$0 % 3]) }
        try index.synchronize([photos.shuffled()])
        let expected: [(PhotoFilter, [Int])] = [
            (PhotoFilter(), Array(0..<12)),
            (PhotoFilter(origin: .legacy), [0, 3, 6, 9]),
            (PhotoFilter(origin: .device("d-phone")), [1, 4, 7, 10]),
            (PhotoFilter(origin: .device("unknown")), []),
            (PhotoFilter(origin: .otherThan("d-phone")), [2, 5, 8, 11]),
            (PhotoFilter(origin: .otherThan(nil)), [1, 2, 4, 5, 7, 8, 10, 11]),
            (PhotoFilter(uploadedSince: photos[9].uploadedAt), [9, 10, 11]),
            (PhotoFilter(origin: .legacy, uploadedSince: photos[4].uploadedAt), [6, 9]),
            (PhotoFilter(isGone: true), []),
        ]
        for (filter, numbers) in expected { #expect(try index.all(filter) == numbers.map { photos[$0] }, "\(filter)") }
        #expect(try index.all(server: "https://unknown") == [])
    }

    @Test("blocks have up to 500 photos, even if all have the same time, and do not block writers")
    func blocks() throws {
        let photos = (0..<1203).map { number in
            var photo = samplePhoto(number)
            photo.uploadedAt = samplePhoto(0).uploadedAt
            return photo
        }
        try index.synchronize([photos])
        var sizes: [Int] = []
        var ids: [String] = []
        try index.forEachBlock(of: server, where: PhotoFilter()) { block in
            sizes.append(block.count)
            ids += block.map(\.id)
            try index.setOrigin(IndexFixture.tablet, ofPhotos: [block[0].id], server: server)
        }
        #expect(sizes == [500, 500, 203])
        #expect(ids == photos.map(\.id).sorted())
    }

    @Test("blocks are found by key, with an index and without sorting")
    func keyset() throws {
        try index.synchronize([(0..<10).map { samplePhoto($0) }])
        let plan = try fixture.rawDatabase().read { db in
            try Row.fetchAll(
                db,
                sql: """
                    EXPLAIN QUERY PLAN SELECT 1 FROM photos INDEXED BY photos_by_upload
                    CROSS JOIN origins ON origins.number = photos.origin
                    WHERE photos.server = 1 AND is_gone = 0 AND (uploaded_us, photos.id) > (5, x'00')
                    ORDER BY uploaded_us, photos.id LIMIT 500
                    """
            ).map { $0["detail"] as String }
        }
        #expect(plan.first?.contains("server=? AND (uploaded_us,id)>(?,?)") == true, "\(plan)")
        #expect(!plan.contains { $0.contains("TEMP B-TREE") })
    }

    @Test("an error thrown by the body stops the reading")
    func bodyThrows() throws {
        try index.synchronize([(0..<600).map { samplePhoto($0) }])
        var calls = 0
        #expect(throws: CancellationError.self) {
            try index.forEachBlock(of: server, where: PhotoFilter()) { _ in
                calls += 1
                throw CancellationError()
            }
        }
        #expect(calls == 1)
    }

    @Test("claimed photos belong to the device, and are counted there")
    func setOrigin() throws {
        let photos = (1...4).map { samplePhoto($0, device: nil) }
        try index.synchronize([photos])
        try index.synchronize([Array(photos[..<3])])
        let ids = [photos[0].id, photos[0].id, photos[3].id, "unknown"]
        try index.setOrigin(IndexFixture.phone, ofPhotos: ids, server: server)
        try index.setOrigin(IndexFixture.phone, ofPhotos: ids, server: "https://unknown")
        let counts = try index.counts(of: server, device: IndexFixture.phone.id)
        #expect((counts.thisDevice, counts.otherDevices, counts.legacy, counts.gone) == (1, 0, 2, 1))
        #expect(try index.photos([photos[0].id], of: server).first?.originDevice == IndexFixture.phone)
        let gone = try index.all(PhotoFilter(origin: .device("d-phone"), isGone: true))
        #expect(gone.map(\.id) == [photos[3].id])
    }

    @Test("photos that this process deleted on the server are marked as deleted without another run")
    func markGone() throws {
        let photos = (1...4).map { samplePhoto($0) }
        try index.synchronize([photos])
        #expect(try index.markGone([photos[1].id, photos[1].id, "unknown"], of: server))
        #expect(try index.markGone([photos[1].id], of: server) && index.markGone(["x"], of: "https://unknown"))
        #expect(try index.all() == [photos[0], photos[2], photos[3]])
        #expect(try index.all(PhotoFilter(isGone: true)) == [photos[1]])
        let counts = try index.counts(of: server, device: IndexFixture.phone.id)
        #expect((counts.thisDevice, counts.total, counts.gone) == (3, 3, 1))
        // A listing that contains such a photo restores it.
        try index.synchronize([photos])
        #expect(try index.counts(of: server, device: nil).total == 4)
    }

    @Test("photos with a new ID are removed without being marked as deleted")
    func removeReplaced() throws {
        let photos = (1...3).map { samplePhoto($0) }
        try index.synchronize([photos])
        #expect(try index.remove([photos[1].id, "unknown"], of: server))
        #expect(try index.all() == [photos[0], photos[2]])
        #expect(try index.all(PhotoFilter(isGone: true)).isEmpty)
        let counts = try index.counts(of: server, device: IndexFixture.phone.id)
        #expect((counts.total, counts.gone) == (2, 0))
    }

    @Test("photos that an unfinished run may have seen are kept")
    func markGoneDuringARun() throws {
        let photos = (1...4).map { samplePhoto($0) }
        try index.synchronize([photos])
        var run = try index.begin(server, account: "me", kind: .full, restarts: true, now: Date())
        run = try index.append([photos[0]], cursor: "c", totalCount: 4, to: run)
        #expect(try !index.markGone([photos[0].id], of: server))
        #expect(try index.all() == photos)
        // The run itself detects that others are deleted.
        run = try index.append([photos[1], photos[2]], cursor: nil, totalCount: 3, to: run)
        #expect(try index.finish(run, now: Date()).gone == 1)
        #expect(try index.markGone([photos[0].id], of: server))
    }

    @Test("a renamed device is renamed for all its photos")
    func renamedDevice() throws {
        try index.synchronize([[samplePhoto(1), samplePhoto(2)]])
        var phone = IndexFixture.phone
        phone.name = "New phone"
        let (_, changes) = try index.synchronize([[samplePhoto(1, device: phone), samplePhoto(2, device: phone)]])
        #expect(changes == SyncChanges())
        #expect(try index.all().map(\.originDevice) == [phone, phone])
    }

    @Test("texts are stored unchanged", arguments: ["", "é€😀", String(repeating: "long name ", count: 30)])
    func texts(name: String) throws {
        var photo = samplePhoto(1)
        (photo.originalFilename, photo.id) = (name, "id of another form \(name)")
        try index.synchronize([[photo]])
        #expect(try index.all() == [photo])
        #expect(try index.photos([photo.id], of: server) == [photo])
    }

    @Test("deleted photos are found by ID and digest, on request")
    func gonePhotos() throws {
        let photos = (0..<3).map { samplePhoto($0) }
        try index.synchronize([photos])
        try index.synchronize([Array(photos.dropFirst())])
        #expect(try index.photos(photos.map(\.id), of: server, areGone: true) == [photos[0]])
        #expect(try index.photos(withDigests: photos.map(\.sha256), of: server, areGone: true) == [photos[0]])
        #expect(try index.photos([photos[0].id], of: server).isEmpty)
        #expect(try index.photos(withDigests: [photos[0].sha256], of: server).isEmpty)
    }

    @Test("IDs and digests are found while a run without their indexes is in progress", arguments: [true, false])
    func duringBulk(queriesFirst: Bool) throws {
        let before = samplePhoto(1)
        try index.synchronize([[before]])
        if queriesFirst { #expect(try index.photos(withDigests: [before.sha256], of: server) == [before]) }
        var run = try index.begin(server, account: "me", kind: .full, restarts: true, now: Date())
        run = try index.append([before, samplePhoto(2)], cursor: "c", totalCount: 100_000, to: run)
        let names = try fixture.rawDatabase().read { db in
            try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_schema WHERE name IN ('photos_by_id', 'photos_by_digest')"
            )
        }
        #expect(names == [])
        #expect(try index.photos([samplePhoto(2).id, before.id], of: server).count == 2)
        #expect(try index.photos(withDigests: [samplePhoto(2).sha256], of: server) == [samplePhoto(2)])
        run = try index.append([samplePhoto(2), samplePhoto(3)], cursor: nil, totalCount: 100_000, to: run)
        #expect(run.photosSeen == 3)
    }

    /// Microseconds computed with Python's `datetime`.
    @Test(
        "times in the server's format are stored as a number and returned in that format",
        arguments: [
            ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
            ("0001-03-01T12:00:00.5Z", -62_130_455_999_500_000),
            ("1600-02-29T23:59:59Z", -11_670_912_001_000_000),
            ("1900-03-01T00:00:00.000001Z", -2_203_891_199_999_999),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T00:00:00.1Z", 951_782_400_100_000),
            ("2024-02-29T00:00:00.12Z", 1_709_164_800_120_000),
            ("2100-02-28T23:59:59.00001Z", 4_107_542_399_000_010),
            ("9999-12-31T23:59:59.99999Z", 253_402_300_799_999_990),
        ]
    )
    func usualTimes(text: String, microseconds: Int64) {
        #expect(PhotoCoding.time(microseconds) == text)
        #expect(PhotoCoding.text(PhotoTime(text: text, microseconds: microseconds)) == .null)
        #expect(PhotoCoding.text(PhotoTime(text: text, microseconds: microseconds + 1)) == .text(text))
    }

    @Test(
        "times in any other form are stored unchanged",
        arguments: ["1970-01-01T00:00:00.0Z", "1970-01-01T00:00:00.000000000Z", "1970-01-01T00:00:00+00:00", "", "Z"]
    )
    func unusualTimes(text: String) {
        #expect(PhotoCoding.text(PhotoTime(text: text, microseconds: 0)) == .text(text))
    }
}
