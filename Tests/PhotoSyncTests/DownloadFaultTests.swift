import Foundation
import Glibc
import MediaFiles
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// Servers that refuse, full disks, and directories with traps.
@Suite struct DownloadFaultTests {
    private typealias File = DownloadServer.File

    private func server() throws -> DownloadServer {
        try DownloadServer { .file(File(body: $0.id, digest: try digest(of: $0.id))) }
    }

    private func photos(_ ids: String...) throws -> [PhotoRecord] {
        try ids.enumerated().map {
            try .of($0.element, id: $0.element, name: "\($0.element).jpg", uploadedAt: Int64($0.offset))
        }
    }

    // MARK: Responses

    @Test(
        arguments: [
            (404, "Photo not found", .notFound), (404, "404 page not found", .notFound),
            (403, "Access denied", .forbidden),
            (500, "Database error", .serverError),
        ] as [(Int, String, OutcomeCode)]
    )
    func aRefusedPhotoDoesNotEndTheRun(_ status: Int, _ text: String, _ code: OutcomeCode) async throws {
        let server = try DownloadServer { request in
            request.id == "a" ? .refusal(status, text) : .file(File(body: "b", digest: try digest(of: "b")))
        }
        let bench = try DownloadBench(server.address, indexing: try photos("a", "b"))
        let outcome = await bench.run()
        #expect(outcome.error == nil)
        #expect(outcome["a"]?.error?.code == code)
        #expect(outcome["a"]?.error?.httpStatus == status)
        #expect(outcome["b"]?.state == .verified)
        #expect(try bench.files() == ["2024/03/b.jpg": "b"])
    }

    @Test func aDatabaseErrorIsRetried() async throws {
        let server = try DownloadServer { request in
            request.number == 1 ? .refusal(500, "Database error") : .file(File(body: "a", digest: try digest(of: "a")))
        }
        let bench = try DownloadBench(server.address, indexing: try photos("a"))
        #expect(await bench.run(retries: 1).only?.attempts == 2)
    }

