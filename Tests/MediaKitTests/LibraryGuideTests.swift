import Foundation
import MediaKit
import TestSupport
import Testing

/// The code of docs/library.md, compiled and run: the document's Swift blocks are the marked parts of this file.
@Suite("Library guide")
struct LibraryGuideTests {
    // MARK: Uploads

    @Test("uploads with progress, and deletes")
    func uploadAndDelete() async throws {
        let sandbox = try await SandboxProcess.start()
        let temporary = try TemporaryDirectory()
        let (address, folder, password) = (sandbox.baseURL, temporary.file("data"), "uploader")
        let path = Array(temporary.file("clip.mp4").utf8)
        try Data("a small clip".utf8).write(to: URL(fileURLWithPath: temporary.file("clip.mp4")))

        // guide: upload
        let server = try ServerURL(address)
        let login = Authorization.basic(user: "uploader", password: password, for: server.origin)
        let client = GigHiveClient(server: server, http: try HTTPClient(), authorization: login)
        let uploader = try Uploader(client: client, directory: try DataDirectory.open(folder))
        let details = try UploadDetails.validated(eventDate: "2026-06-13", orgName: "The Larks", label: "First dance")
        let prepared = try uploader.prepare(path, details: details)
        let result = await uploader.upload(prepared) { event in
            if case .progress(let sent) = event { print(sent.bytesAcknowledged, "of", sent.bodyByteCount) }
        }
        print(result.state, result.fileID ?? 0, result.mediaURL ?? "")
        // guide: end
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(result.details?.eventType == "band")
        let directory = try DataDirectory.open(folder)
        #expect(try TokenStore(in: directory).tokens(host: server.scope).map(\.fileID) == [result.fileID])

        try await deleteUpload(client, server, directory)
        #expect(try TokenStore(in: directory).tokens(host: nil).isEmpty)
        #expect(try await client.asset(result.fileID ?? 0) == nil)
    }

    private func deleteUpload(_ client: GigHiveClient, _ server: ServerURL, _ directory: DataDirectory) async throws {
        // guide: delete
        let store = try TokenStore(in: directory)
        let deleter = Deleter(client: client, store: store, host: server.scope)
        for entry in try store.tokens(host: server.scope) {
            let deletion = await deleter.delete(entry) { _ in .keep }
            print(deletion.state)
        }
        // guide: end
    }

