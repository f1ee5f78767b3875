import Foundation
import Glibc
import MediaFiles
import MediaStore
import MediaSystem
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// Which photos are downloaded, and to which paths.
@Suite struct DownloadTests {
    private typealias File = DownloadServer.File

    private func server(_ bodies: [String: String]) throws -> DownloadServer {
        try DownloadServer(files: bodies.mapValues { File(body: $0, digest: try digest(of: $0)) })
    }

    @Test func missingPhotosAreDownloadedVerifiedAndRecorded() async throws {
        let server = try server(["a": "first", "b": "second"])
        let bench = try DownloadBench(server.address)
        let photos = [
            try PhotoRecord.of("first", id: "a"),
            try PhotoRecord.of("second", id: "b", name: "x.png", taken: "2023-12-31T23:59:59.5Z", uploadedAt: 1),
        ]
        try bench.index(photos)
        let outcome = await bench.run()
        #expect(outcome.error == nil)
        #expect(outcome.result?.counts == [.verified: 2])
        #expect(outcome.result?.bytesReceived == 11)
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": "first", "2023/12/x.png": "second"])
        // `date -u -d 2024-03-05T10:20:30Z +%s`
        #expect(try bench.modificationTime("2024/03/IMG_1.jpg") == 1_709_634_030)
        let item = try #require(outcome["a"])
        #expect(item.state == .verified)
        #expect(item.path == bench.path("2024/03/IMG_1.jpg"))
        #expect(item.sizeBytes == 5)
        #expect(item.sha256 == photos[0].sha256)
        #expect(item.serverSHA256 == photos[0].sha256)
        #expect(item.attempts == 1)
        #expect(server.requests.allSatisfy { $0.apiKey == "canary-key" && $0.range == nil })

        let copy = try #require(try bench.copies().first { $0.photoID == "a" })
        #expect(copy.state == .present)
        #expect(copy.source == .downloaded)
        #expect(copy.temporaryName == nil)
        #expect(copy.sha256 == photos[0].sha256)
        let identity = try #require(FileIdentity(ofRegularFile: bench.path("2024/03/IMG_1.jpg")))
        #expect(copy.identity == identity)
        // The digest is cached, so that neither push nor verify reads the file.
        #expect(bench.hashes.digest(of: identity) == photos[0].sha256)

        let again = await bench.run()
        #expect(again.items.isEmpty)
        #expect(server.requests.count == 2)
    }

    @Test func idsSelectPhotosAndUnknownOnesFail() async throws {
        let server = try server(["a": "first", "b": "second"])
        let bench = try DownloadBench(server.address)
        try bench.index([try .of("first", id: "a"), try .of("second", id: "b", name: "b.jpg")])
        let outcome = await bench.run(.ids(["b", "nobody", "b"]))
        #expect(outcome.error == nil)
        #expect(outcome.items.map(\.id).sorted() == ["b", "nobody"])
        #expect(outcome["nobody"]?.error?.code == .unknownPhoto)
        #expect(outcome["b"]?.state == .verified)
        let again = await bench.run(.ids(["b"]))
        #expect(again.only?.state == .present)
        #expect(again.only?.path == bench.path("2024/03/b.jpg"))
        #expect(server.requests.map(\.id) == ["b"])
    }

    @Test func aTimeSelectsPhotosUploadedSince() async throws {
        let server = try server(["a": "first", "b": "second"])
        let bench = try DownloadBench(server.address)
        try bench.index([
            try .of("first", id: "a", uploadedAt: 1_000_000), try .of("second", id: "b", uploadedAt: 2_000_000),
        ])
        let outcome = await bench.run(.since(PhotoTime(text: "1970-01-01T00:00:02Z", microseconds: 2_000_000)))
        #expect(outcome.items.map(\.id) == ["b"])
    }

    @Test func beforeTheFirstPullThereIsNothingToDownload() async throws {
        let bench = try DownloadBench("http://127.0.0.1:9")
        #expect(await bench.run().error?.code == .neverSynchronized)
        #expect(!FileManager.default.fileExists(atPath: bench.target))
    }

