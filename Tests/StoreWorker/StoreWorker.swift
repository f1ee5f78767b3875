import Foundation
import MediaStore
import MediaSystem

/// A separate process that uses the store, for tests with several processes: `store-worker COMMAND DIRECTORY
/// [ARGUMENT…]`. Prints one line per step on stdout, without buffering; exit code 12 and `error KIND` for a
/// `StoreError`.
@main
struct StoreWorker {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch let error as StoreError {
            report("error \(error.kind)")
            complain(error.description)
            exit(12)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count >= 2 else { throw Failure("usage: store-worker COMMAND DIRECTORY [ARGUMENT…]") }
        let directory = try DataDirectory.open(arguments[1])
        let argument = arguments.count > 2 ? arguments[2] : ""
        switch arguments[0] {
        case "open":
            _ = try TokenStore(in: directory)
            report("opened")
        case "list":
            report("\(try TokenStore(in: directory).tokens(host: nil).count)")
        case "fill": try await fill(directory, count: Int(argument) ?? 0)
        case "commit": try await commitOnce(directory)
        case "commit-forever": try await commitForever(directory)
        case "mix": try await Mix(number: Int64(argument) ?? 0, store: TokenStore(in: directory)).run()
        case "rescue": try holdResponse(directory, uploadID: argument)
        case "rescue-again": try await useLogAgain(directory)
        case "rescue-forever": try useLogForever(directory)
        case "hashes": keepHashes(in: argument, number: UInt64(arguments.last ?? "") ?? 0)
        case "lock": try holdLock(directory, uploadID: argument)
        case "album-lock": try await holdAlbumLock(directory, tapeID: argument)
        case "sync": try Synchronization(directory, arguments).run()
        case "index":
            _ = try SyncIndex(in: directory)
            report("opened")
        case "library":
            _ = try LibraryStore(in: directory)
            report("opened")
        case "counters": try await Counters(directory, arguments).run()
        case "copies": try await keepCopies(directory, worker: argument)
        case "spool": try holdSpoolFile(directory, limit: Int64(argument) ?? 0)
        default: throw Failure("unknown command \(arguments[0])")
        }
    }

    // MARK: Commands