    @Test(
        arguments: [
            (401, #"{"error":"Invalid API key."}"#, .unauthorized),
            (503, #"{"error":"Setup required","setupUrl":"/setup"}"#, .setupRequired),
        ] as [(Int, String, OutcomeCode)]
    )
    func aFailureOfAllPhotosEndsTheRun(_ status: Int, _ body: String, _ code: OutcomeCode) async throws {
        let response =
            "HTTP/1.1 \(status) No\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let server = try DownloadServer { _ in .raw(response) }
        let bench = try DownloadBench(server.address, indexing: try photos("a", "b", "c"))
        let outcome = await bench.run(retries: 5)
        #expect(outcome.error?.code == code)
        #expect(server.requests.count == 1)
        #expect(outcome["a"]?.state == .failed)
        #expect(outcome["c"]?.state == .cancelled)
        #expect(try bench.files().isEmpty)
    }

    /// Without a signal, no photo was canceled by the user.
    @Test func runningDownloadsEndWithTheErrorThatEndedTheRun() async throws {
        let begun = Gate()
        let done = Gate()
        defer { done.open() }
        let server = try DownloadServer { request in
            if request.id == "a" {
                begun.wait()
                return .refusal(401, "Invalid API key.")
            }
            begun.open()
            done.wait()
            return .refusal(500, "too late")
        }
        let bench = try DownloadBench(server.address, indexing: try photos("a", "b", "c"))
        let outcome = await bench.run(jobs: 2)
        #expect(outcome.error?.code == .unauthorized)
        #expect(outcome["a"]?.state == .failed && outcome["a"]?.endsRun == true)
        for id in ["b", "c"] {
            #expect(outcome[id]?.state == .cancelled && outcome[id]?.error?.code == .unauthorized)
        }
        #expect(outcome["b"]?.attempts == 1 && outcome.items.count == 3)
    }

    @Test func anUnreachableServerEndsTheRun() async throws {
        let server = try server()
        let bench = try DownloadBench(server.address, indexing: try photos("a", "b"))
        server.stop()
        let outcome = await bench.run()
        #expect(outcome.error?.code == .transport)
        #expect(outcome["b"]?.state == .cancelled)
    }

    @Test func theKeyIsNotSentToARedirectTarget() async throws {
        let other = try server()
        let server = try DownloadServer { [address = other.address] request in
            .refusal(302, "elsewhere", headers: ["Location: \(address)/api/photos/\(request.id)/download"])
        }
        let bench = try DownloadBench(server.address, indexing: try photos("a"))
        let outcome = await bench.run()
        #expect(outcome.error?.code == .redirected)
        #expect(other.connectionCount == 0)
        #expect(try bench.files().isEmpty)
    }

    @Test func anIDFromTheServerCannotChangeThePath() async throws {
        let server = try server()
        let bench = try DownloadBench(server.address, indexing: [try .of("x", id: "../../admin?x=1#y")])
        await bench.run()
        #expect(server.requests.map(\.target) == ["/api/photos/..%2F..%2Fadmin%3Fx%3D1%23y/download"])
    }

    @Test func stoppingKeepsDownloadedPhotos() async throws {
        let long = filler(3 << 20)
        let digest = try digest(of: long)
        let begun = Gate()
        let server = try ScriptedServer { connection, _ in
            try connection.readHead()
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Length: \(3 << 20)\r\nX-Photosync-Hash: \(digest)\r\n"
                    + "Last-Modified: Wed, 01 Jan 2025 10:00:00 GMT\r\nDate: Wed, 01 Jan 2025 11:00:00 GMT\r\n\r\n"
                    + long.prefix(2 << 20)
            )
            connection.waitForClose()
        }
        let bench = try DownloadBench(server.address, indexing: [try .of(long, id: "a")])
        let control = TransferControl()
        async let stopped: Void = {
            await begun.opened()
            control.abandon()
        }()
        let outcome = await bench.run(
            control: control,
            progress: { if $0.bytesReceived > 0 { begun.open() } }
        )
        await stopped
        #expect(outcome.error?.code == .cancelled)
        #expect(outcome.only?.state == .cancelled && outcome.only?.error == nil)
        let part = try #require(try bench.files()["2024/03/.IMG_1.jpg.mediactl-part"])
        #expect(!part.isEmpty && long.hasPrefix(part))
        #expect(try bench.copies().first?.totalBytes == 3 << 20)
    }

    // MARK: Traps in the file system

    @Test func aLinkInPlaceOfAYearIsNotFollowed() async throws {
        let server = try server()
        let bench = try DownloadBench(server.address)
        let outside = try TemporaryDirectory()
        try makeDirectory(bench.target)
        try makeLink(bench.target + "/2024", to: outside.path)
        try bench.index(try photos("a"))
        let outcome = await bench.run()
        #expect(outcome.only?.error?.code == .targetUnusable)
        #expect(outcome.only?.error?.path == bench.path("2024"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
        #expect(server.requests.isEmpty)
    }

    @Test func aLinkInPlaceOfAPartialDownloadIsNotFollowed() async throws {
        let server = try server()
        let bench = try DownloadBench(server.address)
        try bench.put("precious", "victim")
        try makeDirectory(bench.target + "/2024/03")
        try makeLink(bench.target + "/2024/03/.a.jpg.mediactl-part", to: bench.target + "/victim")
        try bench.index(try photos("a"))
        #expect(await bench.run().only?.error?.code == .targetUnusable)
        #expect(try bench.files()["victim"] == "precious")
    }

    @Test func aDanglingLinkWithThePhotosNameIsKept() async throws {
        let server = try server()
        let bench = try DownloadBench(server.address)
        let outside = try TemporaryDirectory()
        try makeDirectory(bench.target + "/2024/03")
        try makeLink(bench.target + "/2024/03/a.jpg", to: outside.file("planted"))
        try bench.index(try photos("a"))
        #expect(await bench.run().only?.path == bench.path("2024/03/a (2).jpg"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
    }

    @Test func theTargetItselfMayBeALink() async throws {
        let server = try server()
        let bench = try DownloadBench(server.address)
        let real = try TemporaryDirectory()
        try makeLink(bench.target, to: real.path)
        try bench.index(try photos("a"))
        #expect(await bench.run().only?.state == .verified)
        #expect(FileManager.default.fileExists(atPath: real.file("2024/03/a.jpg")))
    }

    @Test func anUnwritableTargetEndsTheRun() async throws {
        let server = try server()
        let disk = try SmallDisk(kibibytes: 64)
        try disk.makeReadOnly()
        let bench = try DownloadBench(server.address, target: disk.path)
        try bench.index(try photos("a"))
        for isDryRun in [false, true] {
            #expect(await bench.run(isDryRun: isDryRun).error?.code == .targetUnusable)
        }
        #expect(server.requests.isEmpty)
        // There is nothing to write.
        try bench.index([])
        #expect(await bench.run().error == nil)
    }

    @Test func aFileInPlaceOfTheTargetEndsTheRun() async throws {
        let bench = try DownloadBench("http://127.0.0.1:9")
        try Data().write(to: URL(fileURLWithPath: bench.target))
        try bench.index(try photos("a"))
        #expect(await bench.run().error?.code == .targetUnusable)
    }

    @Test func aFullDiskEndsTheRunAndLeavesNoPhoto() async throws {
        let long = filler(1 << 20)
        let server = try DownloadServer { _ in .file(File(body: long, digest: try digest(of: long))) }
        let disk = try SmallDisk(kibibytes: 512)
        let bench = try DownloadBench(server.address, target: disk.path)
        try bench.index([
            try .of(long, id: "a", name: "a.jpg"), try .of(long + "x", id: "b", name: "b.jpg", uploadedAt: 1),
        ])
        let outcome = await bench.run()
        #expect(outcome.error?.code == .diskFull)
        #expect(outcome["a"]?.error?.code == .diskFull)
        #expect(outcome["b"]?.state == .cancelled)
        #expect(try bench.files().isEmpty)
    }

    @Test func anotherProcessesDownloadIsNotChanged() async throws {
        let server = try server()
        let bench = try DownloadBench(server.address)
        try makeDirectory(bench.target + "/2024/03")
        let month = try #require(try TargetDirectory.open(bench.path("2024/03"), creating: false))
        var held: PartialFile? = try PartialFile.open(".a.jpg.mediactl-part", in: month)
        try bench.index(try photos("a", "b"))
        let outcome = await bench.run()
        #expect(outcome["a"]?.error?.code == .busy)
        #expect(outcome["a"]?.error?.isRetryable == true)
        #expect(outcome["b"]?.state == .verified)
        try held?.discard()
        held = nil
        await bench.run()
        #expect(try bench.files() == ["2024/03/a.jpg": "a", "2024/03/b.jpg": "b"])
    }

    /// Each run would choose its own names, and store the photos twice.
    @Test func aSecondRunIntoTheSameDirectoryIsRefused() async throws {
        let begun = Gate()
        let done = Gate()
        let server = try DownloadServer { request in
            if request.id == "a" {
                begun.open()
                done.wait()
            }
            return .file(File(body: request.id, digest: try digest(of: request.id)))
        }
        let bench = try DownloadBench(server.address, indexing: try photos("a", "b"))
        async let first = bench.run()
        await begun.opened()
        let second = await bench.run()
        #expect(second.error?.code == .busy)
        #expect(second.error?.isRetryable == true)
        #expect(second.items.isEmpty)
        #expect(await bench.run(isDryRun: true).error == nil)
        done.open()
        #expect(await first.result?.counts == [.verified: 2])
        #expect(try bench.files() == ["2024/03/a.jpg": "a", "2024/03/b.jpg": "b"])
        #expect(await bench.run().error == nil)
    }

    /// Two machines with separate stores download into one directory. Each stores every photo once, or uses the other
    /// machine's file if it finds it; no file mixes two photos.
    @Test func twoRunsIntoOneDirectoryDoNotMix() async throws {
        let server = try server()
        let one = try DownloadBench(server.address)
        let two = try DownloadBench(server.address, target: one.target)
        let ids = (0..<20).map { "photo-\($0)" }
        for bench in [one, two] {
            try bench.index(
                try ids.enumerated().map { try .of($0.element, id: $0.element, uploadedAt: Int64($0.offset)) }
            )
        }
        async let first = one.run(jobs: 4)
        async let second = two.run(jobs: 4)
        _ = await (first, second)
        await one.run()
        await two.run()
        for bench in [one, two] {
            let copies = try bench.copies()
            #expect(copies.count == 20)
            for copy in copies {
                #expect(
                    try String(contentsOfFile: String(decoding: copy.path, as: UTF8.self), encoding: .utf8)
                        == copy.photoID
                )
            }
        }
        let recorded = try Set((one.copies() + two.copies()).map(\.path))
        #expect(try one.files().count == recorded.count)
        #expect(try one.files().keys.allSatisfy { !$0.contains("mediactl-part") })
    }
}
