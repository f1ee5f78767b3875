import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Uploads with an event link (gighive contract section 6), against the sandbox.
@Suite struct GuestTests {
    private static let secret = "CANARY-guest_0123456789abcdefghijklmnopqrst"

    private static let other = String(repeating: "o", count: 43)

    /// `other` is the event of a second link.
    private func start(
        days: Int = 14,
        faults: [String] = [],
        other: String = "2026-03-02,Other"
    ) async throws -> ResumableBench {
        let links = [
            "\(Self.secret)=2026-03-01,Wedding of A and B,wedding,\(days)", "\(Self.other)=\(other),wedding",
        ]
        let arguments = links.flatMap { ["--event-link-token", $0] }
        let sandbox = try await SandboxProcess.start(faults: faults, arguments: arguments)
        // A login is available, and must not be used.
        return try ResumableBench(sandbox, user: "uploader")
    }

    private func guest(
        _ bench: ResumableBench,
        name: String? = "Aunt Ü",
        secret: String = GuestTests.secret
    ) async throws -> GuestAccess {
        let token = try #require(EventToken("\(bench.sandbox.baseURL)/upload/\(secret)"))
        return try await bench.client.guestAccess(token, displayName: name).acceptingTerms()
    }

    // MARK: Links

    @Test(
        arguments: [
            (secret, nil as String?), ("  \(secret)\n", nil),
            ("https://h.example/upload/\(secret)", "https://h.example"),
            ("HTTPS://h.example:8443/upload/\(secret)/\n", "HTTPS://h.example:8443"),
            ("http://127.0.0.1:1/upload/\(secret)?x=1#y", "http://127.0.0.1:1"),
        ]
    )
    func aLinkOrABareTokenIsParsed(_ text: String, _ server: String?) {
        #expect(EventToken(text)?.secret == Self.secret)
        #expect(EventToken.server(ofLink: text) == server)
    }

    @Test(
        arguments: [
            "", "short", secret + "x", String(secret.dropLast()), String(secret.dropLast()) + "!",
            String(secret.dropLast()) + "é", "https://h.example/\(secret)", "https://h.example/upload/\(secret)/more",
            "ftp://h.example/upload/\(secret)", "https:///upload", "/upload/\(secret)", "https://h.example/upload/",
        ]
    )
    func anythingElseIsNotAToken(_ text: String) {
        #expect(EventToken(text) == nil)
    }

    @Test func secretsAreNeverPrinted() async throws {
        let bench = try await start()
        let access = try await guest(bench)
        let receipt = GuestReceipt(nonce: Self.secret, jobID: 3)
        for text in [
            "\(access)", "\(access.token)", String(reflecting: access.token), "\(access.authorization)", "\(receipt)",
        ] {
            #expect(!text.contains(Self.secret), "\(text)")
        }
    }

    @Test func aLinkReportsItsEvent() async throws {
        let access = try await guest(try await start())
        #expect(access.event.eventDate == "2026-03-01")
        #expect(access.event.orgName == "Wedding of A and B")
        #expect(access.event.eventType == "wedding")
        #expect(access.displayName == "Aunt Ü")
    }

