import Foundation
import GRDB
import TestSupport

@testable import MediaStore

/// A data directory with an index for one test.
struct IndexFixture {
    static let server = "https://photos.example"
    static let phone = PhotoDevice(id: "d-phone", name: "Phone", platform: "ios")
    static let tablet = PhotoDevice(id: "d-tablet", name: "Tablet", platform: "android")

    let temporary: TemporaryDirectory
    let directory: DataDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try DataDirectory.open(temporary.file("data"))
    }

    var path: String { directory.file("index.sqlite") }

    func index() throws -> SyncIndex { try SyncIndex(in: directory) }

    /// Another program's view of the database.
    func rawDatabase() throws -> DatabaseQueue { try DatabaseQueue(path: path) }
}

/// A photo with an ID in the server's form, one second after the previous photo.
func samplePhoto(_ number: Int, device: PhotoDevice? = IndexFixture.phone, name: String = "IMG.JPG") -> PhotoRecord {
    let seconds = 1_700_000_000 + number
    return PhotoRecord(
        id: String(format: "%08x-1111-4222-8333-%012x", number &* 2_654_435_761 & 0xffff_ffff, number),
        sha256: String(format: "%064x", number),
        originalFilename: name,
        fileSize: Int64(number),
        takenAt: sampleTime(seconds - 3600, microsecond: 0),
        uploadedAt: sampleTime(seconds, microsecond: number % 1000 * 1000),
        originDevice: device,
        width: 4032,
        height: 3024
    )
}

/// A time in the server's format, by Foundation's calendar.
func sampleTime(_ seconds: Int, microsecond: Int) -> PhotoTime {
    let date = Date(timeIntervalSince1970: Double(seconds))
    var text = date.formatted(.iso8601).dropLast().description
    if microsecond != 0 {
        let digits = String(microsecond + 1_000_000).dropFirst()
        text += "." + digits.description.replacing(/0+$/, with: "")
    }
    return PhotoTime(text: text + "Z", microseconds: Int64(seconds) * 1_000_000 + Int64(microsecond))
}

extension SyncIndex {
    /// Runs through pages to the end.
    @discardableResult
    func synchronize(
        _ pages: [[PhotoRecord]],
        kind: SyncRun.Kind = .full,
        server: String = IndexFixture.server,
        account: String = "me",
        totalCount: Int64? = nil
    ) throws -> (run: SyncRun, changes: SyncChanges) {
        var run = try begin(server, account: account, kind: kind, restarts: true, now: Date())
        let count = totalCount ?? Int64(pages.joined().count)
        for (number, page) in pages.enumerated() {
            let cursor = number == pages.count - 1 ? nil : "after \(number)"
            run = try append(page, cursor: cursor, totalCount: count, to: run)
        }
        return (run, try finish(run, now: Date()))
    }

    func all(_ filter: PhotoFilter = PhotoFilter(), server: String = IndexFixture.server) throws -> [PhotoRecord] {
        var photos: [PhotoRecord] = []
        try forEachBlock(of: server, where: filter) { photos += $0 }
        return photos
    }
}