    private static func fill(_ directory: DataDirectory, count: Int) async throws {
        let store = try TokenStore(in: directory)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    try await store.commit("u-none", UploadChange(), token: entry("host", Int64(number)))
                }
            }
            try await group.waitForAll()
        }
    }

    private static func commitOnce(_ directory: DataDirectory) async throws {
        let store = try TokenStore(in: directory)
        report("committing")
        try await store.commit("u-none", UploadChange(), token: entry("host", 1))
        report("uploaded")
    }

    private static func commitForever(_ directory: DataDirectory) async throws {
        let store = try TokenStore(in: directory)
        report("ready")
        var number: Int64 = 0
        while true {
            number += 1
            try await store.commit("u-none", UploadChange(), token: entry("forever", number))
            report("\(number)")
        }
    }

    /// Stores three states of each of a hundred copies, eight copies in parallel.
    private static func keepCopies(_ directory: DataDirectory, worker: String) async throws {
        let library = try LibraryStore(in: directory)
        for first in stride(from: 0, to: 100, by: 8) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in first..<min(first + 8, 100) {
                    group.addTask {
                        for state in [PhotoCopy.State.planned, .written, .present] {
                            let copy = PhotoCopy(
                                server: "https://photos.example",
                                photoID: "\(worker)-\(number)",
                                path: Array("/photos/\(worker)/\(number).jpg".utf8),
                                state: state,
                                source: .downloaded,
                                serverSHA256: String(repeating: "0a", count: 32)
                            )
                            try await library.keep([copy])
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        report("kept")
    }

    /// Appends a response from standard input as it arrives, and never releases it.
    private static func holdResponse(_ directory: DataDirectory, uploadID: String) throws {
        let record = try RescueLog(in: directory).reserve(for: uploadID)
        report("created")
        var hasBegun = false
        while let line = readLine() {
            if !hasBegun { try record.begin(status: 201) }
            hasBegun = true
            try Array(line.utf8).withUnsafeBytes { try record.append($0) }
            report("appended")
        }
        withExtendedLifetime(record) {}
    }

    /// Reserves and releases a record twice, as two uploads in a batch do.
    private static func useLogAgain(_ directory: DataDirectory) async throws {
        let log = RescueLog(in: directory, isOpen: true)
        try log.reserve(for: "u-a").release()
        report("beginning")
        let record = try log.reserve(for: "u-b")
        try response("b", count: 600, in: record)
        try await record.synchronize()
        record.release()
        report("ended")
        log.close()
    }

    /// Every upload's response consists of the letter of its ID.
    private static func useLogForever(_ directory: DataDirectory) throws {
        let log = RescueLog(in: directory, isOpen: true)
        var count = 0
        while true {
            for letter in "abcdefghij" {
                count = (count + 1_371) % 12_000
                let record = try log.reserve(for: "u-\(letter)")
                try response(letter, count: count, in: record)
                report("\(letter)")
                record.release()
            }
        }
    }

    private static func response(_ letter: Character, count: Int, in record: RescueRecord) throws {
        try record.begin(status: 201)
        try Array(String(repeating: letter, count: count).utf8).withUnsafeBytes { try record.append($0) }
    }

    /// Stores a hundred entries, and counts how many of them are found afterwards.
    private static func keepHashes(in directory: String, number: UInt64) {
        let cache = HashCache(directory: directory)
        let digest = String(repeating: "0a", count: 32)
        let identities = (1...100).map { place in
            FileIdentity(
                device: .max,
                inode: number * 100 + place,
                size: 12,
                modificationNanoseconds: 1_700_000_000_123_456_789,
                changeNanoseconds: 1_700_000_000_123_456_790
            )
        }
        for identity in identities {
            cache.keep(digest, for: identity)
            if identity.inode % 10 == 0 { cache.flush() }
        }
        report("kept \(identities.count { cache.digest(of: $0) == digest })")
    }

    private static func holdLock(_ directory: DataDirectory, uploadID: String) throws {
        guard let lock = try UploadLock.acquire(uploadID, in: directory) else {
            report("taken")
            return
        }
        report("locked")
        _ = readLine()
        lock.release()
        report("released")
        _ = readLine()
    }

    private static func holdAlbumLock(_ directory: DataDirectory, tapeID: String) async throws {
        let lock = try await AlbumLock.acquire(.tape(tapeID), in: directory)
        report("locked")
        _ = readLine()
        lock.release()
    }

    private static func holdSpoolFile(_ directory: DataDirectory, limit: Int64) throws {
        let file = try SpoolFile(copying: 0, to: directory, limit: limit, reserve: 0) { false }
        report("spooled \(file.byteCount)")
        while true { pause() }
    }

    // MARK: Values

    static func entry(_ host: String, _ fileID: Int64) -> TokenEntry {
        let token = String(repeating: "0123456789abcdef", count: 4)
        guard let token = DeleteToken(token) else { preconditionFailure("64 hexadecimal characters are a token") }
        return TokenEntry(
            host: host,
            fileID: fileID,
            token: token,
            createdAt: Date(),
            eventDate: "2026-05-01",
            orgName: "Band",
            eventType: "band",
            label: "a label",
            fileName: "a file.mp4",
            fileType: "video",
            checksumSHA256: String(repeating: "c", count: 64),
            sizeBytes: 1_000_000,
            baseURL: "https://\(host)/"
        )
    }

    static func report(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }

    private static func complain(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(2, bytes, bytes.count)
    }
}

/// The reason why a worker stops.
struct Failure: Error {
    let text: String

    init(_ text: String) { self.text = text }
}