    @Test("a canceled task stops the upload during the transfer, and the upload can be resumed")
    func cancelAndResume() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["tus-patch:stall,after=65536,skip=1"])
        let temporary = try TemporaryDirectory()
        let path = Array(temporary.file("long.mp4").utf8)
        try Data(repeating: 7, count: 4 << 20).write(to: URL(fileURLWithPath: temporary.file("long.mp4")))
        let server = try ServerURL(sandbox.baseURL)
        let directory = try DataDirectory.open(temporary.file("data"))
        let login = Authorization.basic(user: "uploader", password: "uploader", for: server.origin)
        let client = GigHiveClient(server: server, http: try HTTPClient(), authorization: login)
        let chunks = TusSendOptions(chunkBytes: 1 << 20)
        let options = UploadOptions(transport: .tus, chunks: chunks)
        let uploader = try Uploader(client: client, directory: directory, options: options)
        let details = try UploadDetails.validated(eventDate: "2026-06-13", orgName: "The Larks", label: "Long")
        let prepared = try uploader.prepare(path, details: details)
        let started = Gate()
        let report: @Sendable (UploadEvent) -> Void = { event in
            if case .progress(let sent) = event, sent.bytesAcknowledged > 1 << 20 { started.open() }
        }
        func userCancels() async { await started.opened() }

        // guide: cancel
        let upload = Task { await uploader.upload(prepared, onEvent: report) }
        await userCancels()
        upload.cancel()
        print(await upload.value.state)
        // guide: end
        #expect(await upload.value.state == .cancelled)
        try await sandbox.clearFaults()

        try await resumeUploads(uploader, server, directory)
        let ended = try TokenStore(in: directory).uploads(states: [], host: nil)
        #expect(ended.map(\.state) == [.done])
        #expect(ended.first?.uploadID == (await upload.value.uploadID))
    }

    private func resumeUploads(_ uploader: Uploader, _ server: ServerURL, _ directory: DataDirectory) async throws {
        // guide: resume
        let store = try TokenStore(in: directory)
        for note in try await RescueAdoption.run(store: store, directory: directory) { print(note) }
        for row in try store.uploads(states: [], host: server.scope) where try Uploader.isResumable(row, in: store) {
            let result = await uploader.resume(row) { event in
                if case .resuming(let offset) = event { print("resuming at", offset, "bytes") }
            }
            print(result.state)
        }
        // guide: end
    }

    // MARK: The other systems

    @Test("synchronizes photos")
    func photos() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--photosync-rewrite", "off"])
        try await sandbox.addPhotos(#"{"user":"alice@example.test","content":"old"}"#)
        let temporary = try TemporaryDirectory()
        let (address, folder) = (sandbox.baseURL, temporary.file("data"))
        let (apiKey, pictures) = (SandboxProcess.aliceKey, Array(temporary.file("Pictures").utf8))
        try makeDirectory(temporary.file("Pictures"))
        try Data("new".utf8).write(to: URL(fileURLWithPath: temporary.file("Pictures/new.jpg")))

        // guide: sync
        let directory = try DataDirectory.open(folder)
        let server = try ServerURL(address)
        let account = try await SyncAccount.logIn(to: server, apiKey: apiKey, deviceName: "studio", in: directory)
        let listing = try await Pull(account).run { print($0.photos, "listed") }
        print(listing.changes.added, "new,", listing.counts.total, "in all")
        let hashes = HashCache(directory: folder)
        let pushed = try await Push(account, hashes: hashes).run([pictures]) { print($0.state) }
        let fetched = try await Download(account, hashes: hashes).run(.missing, to: pictures) { print($0.state) }
        print(pushed.counts[.uploaded, default: 0], "uploaded,", fetched.counts[.verified, default: 0], "downloaded")
        // guide: end
        #expect(listing.changes.added == 1)
        #expect(pushed.counts == [.uploaded: 1])
        #expect(fetched.counts == [.verified: 1])
        #expect(try await sandbox.photos().count == 2)
        let result = try await Verification(account, hashes: hashes).run { _ in }
        #expect(result.photos == 2 && result.copies == 2 && result.counts.isEmpty)
    }

    @Test("a login is stored, and a failed one stores nothing")
    func keptLogin() async throws {
        let sandbox = try await SandboxProcess.start()
        let temporary = try TemporaryDirectory()
        let directory = try DataDirectory.open(temporary.file("data"))
        let server = try ServerURL(sandbox.baseURL)
        await #expect {
            _ = try await SyncAccount.logIn(to: server, apiKey: "wrong", deviceName: "studio", in: directory)
        } throws: {
            ($0 as? PhotoSyncError)?.code == .unauthorized
        }
        #expect(try SyncAccount.kept(for: server, in: directory) == nil)

        let made = try await SyncAccount.logIn(
            to: server,
            apiKey: " \(SandboxProcess.aliceKey)\n",
            deviceName: "studio",
            in: directory
        )
        let kept = try #require(try SyncAccount.kept(for: server, in: directory))
        #expect(kept.deviceID != nil && kept.deviceID == made.deviceID)
        for account in [made, kept] {
            #expect(try await Pull(account).run().counts.total == 0)
        }
    }

    @Test("submits the hash of a photo without the photo")
    func captures() async throws {
        let sandbox = try await SandboxProcess.start()
        let temporary = try TemporaryDirectory()
        let (address, folder) = (sandbox.baseURL, temporary.file("data"))
        let picture = Array(temporary.file("picture.jpg").utf8)
        try Data([0xFF, 0xD8, 0xFF, 0xD9]).write(to: URL(fileURLWithPath: temporary.file("picture.jpg")))

        // guide: hash-only
        let directory = try DataDirectory.open(folder)
        let client = CaptureClient(server: try ServerURL(address), http: try HTTPClient())
        let place = CaptureSession.Dependencies(directory: directory, library: try LibraryStore(in: directory))
        let session = CaptureSession(client: client, profile: .mediactl1, dependencies: place)
        _ = try await DeviceEnrollment(session).register(.init(key: .new, model: "studio", rpID: "mediactl-1"))
        let request = CaptureRequest(.file(picture), depth: .declined, settings: PrivacySettings())
        print(String(decoding: try await session.preview(request).body.bytes, as: UTF8.self))
        let outcome = try await session.capture(request) { print($0, "of", $1, "bytes read") }
        print(outcome.record.state, outcome.record.serverCaptureID ?? "")
        print(try await session.verify(file: picture, isOffline: false).isGood)
        // guide: end
        #expect(outcome.record.state == .accepted && outcome.record.keyLevel == "software")
        #expect(try await session.verify(file: picture, isOffline: false).isGood)
        #expect(try await sandbox.captures().count == 1)
    }

    @Test("collects clips in a tape with its album")
    func tapes() async throws {
        let temporary = try TemporaryDirectory()
        let (folder, albums) = (temporary.file("data"), Array(temporary.file("albums").utf8))
        let picture = Array(temporary.file("picture.jpg").utf8)
        try Data([0xFF, 0xD8, 0xFF, 0xD9]).write(to: URL(fileURLWithPath: temporary.file("picture.jpg")))

        // guide: tapes
        let directory = try DataDirectory.open(folder)
        let store = try LibraryStore(in: directory)
        let editor = TapeEditor(store: store)
        let tape = try editor.create(title: "Summer")
        _ = try editor.add([try editor.inspect(picture, allowingMissing: false)], to: tape)
        let root = FolderLibrary.Root(path: albums, picturesDirectory: nil, isConfigured: true)
        let library = FolderLibrary(root: root, directory: directory, store: store)
        let outcome = try await AlbumService(store: store, directory: directory, library: library).associate(tape.id)
        print(outcome.state, outcome.link?.titleAtCreation ?? "")
        // guide: end
        #expect(outcome.state == .associated && outcome.isCreated)
        let link = temporary.file("albums/Tapes – Summer/0001-picture.jpg")
        let original = try FileManager.default.destinationOfSymbolicLink(atPath: link)
        #expect(original == temporary.file("picture.jpg"))
    }

    // MARK: The document

    @Test("the document shows exactly the code that runs here, each system in at most ten lines")
    func documentIsThisCode() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let document = try Repository.text("docs/library.md")
        let shown = Self.swiftBlocks(in: document)
        let run = source.components(separatedBy: "// guide: ").dropFirst()
            .filter { !$0.hasPrefix("end\n") && $0.contains("\n        ") }
            .map { part in
                part.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast()
                    .map { $0.hasPrefix("        ") ? $0.dropFirst(8) : $0 }.joined(separator: "\n") + "\n"
            }
        #expect(shown.count == 7)
        for block in shown {
            #expect(run.contains(block), "\(block)")
        }
        for heading in ["Upload", "Sync", "Hash-only", "Tapes"] {
            let section = try #require(document.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
            let example = try #require(Self.swiftBlocks(in: section).first)
            #expect(example.split(separator: "\n").count <= 10, "\(heading)")
        }
    }

    private static func swiftBlocks(in text: String) -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }

    // Package.swift is not evidence; the imports of a module determine the linked libraries.
    @Test("requires neither the command line nor the sandbox")
    func standsAlone() throws {
        var (reached, waiting, foreign) = (Set<String>(), ["MediaKit"], Set<String>())
        while let module = waiting.popLast() {
            guard reached.insert(module).inserted else { continue }
            for name in try Self.imports(of: module) {
                if FileManager.default.fileExists(atPath: Repository.path("Sources/\(name)")) {
                    waiting.append(name)
                } else {
                    foreign.insert(name)
                }
            }
        }
        let expected: Set = [
            "Dispatch", "Foundation", "GRDB", "GRDBSQLite", "Glibc", "Subprocess", "Synchronization", "SystemPackage",
        ]
        #expect(foreign == expected)
        #expect(reached.isSuperset(of: ["GigHive", "Tus", "PhotoSync", "HashCapture", "CaptureSubmission", "Tapes"]))
        #expect(reached.isDisjoint(with: ["MediaCLI", "Sandbox", "mediactl", "mediactl-sandbox"]))
    }

    private static func imports(of module: String) throws -> Set<String> {
        let folder = Repository.root.appending(path: "Sources/\(module)")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
        let modifiers: Set<Substring> = ["@_exported", "@preconcurrency", "internal", "package", "public"]
        var names: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let words = line.split(separator: " ").drop { modifiers.contains($0) }
                if words.count >= 2, words.first == "import" { names.insert(String(words.last ?? "")) }
            }
        }
        return names
    }
}