    @Test func aDryRunListsThePathsAndChangesNothing() async throws {
        let server = try server([:])
        let bench = try DownloadBench(server.address)
        try bench.index([try .of("one", id: "a"), try .of("two", id: "b", uploadedAt: 1)])
        let outcome = await bench.run(isDryRun: true)
        #expect(outcome.result?.counts == [.planned: 2])
        #expect(outcome["b"]?.path == bench.path("2024/03/IMG_1 (2).jpg"))
        #expect(!FileManager.default.fileExists(atPath: bench.target))
        #expect(try bench.copies().isEmpty)
        #expect(server.requests.isEmpty)
    }

    // MARK: Local copies

    /// A file recorded under another ID, with the bytes of photo `a`. Its size and modification time stay the same
    /// while `change` replaces it or its status.
    private func pushed(_ bench: DownloadBench, _ change: (String) throws -> Void = { _ in }) async throws {
        let photo = try PhotoRecord.of("mine", id: "a")
        try bench.index([photo])
        try bench.put("mine", "elsewhere/mine.jpg")
        let path = bench.path("elsewhere/mine.jpg")
        let recorded = try #require(FileIdentity(ofRegularFile: path))
        try await bench.account.keepCopy(
            of: "an older row of the same bytes",
            at: path,
            .present,
            .pushed,
            sha256: photo.sha256,
            serverSHA256: photo.sha256,
            identity: recorded
        )
        let name = String(decoding: path, as: UTF8.self)
        try change(name)
        let (seconds, rest) = recorded.modificationNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
        try #require(utimensat(AT_FDCWD, name, [time, time], 0) == 0)
        let found = FileIdentity(ofRegularFile: path)
        #expect(found?.size == recorded.size && found?.modificationNanoseconds == recorded.modificationNanoseconds)
    }

    @Test func aPushedFileWithTheSameBytesIsACopy() async throws {
        let server = try server([:])
        let bench = try DownloadBench(server.address)
        try await pushed(bench)
        #expect(await bench.run().items.isEmpty)
        #expect(server.requests.isEmpty)
    }

