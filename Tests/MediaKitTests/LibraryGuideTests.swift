import Foundation
import MediaKit
import TestSupport
import Testing

/// What docs/guides/library.md shows, compiled and run: the guide's Swift blocks are the marked parts of this file.
@Suite("Library guide")
struct LibraryGuideTests {
    @Test("uploads with progress, and takes back")
    func uploadAndTakeBack() async throws {
        let sandbox = try await SandboxProcess.start()
        let temporary = try TemporaryDirectory()
        let (address, folder) = (sandbox.baseURL, temporary.file("data"))
        let path = temporary.file("clip.mp4")
        try Data("a small clip".utf8).write(to: URL(fileURLWithPath: path))

        // guide: session
        let server = try ServerURL(address)
        let directory = try DataDirectory.open(folder)
        let store = try TokenStore(in: directory)
        let client = GigHiveClient(
            server: server,
            http: try HTTPClient(),
            authorization: .basic(user: "uploader", password: "uploader", for: server.origin)
        )
        let uploader = Uploader(client: client, store: store, directory: directory, options: UploadOptions())
        // guide: end

        // guide: upload
        let details = try UploadDetails.validated(
            eventDate: "2026-06-13",
            orgName: "The Larks",
            eventType: "band",
            label: "First dance"
        )
        let prepared = try uploader.prepare(.file(path: Array(path.utf8)), details: details)
        let result = await uploader.upload(prepared) { event in
            if case .progress(let progress) = event {
                print("\(progress.phase): \(progress.bytesAcknowledged) of \(progress.bodyByteCount) bytes")
            }
        }
        print(result.state, result.fileID ?? 0, result.mediaURL ?? "")
        // guide: end
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(try store.tokens(host: server.scope).map(\.fileID) == [result.fileID])

        // guide: delete
        let deleter = Deleter(client: client, store: store, host: server.scope)
        for entry in try store.tokens(host: server.scope) {
            let deletion = await deleter.delete(entry) { _ in .keep }
            print(deletion.state)
        }
        // guide: end
        #expect(try store.tokens(host: nil).isEmpty)
        #expect(try await client.asset(result.fileID ?? 0) == nil)
    }

    @Test("a cancelled task ends the upload while bytes are being sent")
    func cancel() async throws {
        let sending = Gate()
        let sandbox = try await SandboxProcess.start(faults: ["upload:stall,after=65536"])
        let temporary = try TemporaryDirectory()
        let path = temporary.file("long.mp4")
        try Data(count: 32 << 20).write(to: URL(fileURLWithPath: path))
        let server = try ServerURL(sandbox.baseURL)
        let directory = try DataDirectory.open(temporary.file("data"))
        let store = try TokenStore(in: directory)
        let client = GigHiveClient(
            server: server,
            http: try HTTPClient(),
            authorization: .basic(user: "uploader", password: "uploader", for: server.origin)
        )
        let uploader = Uploader(client: client, store: store, directory: directory, options: UploadOptions())
        let details = try UploadDetails.validated(
            eventDate: "2026-06-13",
            orgName: "The Larks",
            eventType: "band",
            label: "Long"
        )
        let prepared = try uploader.prepare(.file(path: Array(path.utf8)), details: details)

        // guide: cancel
        let upload = Task {
            await uploader.upload(prepared) { event in
                if case .progress(let progress) = event, progress.phase == .sending { sending.open() }
            }
        }
        await sending.opened()
        upload.cancel()
        print(await upload.value.state)
        // guide: end
        #expect(await upload.value.state == .cancelled)
        #expect(try store.uploads(states: [], host: nil).map(\.state) == [.cancelled])
    }

    @Test("keeps photos in step")
    func photos() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--photosync-rewrite", "off"])
        try await sandbox.addPhotos(#"{"user":"alice@example.test","content":"old"}"#)
        let temporary = try TemporaryDirectory()
        let (address, folder) = (sandbox.baseURL, temporary.file("data"))
        let (apiKey, pictures) = (SandboxProcess.aliceKey, temporary.file("Pictures"))
        try FileManager.default.createDirectory(atPath: pictures, withIntermediateDirectories: true)
        try Data("new".utf8).write(to: URL(fileURLWithPath: pictures + "/new.jpg"))

        // guide: photos
        let server = try ServerURL(address)
        let directory = try DataDirectory.open(folder)
        let library = try LibraryStore(in: directory)
        let client = PhotoSyncClient(
            server: server,
            http: try HTTPClient(),
            authorization: .apiKey(apiKey, for: server.origin)
        )
        let login = try await DeviceRegistration(client: client, library: library, deviceName: "studio")
            .logIn(apiKey: apiKey)
        let account = SyncAccount(
            client: client,
            deviceID: login.deviceID,
            index: try SyncIndex(in: directory),
            library: library
        )
        // guide: end

        // guide: sync
        let listing = try await Pull(account).run()
        print("\(listing.changes.added) new, \(listing.counts.total) in all")

        let hashes = HashCache(directory: folder)
        _ = try await Push(account, hashes: hashes).run([Array(pictures.utf8)]) { item in
            print(item.state, String(decoding: item.path, as: UTF8.self))
        }
        _ = try await Download(account, hashes: hashes).run(.missing, to: Array(pictures.utf8)) { item in
            print(item.state, item.originalFilename ?? item.id)
        }
        // guide: end
        #expect(listing.changes.added == 1)
        #expect(try await sandbox.photos().count == 2)
        let result = try await Verification(account, hashes: hashes).run { _ in }
        #expect(result.photos == 2 && result.copies == 2 && result.counts.isEmpty)
    }

