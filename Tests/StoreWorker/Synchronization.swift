import Foundation
import MediaStore

/// A full run over the listing of a server: `sync DIRECTORY SERVER PAGES PHOTOS-PER-PAGE [wait]`. Prints `begun`, the
/// number of each page once it is stored, and `finished PHOTOS`. With `wait` it reads a line before each page.
struct Synchronization {
    private let index: SyncIndex
    private let server: String
    private let pageCount: Int
    private let pageSize: Int
    private let waits: Bool

    init(_ directory: DataDirectory, _ arguments: [String]) throws {
        guard arguments.count >= 5 else {
            throw Failure("usage: store-worker sync DIRECTORY SERVER PAGES PHOTOS [wait]")
        }
        index = try SyncIndex(in: directory)
        server = arguments[2]
        pageCount = Int(arguments[3]) ?? 0
        pageSize = Int(arguments[4]) ?? 0
        waits = arguments.last == "wait"
    }

    func run() throws {
        var run = try index.begin(server, account: "me", kind: .full, restarts: false, now: Date())
        StoreWorker.report("begun")
        var page = run.cursor.flatMap { Int($0) } ?? 0
        while !run.isAtEnd {
            if waits { _ = readLine() }
            let photos = (page * pageSize..<(page + 1) * pageSize).map(Self.photo)
            page += 1
            let cursor = page == pageCount ? nil : "\(page)"
            run = try index.append(photos, cursor: cursor, totalCount: Int64(pageCount * pageSize), to: run)
            StoreWorker.report("\(page)")
        }
        _ = try index.finish(run, now: Date())
        StoreWorker.report("finished \(run.photosSeen)")
    }

    private static func photo(_ number: Int) -> PhotoRecord {
        let time = PhotoTime(text: "at \(number)", microseconds: Int64(number))
        return PhotoRecord(
            id: "\(number)",
            sha256: String(repeating: "0", count: 64),
            originalFilename: "IMG_\(number).JPG",
            fileSize: 1,
            takenAt: time,
            uploadedAt: time
        )
    }
}