    @Test func aFileOfTheSameBytesIsACopyAfterAChangeOfItsPermissions() async throws {
        let server = try server([:])
        let bench = try DownloadBench(server.address)
        try await pushed(bench) { try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: $0) }
        #expect(await bench.run().items.isEmpty)
        #expect(server.requests.isEmpty)
    }

    @Test func aFileDamagedWithoutAChangeOfSizeAndTimeIsNotACopyOfAnotherPhoto() async throws {
        let server = try server(["a": "mine"])
        let bench = try DownloadBench(server.address)
        try await pushed(bench) { try Data("mIne".utf8).write(to: URL(fileURLWithPath: $0)) }
        #expect(await bench.run()["a"]?.state == .verified)
        #expect(try bench.files()["2024/03/IMG_1.jpg"] == "mine")
    }

    @Test func aDeletedCopyIsDownloadedAgainWithItsName() async throws {
        let server = try server(["a": "first", "b": "second"])
        let bench = try DownloadBench(server.address)
        try bench.index([try .of("first", id: "a"), try .of("second", id: "b", uploadedAt: 1)])
        await bench.run()
        let files = try bench.files()
        try FileManager.default.removeItem(atPath: bench.target)
        // In the other order, the names stay the same: they are stored, not assigned again.
        await bench.run(.ids(["b"]))
        await bench.run()
        #expect(try bench.files() == files)
        #expect(files == ["2024/03/IMG_1.jpg": "first", "2024/03/IMG_1 (2).jpg": "second"])
    }

    @Test func anEditedCopyIsNeverChanged() async throws {
        let server = try server(["a": "first"])
        let bench = try DownloadBench(server.address, indexing: [try .of("first", id: "a")])
        await bench.run()
        try bench.put("edited by its owner", "2024/03/IMG_1.jpg")
        let outcome = await bench.run()
        #expect(outcome.only?.state == .present)
        #expect(outcome.only?.error?.code == .changedSinceUpload)
        #expect(server.requests.count == 1)
        // A specified photo is downloaded next to the edited copy.
        let named = await bench.run(.ids(["a"]))
        #expect(named.only?.state == .verified)
        #expect(
            try bench.files() == [
                "2024/03/IMG_1.jpg": "edited by its owner", "2024/03/IMG_1 (2).jpg": "first",
            ]
        )
    }

    /// Damage need not change size or modification time: the copy of a specified photo is read.
    @Test func aDamagedCopyOfASpecifiedPhotoIsDownloadedAgain() async throws {
        let server = try server(["a": "first"])
        let bench = try DownloadBench(server.address, indexing: [try .of("first", id: "a")])
        await bench.run()
        let path = "\(bench.target)/2024/03/IMG_1.jpg"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let modified = try #require(attributes[.modificationDate] as? Date)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.write(contentsOf: Data("fIrst".utf8))
        try file.close()
        try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: path)
        #expect(await bench.run(.ids(["a"])).only?.state == .verified)
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": "fIrst", "2024/03/IMG_1 (2).jpg": "first"])
        let again = await bench.run(.ids(["a"]))
        #expect(again.only?.state == .present && again.only?.path == bench.path("2024/03/IMG_1 (2).jpg"))
    }

    // MARK: Existing files

    /// A new data directory: the photos from an earlier one are in the target directory.
    @Test(arguments: [false, true])
    func existingFilesAreRecognizedByTheirBytes(isDryRun: Bool) async throws {
        let server = try server(["a": "first", "b": "second", "c": "third", "d": "other"])
        let bench = try DownloadBench(server.address)
        try bench.index([
            try .of("first", id: "a"), try .of("second", id: "b", name: "img_1.JPG", uploadedAt: 1),
            try .of("third", id: "c", uploadedAt: 2), try .of("other", id: "d", uploadedAt: 3),
        ])
        let files = [
            "2024/03/IMG_1.jpg": "second", "2024/03/IMG_1 (2).jpg": "first", "2024/03/IMG_1 (3).jpg": "fifth",
        ]
        for (name, text) in files { try bench.put(text, name) }
        let outcome = await bench.run(isDryRun: isDryRun)
        #expect(outcome["a"]?.state == .present && outcome["a"]?.path == bench.path("2024/03/IMG_1 (2).jpg"))
        #expect(outcome["b"]?.state == .present && outcome["b"]?.path == bench.path("2024/03/IMG_1.jpg"))
        #expect(server.requests.map(\.id) == (isDryRun ? [] : ["c", "d"]))
        if isDryRun {
            #expect(try bench.copies().isEmpty)
            return
        }
        let expected = ["2024/03/IMG_1 (4).jpg": "third", "2024/03/IMG_1 (5).jpg": "other"]
        #expect(try bench.files() == files.merging(expected) { first, _ in first })
        #expect(try bench.copies().map(\.state) == [.present, .present, .present, .present])
        #expect(await bench.run().items.isEmpty)
    }

    /// Each file is compared once with all photos that have its name, not once per photo.
    @Test func thousandsOfExistingFilesMayHaveOneName() async throws {
        let bench = try DownloadBench("http://127.0.0.1:9")
        let numbers = 1...2_000
        try bench.index(try numbers.map { try .of("photo \($0)", id: "\($0)", uploadedAt: Int64($0)) })
        // In reverse order.
        for number in numbers { try bench.put("photo \(2_001 - number)", "2024/03/IMG_1 (\(number)).jpg") }
        let outcome = await bench.run(isDryRun: true)
        #expect(outcome.result?.counts == [.present: 2_000])
        #expect(outcome["1"]?.path == bench.path("2024/03/IMG_1 (2000).jpg"))
        #expect(outcome["2000"]?.path == bench.path("2024/03/IMG_1 (1).jpg"))
    }

    /// A failed download reserved the name; then the user stored the photo there.
    @Test(arguments: [PhotoCopy.State.planned, .unverified])
    func anExistingFileWithAReservedNameIsRecognized(state: PhotoCopy.State) async throws {
        let server = try server(["a": "first"])
        let bench = try DownloadBench(server.address)
        let photo = try PhotoRecord.of("first", id: "a")
        try bench.index([photo])
        let temporary = state == .planned ? ".IMG_1.jpg.mediactl-part" : "IMG_1.jpg.unverified"
        try bench.put("rest", "2024/03/\(temporary)")
        try bench.put("first", "2024/03/IMG_1.jpg")
        try await bench.account.keepCopy(
            of: "a",
            at: bench.path("2024/03/IMG_1.jpg"),
            state,
            temporaryName: temporary,
            serverSHA256: photo.sha256
        )
        let item = try #require(await bench.run().only)
        #expect(item.state == .present && item.path == bench.path("2024/03/IMG_1.jpg"))
        #expect(server.requests.isEmpty)
        #expect(try bench.copies().map(\.state) == [.present])
        // Only a partial file is removed.
        let kept = state == .planned ? [] : ["2024/03/\(temporary)"]
        #expect(try bench.files().keys.sorted() == ["2024/03/IMG_1.jpg"] + kept)
    }

    /// A rewritten file needs the evidence required of a download, and the length of the server's file.
    @Test(arguments: [
        ("a", "", true), ("a", "edited", false), ("b", "", false),
    ])
    func existingFilesAreRecognizedByTheirStamp(stamp: String, addition: String, isPhoto: Bool) async throws {
        let uploaded = SmallPhoto.stampedText("", "the bytes as uploaded")
        let stored = SmallPhoto.stampedText("a")
        let server = try DownloadServer(files: ["a": File(body: stored, digest: try digest(of: uploaded))])
        let bench = try DownloadBench(server.address, indexing: [try .of(uploaded, id: "a")])
        let existing = SmallPhoto.stampedText(stamp, addition)
        try bench.put(existing, "2024/03/IMG_1.jpg")
        let item = try #require(await bench.run().only)
        #expect(item.state == (isPhoto ? .present : .rewritten))
        #expect(item.path == bench.path(isPhoto ? "2024/03/IMG_1.jpg" : "2024/03/IMG_1 (2).jpg"))
        let copy = try #require(try bench.copies().first { $0.state == .present })
        #expect(copy.sha256 == (try digest(of: isPhoto ? existing : stored)))
        #expect(try bench.files()["2024/03/IMG_1.jpg"] == existing)
    }

    /// Every further query would fail as well, or wait just as long for the server.
    @Test(arguments: [(401, "Invalid API key."), (500, "Database error")])
    func anErrorOfTheServerEndsTheSearchForExistingFiles(status: Int, text: String) async throws {
        let server = try DownloadServer { _ in .refusal(status, text) }
        let bench = try DownloadBench(server.address)
        try bench.index(
            ["a", "b"].enumerated().map { number, id in
                let uploaded = SmallPhoto.stampedText("", "the bytes of \(id)")
                return try PhotoRecord.of(uploaded, id: id, name: "\(id).jpg", uploadedAt: Int64(number))
            }
        )
        for id in ["a", "b"] { try bench.put(SmallPhoto.stampedText(id), "2024/03/\(id).jpg") }
        let outcome = await bench.run(timeLimit: .zero)
        #expect(outcome.error?.httpStatus == status)
        #expect(server.requests.map(\.id) == ["a"])
    }

    /// The copy may exist, for example if its directory cannot be read.
    @Test func aCopyThatIsNotAccessibleIsNotDownloadedAgain() async throws {
        let server = try server(["a": "first"])
        let bench = try DownloadBench(server.address)
        let photo = try PhotoRecord.of("first", id: "a")
        try bench.index([photo])
        symlink("loop", bench.temporary.file("loop"))
        let path = Array(bench.temporary.file("loop/IMG_1.jpg").utf8)
        let sha256 = photo.sha256
        try await bench.account.keepCopy(of: "a", at: path, .present, .pushed, sha256: sha256, serverSHA256: sha256)
        let item = try #require(await bench.run().only)
        #expect(item.state == .present && item.error?.code == .fileUnreadable)
        #expect(item.error?.detail == "too many levels of symbolic links")
        #expect(server.requests.isEmpty)
    }

    /// Partial files of photos that were downloaded elsewhere, or are no longer on the server.
    @Test func partialFilesThatNoRunWillResumeAreRemoved() async throws {
        let server = try server(["a": "first"])
        let bench = try DownloadBench(server.address)
        let photo = try PhotoRecord.of("first", id: "a")
        try bench.index([photo, try .of("later", id: "c", name: "c.jpg", uploadedAt: 1)])
        let names = ["a": "a", "b": "gone", "c": "c"]
        for (id, name) in names {
            try bench.put("part", "old/.\(name).mediactl-part")
            try await bench.account.keepCopy(
                of: id,
                at: bench.path("old/\(name)"),
                .planned,
                temporaryName: ".\(name).mediactl-part",
                serverSHA256: photo.sha256
            )
        }
        await bench.run(.ids(["a"]))
        let photos = ["2024/03/IMG_1.jpg"]
        #expect(try bench.files().keys.sorted() == photos + ["old/.a.mediactl-part", "old/.c.mediactl-part"])
        await bench.run(.ids(["a"]))
        #expect(try bench.files().keys.sorted() == photos + ["old/.c.mediactl-part"])
        #expect(try bench.copies().map(\.photoID) == ["a", "c"])
    }

    // MARK: Names (trap 15)

    @Test(arguments: [
        ("../../etc/passwd", "passwd"),
        ("/absolute.jpg", "absolute.jpg"),
        ("..", "photo-a.jpg"),
        ("new\nline\u{1b}.jpg", "new_line_.jpg"),
        (".gif", "_.gif"),
        ("NUL.jpg", "_NUL.jpg"),
        (".x.jpg.mediactl-part", "_.x.jpg.mediactl-part"),
        (String(repeating: "ü", count: 300) + ".jpg", String(repeating: "ü", count: 112) + ".jpg"),
    ])
    func hostileNamesStayBelowTheTarget(_ name: String, _ expected: String) async throws {
        let server = try server(["a": "bytes"])
        let bench = try DownloadBench(server.address, indexing: [try .of("bytes", id: "a", name: name)])
        let outcome = await bench.run()
        #expect(outcome.only?.state == .verified)
        #expect(try bench.files() == ["2024/03/\(expected)": "bytes"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bench.temporary.path).sorted() == [
                "cache", "data", "photos",
            ]
        )
    }

    @Test func twoPhotosNeverShareAFileRegardlessOfCase() async throws {
        let names = ["IMG_1.jpg", "img_1.JPG", "IMG_1.jpg", "Caf\u{e9}.jpg", "CAFE\u{301}.jpg", "mine.jpg"]
        let server = try DownloadServer { .file(File(body: $0.id, digest: try digest(of: $0.id))) }
        let bench = try DownloadBench(server.address)
        try bench.put("the user's own", "2024/03/MINE.JPG")
        try bench.index(
            try names.enumerated().map {
                try .of("\($0.offset)", id: "\($0.offset)", name: $0.element, uploadedAt: Int64($0.offset))
            }
        )
        let outcome = await bench.run(jobs: 4)
        #expect(outcome.result?.counts == [.verified: 6])
        #expect(
            try bench.files() == [
                "2024/03/IMG_1.jpg": "0", "2024/03/img_1 (2).JPG": "1", "2024/03/IMG_1 (3).jpg": "2",
                "2024/03/Café.jpg": "3", "2024/03/CAFÉ (2).jpg": "4",
                "2024/03/MINE.JPG": "the user's own", "2024/03/mine (2).jpg": "5",
            ]
        )
    }

    /// A name that a failed photo has reserved stays reserved, so that names do not depend on which photo comes
    /// first.
    @Test func namesDoNotDependOnFailures() async throws {
        let server = try DownloadServer { request in
            request.id == "a" && request.number == 1
                ? .refusal(404, "File not found") : .file(File(body: request.id, digest: try digest(of: request.id)))
        }
        let bench = try DownloadBench(server.address)
        try bench.index([try .of("a", id: "a"), try .of("b", id: "b", uploadedAt: 1)])
        let first = await bench.run()
        #expect(first["a"]?.error?.code == .notFound)
        #expect(try bench.files() == ["2024/03/IMG_1 (2).jpg": "b"])
        await bench.run()
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": "a", "2024/03/IMG_1 (2).jpg": "b"])
    }

    @Test func aNameThatIsTakenInTheMeantimeIsNotReplaced() async throws {
        let temporary = try TemporaryDirectory()
        let target = temporary.file("photos")
        let server = try DownloadServer { request in
            try Data("in the way".utf8).write(to: URL(fileURLWithPath: target + "/2024/03/IMG_1.jpg"))
            return .file(File(body: request.id, digest: try digest(of: request.id)))
        }
        let bench = try DownloadBench(server.address, in: temporary)
        try bench.index([try .of("a", id: "a")])
        let outcome = await bench.run()
        #expect(outcome.only?.state == .verified)
        #expect(outcome.only?.path == bench.path("2024/03/IMG_1 (2).jpg"))
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": "in the way", "2024/03/IMG_1 (2).jpg": "a"])
        #expect(try bench.copies().map(\.path) == [bench.path("2024/03/IMG_1 (2).jpg")])
    }

    @Test(arguments: [
        ("1969-12-31T23:59:59Z", "1969/12", -1),
        ("1901-12-14T00:00:00Z", "1901/12", -2_147_472_000),
        ("2150-06-01T00:00:00Z", "2150/06", 5_693_328_000),
        ("2024-02-29T23:59:59.999999999Z", "2024/02", 1_709_251_199),
        ("2024-03-01T00:30:00+02:00", "2024/02", 1_709_245_800),
    ])
    func theDateTakenSetsDirectoryAndTime(_ taken: String, _ directory: String, _ seconds: Int) async throws {
        let server = try server(["a": "bytes"])
        let bench = try DownloadBench(server.address, indexing: [try .of("bytes", id: "a", taken: taken)])
        #expect(await bench.run().only?.state == .verified)
        #expect(try bench.files() == ["\(directory)/IMG_1.jpg": "bytes"])
        #expect(try bench.modificationTime("\(directory)/IMG_1.jpg") == seconds)
    }

    /// Trap 14: the server URL has a path, and IDs become part of it.
    @Test func addressesAreJoinedWithOneSlash() async throws {
        let server = try server(["a": "bytes"])
        let bench = try DownloadBench(server.address + "/photos/")
        try bench.index([try .of("bytes", id: "a")])
        #expect(await bench.run().only?.state == .verified)
        #expect(server.requests.map(\.target) == ["/photos/api/photos/a/download"])
    }

    /// Three requests wait for each other, and no more than three run in parallel.
    @Test func parallelDownloadsReachTheLimit() async throws {
        let running = Mutex<(now: Int, most: Int)>((0, 0))
        let three = Gate()
        let server = try DownloadServer { request in
            let count = running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
                return running.now
            }
            if count == 3 { for _ in 0..<9 { three.open() } }
            three.wait()
            running.withLock { $0.now -= 1 }
            return .file(File(body: request.id, digest: try digest(of: request.id)))
        }
        let bench = try DownloadBench(server.address)
        try bench.index(try (0..<9).map { try .of("\($0)", id: "\($0)", name: "\($0).jpg", uploadedAt: Int64($0)) })
        #expect(await bench.run(jobs: 3).result?.counts == [.verified: 9])
        #expect(running.withLock { $0.most } == 3)
    }

    /// A server that gives all photos one name must not slow down the run.
    @Test func thousandsOfPhotosMayHaveOneName() async throws {
        let bench = try DownloadBench("http://127.0.0.1:9")
        let photo = try PhotoRecord.of("x", id: "0")
        try bench.index(
            (0..<5_000).map { number in
                var other = photo
                other.id = "\(number)"
                other.uploadedAt.microseconds = Int64(number)
                return other
            }
        )
        let outcome = await bench.run(isDryRun: true)
        #expect(outcome.items.count == 5_000)
        #expect(Set(outcome.items.map(\.path)).count == 5_000)
        #expect(outcome["4999"]?.path == bench.path("2024/03/IMG_1 (5000).jpg"))
    }

    @Test func progressCountsPhotosAndBytes() async throws {
        let server = try server(["a": "first", "b": "second"])
        let bench = try DownloadBench(server.address)
        try bench.index([try .of("first", id: "a"), try .of("second", id: "b", name: "b.jpg")])
        let steps = Steps()
        await bench.run(progress: { step in steps.list.withLock { $0.append(step) } })
        let list = steps.list.withLock { $0 }
        #expect(list.first?.photos == 2)
        #expect(list.first?.bytes == 11)
        #expect(list.last?.photosDone == 2)
        #expect(list.last?.bytesReceived == 11)
    }
}
