import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import Tapes

/// Uploading originals to Immich (contract 6.3, 2).
@Suite("uploads to Immich")
struct ImmichUploadTests {
    @Test("6.3, traps 13, 14: fields in order, the file last, its checksum in 28 characters", arguments: [2, 3])
    func form(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        let clip = try bench.clip("Ä \"1\".JPG", "abc")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000.5)],
            ofItemAtPath: bench.directory.file("Ä \"1\".JPG")
        )
        let found = try await bench.library().resolveAssets([clip], mayUpload: true)
        let report = try await bench.report()
        #expect(found.map(\.assetID) == report.assets.map(\.id))
        #expect(report.assets.map(\.name) == ["Ä \"1\".JPG"])
        #expect(report.assets.map(\.checksum) == [ImmichAssetTests.sha1OfABC])
        let request = try #require(report.requests.first { $0.line == "POST /assets" })
        #expect(request.values(of: "x-immich-checksum") == [ImmichAssetTests.base64OfABC])
        #expect(
            request.form?.map(\.name) == [
                "deviceAssetId", "deviceId", "fileCreatedAt", "fileModifiedAt", "filename", "assetData",
            ]
        )
        #expect(request.form?.map { $0.fileName != nil } == [false, false, false, false, false, true])
        #expect(request.form?.last?.length == 3)
        // 1,700,000,000 seconds after 1970.
        let time = "2023-11-14T22:13:20.500Z"
        #expect(request.fields?.map { $0[1] } == [clip.id, "mediactl", time, time, "Ä \"1\".JPG"])
    }

    @Test("6.3: the same file twice is one asset, even within one tape", arguments: [2, 3])
    func twice(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        let clips = [try bench.clip("a.jpg", "abc"), try bench.clip("b.jpg", "abc")]
        let first = try await bench.library().resolveAssets(clips, mayUpload: true)
        let second = try await bench.library().resolveAssets(clips, mayUpload: true)
        let report = try await bench.report()
        #expect(report.assets.count == 1)
        #expect((first + second).allSatisfy { $0.assetID == report.assets.first?.id })
        #expect(report.requests.filter { $0.line == "POST /assets" }.count == 1)
    }

    @Test("6.3: a duplicate detected only by the upload is a success", arguments: [2, 3])
    func lateDuplicate(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        let clip = try bench.clip("a.jpg", "abc")
        let ids = try await bench.server.add(assets: [["checksum": ImmichAssetTests.sha1OfABC]])
        try await bench.server.add(faults: [
            "path": "bulk-upload-check", "body": #"{"results":[{"id":"\#(clip.id)","action":"accept"}]}"#,
        ])
        let found = try await bench.library().resolveAssets([clip], mayUpload: true)
        #expect(found.map(\.assetID) == ids)
        let upload = try #require(try await bench.report().requests.first { $0.line == "POST /assets" })
        // The server recognized the checksum, and did not read the body.
        #expect(upload.form == nil)
    }

    @Test("6.3: with uploads disabled, a file stays unidentified (R15)")
    func off() async throws {
        let bench = try await ImmichBench()
        let clip = try bench.clip("a.jpg", "abc")
        #expect(try await bench.library().resolveAssets([clip], mayUpload: false) == [.unidentified])
        #expect(try await bench.report().assets.isEmpty)
    }

    @Test("6.3: the video of a live photo is uploaded first, and only the still is added", arguments: [2, 3])
    func live(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        var clip = try bench.clip("a.heic", "still", kind: .live)
        clip.pairedSource = try bench.clip("a.mov", "video").source
        let found = try await bench.library().resolveAssets([clip], mayUpload: true)
        let report = try await bench.report()
        let uploads = report.requests.filter { $0.line == "POST /assets" }
        #expect(uploads.map { $0.form?.last?.fileName } == ["a.mov", "a.heic"])
        let video = try #require(report.assets.first { $0.name == "a.mov" })
        let still = try #require(report.assets.first { $0.name == "a.heic" })
        #expect(found.map(\.assetID) == [still.id])
        #expect(still.video == video.id)
        #expect(video.hidden)
        #expect(uploads.last?.form?.map(\.name).suffix(2) == ["livePhotoVideoId", "assetData"])
        // The live photo's video is queried by checksum before the upload (trap 12).
        #expect(report.requests.filter { $0.path == "/assets/bulk-upload-check" }.count == 2)
    }

    @Test("R14: the upload of a live photo without its video is postponed")
    func liveWithoutVideo() async throws {
        let bench = try await ImmichBench()
        var clip = try bench.clip("a.heic", "still", kind: .live)
        clip.pairedSource = Array(bench.directory.file("gone.mov").utf8)
        let found = try await bench.library().resolveAssets([clip], mayUpload: true)
        #expect(found == [.unavailable("no such file")])
        #expect(try await bench.report().assets.isEmpty)
    }

    @Test("6.3: a file type that the server does not support is refused before the upload")
    func mediaTypes() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        let clips = [try bench.clip("a.xyz", "a"), try bench.clip("b.JPG", "b"), try bench.clip("c", "c")]
        let found = try await library.resolveAssets(clips, mayUpload: true)
        #expect(found[0] == .rejected("the server does not accept .xyz"))
        #expect(found[1].assetID != nil)
        #expect(found[2] == .rejected("the server does not accept ."))
        let lines = try await bench.report().requests.map(\.line)
        #expect(lines.filter { $0 == "POST /assets" }.count == 1)
        #expect(lines.filter { $0 == "GET /server/media-types" }.count == 1)
    }

    // MARK: Refusals

    struct Refusal: Sendable, CustomTestStringConvertible {
        var status: Int
        var message: String
        var isRefused: Bool
        var sendsOn: Bool
        var testDescription: String { "\(status) \(message)" }
    }

    static let refusals = [
        Refusal(status: 400, message: "Unsupported file type .jpg", isRefused: true, sendsOn: true),
        Refusal(status: 400, message: "File is empty", isRefused: true, sendsOn: true),
        Refusal(status: 400, message: "Field(s) assetData should not be empty", isRefused: true, sendsOn: true),
        Refusal(status: 400, message: "Validation failed", isRefused: true, sendsOn: true),
        // Files of this size are not sent again in this run.
        Refusal(status: 413, message: "Payload Too Large", isRefused: false, sendsOn: false),
        // These are not the server's decision about the file: they come from a proxy or from a temporary state.
        Refusal(status: 405, message: "Method Not Allowed", isRefused: false, sendsOn: true),
        Refusal(status: 409, message: "Conflict", isRefused: false, sendsOn: true),
        Refusal(status: 423, message: "Locked", isRefused: false, sendsOn: true),
        Refusal(status: 425, message: "Too Early", isRefused: false, sendsOn: true),
        Refusal(status: 400, message: "Quota has been exceeded!", isRefused: false, sendsOn: false),
        Refusal(status: 403, message: "Missing required permission: asset.upload", isRefused: false, sendsOn: false),
        Refusal(status: 408, message: "Request Timeout", isRefused: false, sendsOn: true),
        Refusal(status: 429, message: "Too Many Requests", isRefused: false, sendsOn: false),
        Refusal(status: 500, message: "Internal server error", isRefused: false, sendsOn: true),
        Refusal(status: 502, message: "Bad gateway", isRefused: false, sendsOn: true),
        Refusal(status: 503, message: "Unavailable", isRefused: false, sendsOn: false),
        Refusal(status: 504, message: "Gateway timeout", isRefused: false, sendsOn: true),
    ]

    @Test("6.4: the file is refused, postponed, or the run stops uploading", arguments: [2, 3])
    func refusal(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        for (number, row) in Self.refusals.enumerated() {
            let message = major == 2 ? "[\"\(row.message)\"]" : "\"\(row.message)\""
            try await bench.server.add(faults: [
                "method": "POST", "path": "/assets$", "status": row.status, "drain": true,
                "body": "{\"message\":\(message)}",
            ])
            let clips = [try bench.clip("a.jpg", "a\(number)"), try bench.clip("b.jpg", "b\(number)")]
            let found = try await bench.library().resolveAssets(clips, mayUpload: true)
            #expect((found[0] == .rejected(row.message)) == row.isRefused, "\(row)")
            #expect((found[0].failure != nil) == !row.isRefused, "\(row)")
            #expect((found[1].assetID != nil) == row.sendsOn, "\(row)")
            #expect(row.sendsOn || found[1].failure?.kind == found[0].failure?.kind, "\(row)")
        }
        #expect(try await bench.report().assets.count == Self.refusals.count { $0.sendsOn })
    }

    @Test("6.4: a key that is revoked during the run stops it")
    func revoked() async throws {
        let bench = try await ImmichBench()
        try await bench.server.add(faults: [
            "path": "/assets$", "status": 401, "drain": true, "body": #"{"message":"Invalid API key"}"#,
        ])
        let clip = try bench.clip("a.jpg", "a")
        let error = await albumError { _ = try await bench.library().resolveAssets([clip], mayUpload: true) }
        #expect(error?.kind == .unauthorized)
    }

    @Test("6.4: a full account stops uploads for this run, but not queries", arguments: [2, 3])
    func quota(major: Int) async throws {
        let (bench, library) = try await ImmichBench(major: major, quota: 5).withLibrary()
        let known = try await bench.server.add(assets: [["checksum": ImmichAssetTests.sha1OfABC]])
        let clips = [
            try bench.clip("a.jpg", "four"), try bench.clip("b.jpg", "too much"), try bench.clip("c.jpg", "c"),
            try bench.clip("d.jpg", "abc"),
        ]
        let found = try await library.resolveAssets(clips, mayUpload: true)
        #expect(found[0].assetID != nil)
        #expect(found[1].failure?.kind == .quota)
        #expect(found[2].failure?.kind == .quota)
        #expect(found[3].assetID == known[0])
        let again = try await library.resolveAssets([clips[2], clips[3]], mayUpload: true)
        #expect(again[0].failure?.kind == .quota)
        #expect(again[1].assetID == known[0])
        #expect(try await bench.report().requests.filter { $0.line == "POST /assets" }.count == 2)
        // The next run retries.
        #expect(try await bench.library().resolveAssets([clips[2]], mayUpload: true)[0].assetID != nil)
    }

    // MARK: Lost responses

    @Test(
        "an upload is sent once; if its response is lost, the checksum shows whether it was stored",
        arguments: [2, 3]
    )
    func lostResponse(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        try await bench.server.add(faults: ["path": "/assets$", "phase": "after", "drop": true])
        let found = try await bench.library().resolveAssets([try bench.clip("a.jpg", "abc")], mayUpload: true)
        let report = try await bench.report()
        #expect(found.map(\.assetID) == report.assets.map(\.id))
        #expect(report.requests.filter { $0.line == "POST /assets" }.count == 1)
    }

    @Test("an interrupted upload is left to a later run; the next file is uploaded")
    func brokenOff() async throws {
        let bench = try await ImmichBench()
        try await bench.server.add(faults: ["path": "/assets$", "drop": true])
        let clips = [try bench.clip("a.jpg", "a"), try bench.clip("b.jpg", "b")]
        let found = try await bench.library().resolveAssets(clips, mayUpload: true)
        #expect(found[0].failure?.kind == .unreachable(retryAfter: nil))
        #expect(found[1].assetID != nil)
        #expect(try await bench.report().requests.filter { $0.line == "POST /assets" }.count == 2)
    }

    @Test("R14: the upload of a file that changes in the meantime is postponed")
    func changing() async throws {
        let bench = try await ImmichBench()
        let clip = try bench.clip("a.jpg", "abc")
        let library = try bench.library { path, _, _ in
            let handle = FileHandle(forWritingAtPath: String(decoding: path, as: UTF8.self))
            _ = try? handle?.seekToEnd()
            try? handle?.write(contentsOf: Data("more".utf8))
        }
        let found = try await library.resolveAssets([clip], mayUpload: true)
        #expect(found == [.unavailable("the file changed while it was being uploaded")])
    }

    @Test(
        "trap 12: a complete 200 before the body was read counts, even if the connection is reset",
        arguments: [(0, "Content-Length: 66\r\n"), (1 << 20, "Content-Length: 66\r\n"), (1 << 20, "")]
    )
    func earlyResponse(bytesRead: Int, length: String) async throws {
        let asset = SampleID.asset
        let body = #"{"id":"\#(asset)","status":"duplicate"}"#
        #expect(body.utf8.count == 66)
        let server = try ScriptedServer { connection, _ in
            while true {
                let head = try connection.readHead()
                if head.hasPrefix("POST /api/assets ") {
                    if bytesRead > 0 {
                        try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                        try connection.readBody(bytesRead)
                    }
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\(length)\r\n\(body)")
                    // This is more than the buffers in between can hold: the client is still sending when the response
                    // arrives.
                    for _ in 0..<24 { try connection.readBody(bytesRead) }
                    if bytesRead > 0 { connection.reset() }
                    return
                }
                try connection.readBody(ScriptedServer.Connection.contentLength(of: head))
                try connection.respond(200, Self.response(to: head))
            }
        }
        let (library, clip, directory) = try Self.setUp(server, length: 32 << 20)
        let found = try await library.resolveAssets([clip], mayUpload: true)
        #expect(found.map(\.assetID) == [asset])
        withExtendedLifetime(directory) {}
    }

    @Test("an upload is streamed: its memory does not grow with the file", .measuresMemory, .timeLimit(.minutes(2)))
    func memory() async throws {
        let length = 96 << 20
        let asset = SampleID.asset
        let server = try ScriptedServer { connection, _ in
            while true {
                let head = try connection.readHead()
                if head.lowercased().contains("expect: 100-continue") {
                    try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                }
                var rest = ScriptedServer.Connection.contentLength(of: head)
                while rest > 0 { rest -= try connection.readBody(min(rest, 1 << 20)).count }
                try connection.respond(201, Self.response(to: head, asset: asset))
            }
        }
        let sent = Mutex<(last: Int64, total: Int64)>((0, 0))
        let (library, clip, directory) = try Self.setUp(server, length: length) { path, last, total in
            sent.withLock { $0 = (last, total) }
        }
        let before = try ProcessMemory.bytes("VmHWM")
        let found = try await library.resolveAssets([clip], mayUpload: true)
        #expect(found.map(\.assetID) == [asset])
        #expect(try ProcessMemory.bytes("VmHWM") - before < 32 << 20)
        #expect(sent.withLock { $0.last == $0.total && $0.total > length })
        withExtendedLifetime(directory) {}
    }

    /// A library on a scripted server, and a clip whose file consists of zeros.
    static func setUp(
        _ server: ScriptedServer,
        length: Int,
        progress: (@Sendable ([UInt8], Int64, Int64) -> Void)? = nil
    ) throws -> (ImmichLibrary, ClipRecord, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let path = directory.file("a.mov")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.truncate(atOffset: UInt64(length))
        try handle.close()
        let library = ImmichLibrary(
            server: try ServerURL(server.address),
            http: try ImmichBench.client(),
            key: "key-1",
            timeouts: TransferTimeouts(),
            store: try LibraryStore(in: DataDirectory.open(directory.file("data"))),
            progress: progress
        )
        return (library, ClipRecord(id: "clip", tapeID: "t", kind: .video, source: Array(path.utf8)), directory)
    }

    /// The server's responses to all other requests.
    static func response(to head: String, asset: String = "") -> String {
        switch head.split(separator: " ").dropFirst().first ?? "" {
        case "/api/server/version": #"{"major":3,"minor":1,"patch":0}"#
        case "/api/api-keys/me": #"{"id":"k","permissions":["asset.upload"]}"#
        case "/api/server/media-types": #"{"image":[],"video":[".mov"]}"#
        case "/api/assets/bulk-upload-check": #"{"results":[{"id":"clip","action":"accept"}]}"#
        default: #"{"id":"\#(asset)","status":"created"}"#
        }
    }
}