    /// The server truncates a longer name, even within a character, and fails after it has stored the file.
    @Test func aDisplayNameHasAtMost100Bytes() async throws {
        let bench = try await start()
        let token = try #require(EventToken(Self.secret))
        let longest = String(repeating: "Ü", count: 50)
        #expect(try await bench.client.guestAccess(token, displayName: longest).displayName == longest)
        let error = await #expect(throws: GigHiveError.self) {
            try await bench.client.guestAccess(token, displayName: longest + "a")
        }
        #expect(error?.code == .invalidDetail && error?.field == "display_name" && error?.limit == 100)
    }

    @Test(arguments: ["expired", "revoked", "unknown"]) func anInvalidLinkIsReported(_ kind: String) async throws {
        let bench = try await start(days: kind == "expired" ? 0 : 14)
        if kind == "revoked" {
            _ = try await guest(bench)
            try await bench.control(.delete, "event-links/\(Self.secret)")
        }
        let text = kind == "unknown" ? String(repeating: "x", count: 43) : Self.secret
        let token = try #require(EventToken(text))
        let error = await #expect(throws: GigHiveError.self) {
            try await bench.client.guestAccess(token, displayName: nil)
        }
        #expect(error?.code == .invalidEventLink)
        #expect(error?.httpStatus == 404)
    }

    // MARK: Uploads

    @Test func aGuestUploadsWithoutALogin() async throws {
        var bench = try await start()
        bench.options.guest = try await guest(bench)
        bench.options.transport = .auto
        let path = try bench.file()
        let result = await bench.uploader.upload(try bench.prepare(path, label: "Table 5", date: "2020-01-01"))
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.transport == .tus)
        #expect(result.details?.eventDate == "2026-03-01")
        #expect(result.details?.orgName == "Wedding of A and B")
        let receipt = try #require(result.guest)
        let row = try #require(try bench.row())
        #expect(row.isGuest)
        #expect(try bench.store.guestReceipt(row.uploadID) == receipt)
        #expect(try await bench.titles() == ["Table 5"])
        #expect(try await bench.client.guestState(receipt) == .pending)

        // Only the guest's token was sent.
        #expect(bench.uploader.client.authorization?.user == nil)

        // The status of a deleted upload stays pending, so only the server knows whether it still has the file.
        let pending = await bench.uploader.upload(try bench.prepare(path, label: "Table 5"))
        #expect(pending.state == .duplicate)
        #expect(!pending.isSkipped)
        #expect(try await bench.count("POST", "/files/") == 2)

        try await bench.control(.post, "guest-jobs/\(receipt.jobID)/approve")
        #expect(try await bench.client.guestState(receipt) == .approved)

        // The same file is not sent a second time.
        let again = await bench.uploader.upload(try bench.prepare(path, label: "Table 5"))
        #expect(again.state == .duplicate)
        #expect(again.isSkipped)
        #expect(try await bench.count("POST", "/files/") == 2)

        try await bench.client.guestHide(receipt)
        #expect(try await bench.stored().count == 1)
    }

    @Test func unapprovedUploadsCannotBeHidden() async throws {
        var bench = try await start()
        bench.options.guest = try await guest(bench)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        let receipt = try #require(result.guest)
        let error = await #expect(throws: GigHiveError.self) { try await bench.client.guestHide(receipt) }
        #expect(error?.code == .forbidden)
        let unknown = GuestReceipt(nonce: String(repeating: "x", count: 32), jobID: 9)
        #expect(try await bench.client.guestState(unknown) == nil)
    }

    @Test func withoutAcceptedTermsNothingIsSent() async throws {
        var bench = try await start()
        let token = try #require(EventToken(Self.secret))
        bench.options.guest = try await bench.client.guestAccess(token, displayName: nil)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.error?.code == .termsNotAccepted)
        #expect(try bench.row() == nil)
        #expect(try await bench.count("OPTIONS", "/files/") == 0)
    }

    @Test(arguments: [(255, true), (256, false)]) func aGuestsLabelHas255Bytes(_ count: Int, _ fits: Bool) async throws
    {
        var bench = try await start()
        bench.options.guest = try await guest(bench)
        let label = String(repeating: "é", count: 127) + String(repeating: "x", count: count - 254)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file(), label: label))
        #expect((result.state == .done) == fits)
        #expect(fits || result.error?.code == .invalidDetail)
        #expect(fits || result.error?.field == "label")
    }

    @Test func aLinkRevokedDuringTheUploadKeepsTheUpload() async throws {
        var bench = try await start()
        bench.options.guest = try await guest(bench)
        let row = try await bench.interrupted().row
        try await bench.control(.delete, "event-links/\(Self.secret)")
        let result = await bench.uploader.resume(row, details: nil)
        #expect(result.error?.code == .invalidEventLink)
        #expect(try bench.row()?.state == .failed)
        #expect(try Uploader.isResumable(try #require(try bench.row()), in: bench.store))
    }

    @Test func aGuestsUploadIsResumedWithTheLinkOnly() async throws {
        let login = try await start()
        var bench = login
        bench.options.guest = try await guest(bench)
        let row = try await bench.interrupted().row
        let refused = await login.uploader.resume(row, details: nil)
        #expect(refused.error?.code == .notResumable)
        let result = await bench.uploader.resume(row, details: nil)
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(result.isResumed)
        #expect(result.guest != nil)
    }

    /// The server adds an upload to the event of the link with which it is finalized.
    @Test(arguments: ["2026-03-02,Wedding of A and B", "2026-03-01,Other"])
    func aLinkOfAnotherEventResumesNothing(_ event: String) async throws {
        var bench = try await start(other: event)
        bench.options.guest = try await guest(bench)
        let row = try await bench.interrupted().row
        let before = try await bench.sandbox.requests().count { $0.path.hasPrefix("/files/") }

        var other = bench
        other.options.guest = try await guest(bench, secret: Self.other)
        let refused = await other.uploader.resume(row, details: nil)
        #expect(refused.error?.code == .notResumable)
        let detail = try #require(refused.error?.detail)
        #expect(detail.contains("Wedding of A and B, 2026-03-01") && detail.contains("the link is for"), "\(detail)")
        #expect(try bench.row() == row)
        #expect(try await bench.sandbox.requests().count { $0.path.hasPrefix("/files/") } == before)
        #expect(try await bench.stored().isEmpty)

        let result = await bench.uploader.resume(row, details: nil)
        #expect(result.state == .done, "\(String(describing: result.error))")
    }

    /// The response to a guest's repeated finalize request contains the receipt again.
    @Test func aLostResponseIsRepeatedWithTheReceipt() async throws {
        var bench = try await start(faults: ["finalize:drop-response,times=1"])
        bench.options.guest = try await guest(bench)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .done, "\(String(describing: result.error))")
        let receipt = try #require(result.guest)
        #expect(try bench.store.guestReceipt(try #require(try bench.row()).uploadID) == receipt)
    }

    @Test func aLinkOfAnotherServerIsNeverSent() async throws {
        var bench = try await start()
        let other = try ResumableBench(try await SandboxProcess.start())
        bench.options.guest = try await guest(bench)
        let uploader = Uploader(
            client: other.client,
            store: other.store,
            directory: other.directory,
            options: bench.options
        )
        let result = await uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.error?.code == .invalidEventLink)
        #expect(try await other.sandbox.requests().isEmpty)
    }
}