    @Test("proves a picture without sending it")
    func captures() async throws {
        let sandbox = try await SandboxProcess.start()
        let temporary = try TemporaryDirectory()
        let (address, folder, picture) = (sandbox.baseURL, temporary.file("data"), temporary.file("picture.jpg"))
        try Data([0xFF, 0xD8, 0xFF, 0xD9]).write(to: URL(fileURLWithPath: picture))

        // guide: captures
        let directory = try DataDirectory.open(folder)
        let session = CaptureSession(
            client: CaptureClient(server: try ServerURL(address), http: try HTTPClient()),
            profile: .mediactl1,
            surroundings: CaptureSession.Surroundings(
                directory: directory,
                library: try LibraryStore(in: directory),
                vaultKey: .file,
                programVersion: "1.0",
                now: { Date() }
            )
        )
        let plan = DeviceEnrolment.Plan(key: .new, model: "studio", rpID: "mediactl-1")
        let device = try await DeviceEnrolment(session).register(plan)
        print(device.deviceID, device.level)
        // guide: end

        // guide: prove
        var settings = PrivacySettings()
        settings.timestamp = .dayOnly
        let request = CaptureRequest(.file(Array(picture.utf8)), settings: settings)
        print(String(decoding: try await session.preview(request).body.bytes, as: UTF8.self))
        let outcome = try await session.capture(request)
        print(outcome.record.state, outcome.record.serverCaptureID ?? "")
        print(try await session.verify(file: Array(picture.utf8), isOffline: false).isGood)
        // guide: end
        #expect(outcome.record.state == .accepted && outcome.record.keyLevel == "software")
        #expect(try await sandbox.captures().count == 1)
    }

    @Test("collects clips in a tape with its album")
    func tapes() async throws {
        let temporary = try TemporaryDirectory()
        let (folder, albums, picture) = (
            temporary.file("data"), temporary.file("albums"), temporary.file("picture.jpg")
        )
        try Data([0xFF, 0xD8, 0xFF, 0xD9]).write(to: URL(fileURLWithPath: picture))

        // guide: tapes
        let directory = try DataDirectory.open(folder)
        let store = try LibraryStore(in: directory)
        let editor = TapeEditor(store: store)
        let tape = try editor.create(title: "Summer")
        let clip = try editor.inspect(Array(picture.utf8), allowingMissing: false)
        _ = try editor.add([clip], to: tape)

        let root = FolderLibrary.Root(path: Array(albums.utf8), picturesDirectory: nil, isConfigured: true)
        let service = AlbumService(
            store: store,
            directory: directory,
            library: FolderLibrary(root: root, directory: directory, store: store),
            policy: AlbumService.Policy()
        )
        let outcome = try await service.associate(tape.id)
        print(outcome.state, outcome.link?.titleAtCreation ?? "")
        // guide: end
        #expect(outcome.state == .associated && outcome.isCreated)
        let link = albums + "/Tapes – Summer/0001-picture.jpg"
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == picture)
    }

    @Test("the guide shows exactly the code that runs here")
    func guideIsThisCode() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let guide = try String(contentsOf: root.appending(path: "docs/guides/library.md"), encoding: .utf8)
        let shown = guide.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        let run = source.components(separatedBy: "// guide: ").dropFirst()
            .filter { !$0.hasPrefix("end\n") && $0.contains("\n        ") }
            .map { part in
                part.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast()
                    .map { $0.hasPrefix("        ") ? $0.dropFirst(8) : $0 }.joined(separator: "\n") + "\n"
            }
        #expect(shown.count >= 6)
        for block in shown {
            #expect(run.contains(block), "\(block)")
        }
    }
}
