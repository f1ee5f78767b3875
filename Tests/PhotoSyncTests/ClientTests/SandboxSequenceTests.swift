import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

@Suite("The client with a complete server", .prompt)
struct SandboxSequenceTests {
    private let directory: TemporaryDirectory
    private let library: LibraryStore

    init() throws {
        directory = try TemporaryDirectory()
        library = try LibraryStore(in: DataDirectory.open(directory.file("data")))
    }

    private func client(_ sandbox: SandboxProcess, key: String?, path: String = "") throws -> PhotoSyncClient {
        let url = try ServerURL(sandbox.baseURL + path, allowingPath: true)
        let retry = RetryPolicy(retries: 2, base: .zero)
        return PhotoSyncClient(
            server: url,
            http: try HTTPClient(configuration: HTTPClientConfiguration(retry: retry)),
            authorization: key.map { .apiKey($0, for: url.origin) }
        )
    }

    private func photo(_ text: String, _ name: String, device: String?) throws -> PhotoUpload {
        let path = try directory.write(UUID().uuidString, text.utf8)
        return PhotoUpload(
            content: FileContent(owning: open(path, O_RDONLY), byteCount: Int64(text.utf8.count)),
            fileName: name,
            takenAt: PhotoTime(rfc3339: "2024-03-01T00:30:00.1234567+02:00"),
            deviceID: device
        )
    }

    /// Stores the received bytes.
    private final class Sink: ResponseReceiver {
        private let bytes = Mutex<[UInt8]>([])

        var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

        func begin(_ head: HTTPResponseHead) {}
        func receive(_ bytes: UnsafeRawBufferPointer) { self.bytes.withLock { $0 += Array(bytes) } }
    }

    @Test("login, upload, listing, check, download and claim on a server with a URL path", .timeLimit(.minutes(2)))
    func wholeSequence() async throws {
        let sandbox = try await SandboxProcess.start(
            arguments: ["--base-path", "/photo/sync", "--photosync-rewrite", "off"]
        )
        let anonymous = try client(sandbox, key: nil, path: "/photo/sync/")
        #expect(try await anonymous.health() == ServerHealth(status: "healthy", isSetUp: true))
        let registration = DeviceRegistration(client: anonymous, library: library, deviceName: "desk")
        let login = try await registration.logIn(apiKey: SandboxProcess.aliceKey)
        let user = try client(sandbox, key: login.apiKey, path: "/photo/sync")
        let device = try #require(login.deviceID)
        #expect(try await user.devices().map(\.id) == [device])

        let name = "Zoë \"1\".JPG"
        let receipt = try await user.upload(photo("first photo", name, device: device))
        #expect(!receipt.isDuplicate)
        let again = try await user.upload(photo("first photo", "other.png", device: device))
        #expect(again == PhotoReceipt(id: receipt.id, isDuplicate: true))

        let page = try await user.photos(cursor: nil, device: device)
        let listed = try #require(page.photos.first)
        #expect(page.photos.count == 1 && page.totalCount == 1 && !page.hasMore && page.cursor == nil)
        #expect(listed.id == receipt.id && listed.originDevice?.id == device && listed.fileSize == 11)
        #expect(listed.originalFilename.hasPrefix("Zoë") && listed.originalFilename.hasSuffix(".JPG"))
        // The time is in UTC, truncated to the microsecond: nothing is left for the server to round or to drop.
        #expect(listed.takenAt.text == "2024-02-29T22:30:00.123456Z")
        #expect(try await user.status(device: device).devicePhotos == 1)
        #expect(try await user.status(device: device).lastSyncAt != nil)
        let unknown = String(repeating: "0", count: 64)
        #expect(try await user.existing([unknown, listed.sha256]) == [listed.sha256])

        let (whole, rest) = (Sink(), Sink())
        let response = try await user.download(id: receipt.id, receiver: whole)
        #expect(whole.text == "first photo")
        #expect(response.sha256 == listed.sha256 && response.totalBytes == 11)
        let resumed = try await user.download(
            id: receipt.id,
            from: 6,
            ifRange: response.lastModified,
            receiver: rest
        )
        #expect(rest.text == "photo" && resumed.firstByte == 6 && resumed.totalBytes == 11)
        #expect(try await user.download(id: receipt.id, from: 11, receiver: Sink()).status == 416)
        let stale = Sink()
        let restarted = try await user.download(
            id: receipt.id,
            from: 6,
            ifRange: "Sun, 06 Nov 1994 08:49:37 GMT",
            receiver: stale
        )
        #expect(restarted.status == 200 && restarted.firstByte == 0 && stale.text == "first photo")

        let legacy = try await user.upload(photo("legacy photo", "old.png", device: nil))
        #expect(try await user.status(device: nil).legacyPhotos == 1)
        #expect(try await user.claim([legacy.id, receipt.id], device: device) == 1)
        #expect(try await user.claimAll(device: device) == 0)
        #expect(try await user.status(device: device).devicePhotos == 2)
    }

