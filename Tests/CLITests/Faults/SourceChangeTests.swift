import Foundation
import MediaStore
import TestSupport
import Testing

/// A file that changes during its upload: exit code 13, and the token of the unusable copy is kept.
@Suite(.prompt) struct SourceChangeTests {
    /// The change to the file after part of it was sent.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (String) throws -> Void

        static let all = [
            Change(testDescription: "grows") { path in
                let handle = try #require(FileHandle(forWritingAtPath: path))
                try handle.seekToEnd()
                try handle.write(contentsOf: Data("more".utf8))
                try handle.close()
            },
            Change(testDescription: "is rewritten") { path in
                let handle = try #require(FileHandle(forWritingAtPath: path))
                try handle.write(contentsOf: Data("other".utf8))
                try handle.close()
            },
            Change(testDescription: "is replaced") { path in
                try FaultFixture.writeMovie(to: path + ".new", byteCount: byteCount, seed: 1)
                #expect(rename(path + ".new", path) == 0)
            },
        ]
    }

    /// Far more than the buffers of a connection hold.
    private static let byteCount = 16 << 20

    /// A server that reads some bytes, waits for the change, and continues reading.
    private struct Fixture {
        let site: ScriptedSite
        let client: FaultFixture
        private let begun = Gate()
        private let changed = Gate()

        init() throws {
            let (begun, changed) = (begun, changed)
            site = try ScriptedSite(receiveBuffer: 65_536) { connection, head in
                try connection.proceed(head)
                try connection.readBody(65_536)
                begun.open()
                changed.wait()
                try connection.readBody(ScriptedServer.Connection.contentLength(of: head) - 65_536)
                try connection.respond(201, ScriptedSite.success)
            }
            client = try FaultFixture(site.address, byteCount: SourceChangeTests.byteCount)
        }

        func upload(changing change: (String) throws -> Void) async throws -> FaultReport {
            let child = try client.startUpload(["--retries", "3"])
            #expect(await begun.opened())
            try change(client.file)
            changed.open()
            return FaultReport(try await child.finish())
        }
    }

    @Test(arguments: Change.all)
    func changeDuringTheUpload(_ change: Change) async throws {
        let fixture = try Fixture()
        let report = try await fixture.upload(changing: change.make)
        let message = "changed while it was being sent; the bytes sent are on the server as 18"
        report.expect(ExpectedFault(13, "source_changed", message, hint: "mediactl uploads delete 18"))
        #expect(try fixture.client.states() == [.failed])
        #expect(try fixture.client.journal().first?.failureCode == "source_changed")
        #expect(try fixture.client.tokens().map(\.fileID) == [18])
        #expect(fixture.site.posts == 1)
    }

    /// The announced length can no longer be sent: the request ends, and the server stores nothing.
    @Test func shrinking() async throws {
        let fixture = try Fixture()
        let report = try await fixture.upload { path in #expect(truncate(path, 1 << 20) == 0) }
        report.expect(ExpectedFault(13, "source_changed", "changed while it was being sent", hint: "send it again"))
        #expect(try fixture.client.states() == [.failed])
        #expect(try fixture.client.tokens().isEmpty)
        #expect(fixture.site.posts == 1)
    }

    @Test func unchangedFileIsNotAnError() async throws {
        let fixture = try Fixture()
        let report = try await fixture.upload { _ in }
        #expect(report.result.exitCode == 0)
        #expect(try fixture.client.states() == [.done])
    }

    /// A file that is checked when the command starts, and changed before its own upload starts, is not sent.
    @Test func changeBeforeTheUploadStarts() async throws {
        let held = try HeldResponse()
        let second = try held.client.movie("second.mp4")
        let child = try held.client.startUpload([second, "-j", "1"])
        #expect(await held.received.opened())
        try FaultFixture.writeMovie(to: second, byteCount: 26_183, seed: 2)
        held.response.open()
        let report = FaultReport(try await child.finish())
        #expect(report.result.exitCode == 3)
        #expect(report.items.map(\.state) == ["done", "failed"])
        #expect(report.items.map(\.exitCode) == [0, 13])
        #expect(report.failure?.code == "source_changed")
        #expect(held.site.posts == 1)
    }

    @Test func secondUploadOfTheSameFileIsRefused() async throws {
        let held = try HeldResponse()
        let first = try held.client.startUpload()
        #expect(await held.received.opened())
        let second = try await held.client.upload()
        second.expect(
            ExpectedFault(10, "upload_in_progress", "is being uploaded by another mediactl", hint: "uploads status")
        )
        #expect(held.site.posts == 1)
        #expect(try held.client.states().count == 1)
        held.response.open()
        #expect(try await first.finish().exitCode == 0)
        #expect(try held.client.states() == [.done])
        #expect(try held.client.tokens().count == 1)
    }
}

/// A server that reads the whole body and responds when the test allows it.
struct HeldResponse: Sendable {
    let site: ScriptedSite
    let client: FaultFixture
    /// Opened by the server when it has read the body.
    let received = Gate()
    /// Opened by the test; then the success is sent.
    let response = Gate()

    init() throws {
        let (received, response) = (received, response)
        site = try ScriptedSite { connection, head in
            try connection.readBody(of: head)
            received.open()
            response.wait()
            try connection.respond(201, ScriptedSite.success)
        }
        client = try FaultFixture(site.address)
    }
}