    @Test("another user's device is detected at login, not at the first claim (trap 10)", .timeLimit(.minutes(2)))
    func foreignDevice() async throws {
        let sandbox = try await SandboxProcess.start()
        let registration = DeviceRegistration(
            client: try client(sandbox, key: nil),
            library: library,
            deviceName: "desk"
        )
        let alice = try await registration.logIn(apiKey: SandboxProcess.aliceKey)
        let bob = try await registration.logIn(apiKey: SandboxProcess.bobKey)
        #expect(alice.deviceID != bob.deviceID)
        let user = try client(sandbox, key: SandboxProcess.bobKey)
        let (own, foreign) = try (#require(bob.deviceID), #require(alice.deviceID))
        #expect(try await user.claimAll(device: own) == 0)
        #expect(await photoSyncError { _ = try await user.claimAll(device: foreign) }?.code == .invalidDevice)
        let error = await photoSyncError { _ = try await user.upload(photo("x", "a.jpg", device: "unknown")) }
        #expect(error?.code == .invalidDevice)
    }

    @Test(
        "a login by email address voids the old key; a second user cannot log in there (traps 8 and 9)",
        .timeLimit(.minutes(2))
    )
    func loginByAddress() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--photosync", "published"])
        let anonymous = try client(sandbox, key: nil)
        let registration = DeviceRegistration(client: anonymous, library: library, deviceName: "desk")
        let wrong = await photoSyncError {
            _ = try await registration.logIn(email: "alice@example.test", password: "no")
        }
        #expect(wrong?.code == .notLoggedIn && wrong?.detail == "Invalid email or password")
        let login = try await registration.logIn(email: "Alice@Example.Test", password: "alice")
        #expect(login.apiKey != SandboxProcess.aliceKey)
        let old = try client(sandbox, key: SandboxProcess.aliceKey)
        #expect(await photoSyncError { _ = try await old.status(device: nil) }?.code == .unauthorized)
        #expect(try await client(sandbox, key: login.apiKey).status(device: login.deviceID).totalPhotos == 0)
        let bob = await photoSyncError { _ = try await registration.logIn(email: "bob@example.test", password: "bob") }
        #expect(bob?.code == .keyNotRotated)
        #expect(try await client(sandbox, key: SandboxProcess.bobKey).status(device: nil).totalPhotos == 0)
        #expect(try library.login(for: anonymous.server.description) == login)
    }

    @Test("before the setup only health responds", .timeLimit(.minutes(2)))
    func setup() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--photosync-setup", "incomplete"])
        let user = try client(sandbox, key: SandboxProcess.aliceKey)
        #expect(try await user.health() == ServerHealth(status: "healthy", isSetUp: false))
        #expect(await photoSyncError { _ = try await user.status(device: nil) }?.code == .setupRequired)
        let upload = await photoSyncError { _ = try await user.upload(photo("x", "a.jpg", device: nil)) }
        #expect(upload?.code == .setupRequired)
        let download = await photoSyncError { _ = try await user.download(id: "p", receiver: Sink()) }
        #expect(download?.code == .setupRequired)
        #expect(try await sandbox.requests().count { $0.status == 503 } == 3, "each was requested once")
    }

    @Test("a photo that the server rejects is reported with the server's message", .timeLimit(.minutes(2)))
    func refusedPhotos() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--photosync-max-size", "10"])
        let user = try client(sandbox, key: SandboxProcess.aliceKey)
        let cases: [(String, String, OutcomeCode)] = [
            ("x", "a.bmp", .unknownExtension), ("x", "a", .unknownExtension), ("", "a.jpg", .emptyFile),
            ("12345678901", "a.jpg", .fileTooLarge),
        ]
        for (content, name, code) in cases {
            let error = await photoSyncError { _ = try await user.upload(photo(content, name, device: nil)) }
            #expect(error?.code == code, "\(name)")
        }
        #expect(try await user.upload(photo("1234567890", "a.HEIC", device: nil)).isDuplicate == false)
        #expect(await photoSyncError { _ = try await user.download(id: "none", receiver: Sink()) }?.code == .notFound)
    }
}
